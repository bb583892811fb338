// Package search finds capabilities by words: their names, titles, descriptions,
// arguments and tags, with English stemming, beginnings of words, and typos.
//
// An [Index] keeps one immutable snapshot of a catalog. [Index.Follow] builds
// another one whenever a registry changes and swaps it in, so that a search reads
// one catalog from beginning to end and never waits for a build.
//
// Dictionaries, stems, Levenshtein automata and postings are bleve's, in memory;
// nothing is ever written to a disk. How much a match weighs is decided here: by
// the best field for each word, the rarity of that word in the whole catalog,
// and how many of the words a capability has.
//
// The package imports the standard library, host/capability and bleve, without
// bleve's root package: importing that starts goroutines and loads thirty
// languages.
package search
