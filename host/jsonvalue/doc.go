// Package jsonvalue decides which JSON texts are carried as values.
//
// A value that a snippet passes, a capability answers or a store keeps is never
// re-built on its way: it travels as the text that its writer wrote, so that
// 9007199254740993, 1.0 and -0.0 arrive as sent. What travels must therefore be
// a text that every reader downstream reads alike, and this package is the one
// place that says so. Accepted is one RFC 8259 value, with white space around
// it, that also
//
//   - is valid UTF-8 and spells no lone surrogate,
//   - nests at most [MaxDepth] levels,
//   - holds no number that a float64 can't hold (1e400), integers excepted,
//   - holds no integer of more than [MaxIntegerDigits] digits, which is as far as
//     Python reads.
//
// Duplicate names inside a value are carried: refusing them would refuse texts
// that are valid JSON. A reader that acts on one of two equal names must check
// for itself.
//
// Imports: the standard library and github.com/go-json-experiment/json only.
package jsonvalue
