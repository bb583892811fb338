// Package result keeps the JSON values that snippets save, in memory, under
// handles that can't be guessed.
//
// A handle opens a value only together with the [Owner] that saved it: both are
// one key of one map, so that a handle that never existed, one that has expired
// and one that is somebody else's are the same miss, in answer and in cost.
//
// The store keeps text and doesn't read it. Whoever saves has checked that the
// text is JSON.
//
// Imports: the standard library only.
package result
