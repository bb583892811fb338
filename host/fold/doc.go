// Package fold keeps large values out of a model's context.
//
// [Fold] turns the text of a value that is over a threshold into a preview and a
// shape of bounded size; the value itself stays in a store under a handle. What
// the preview leaves out is read with [Query]: a slice of a [Document], found by
// a [Path]. [ResolveHandles] goes the other way and puts stored values in the
// place of {"$result": "res_…"} among a call's arguments.
//
// The package knows neither stores nor wires, and re-builds no value: numbers,
// strings and whole slices are cut out of the text as written. Every text must
// have passed jsonvalue.Check. On other texts the functions don't panic, run on
// or break their bounds, but what they answer means nothing.
//
// # What is counted
//
// A character is a Unicode code point, as in Python's len() and slicing, because
// the same value is read there through load_result. A surrogate pair written as
// two escapes is one character, and no character is ever cut in two. Of a name
// that an object holds twice, the last value counts, in the place of the first,
// as in Python. Lists and strings are counted from 0, and a negative index counts
// from the end.
//
// Imports: the standard library, github.com/go-json-experiment/json and
// host/jsonvalue only.
package fold
