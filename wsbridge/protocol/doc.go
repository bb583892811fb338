// Package protocol is the single source of truth for what travels between the Toolplane host and a page:
// the JSON-RPC 2.0 envelope, the payload of every method, and the error codes.
//
// # Text is carried
//
// A value that belongs to a user (arguments, answers, inputs, returned values) is a [json.RawMessage]. It is checked
// for JSON syntax and then carried byte for byte: whitespace, number spelling (1.0, -0.0, 10**40) and even duplicate
// names inside of it survive. Objects that belong to the protocol (the envelope, params, error objects and the
// structs in methods.go) are read strictly: names are case-sensitive and unique, unknown members are refused, members
// without omitempty are required.
//
// # Files
//
// schema.json describes every message as JSON Schema 2020-12. vectors/*.json holds frames with the expected answer;
// the Go tests and the TypeScript tests read the same files. See vectors/README.md for their format.
//
// The package is a leaf: it imports the standard library and the go-json-experiment tokenizer only, keeps no state,
// and all its functions are safe for concurrent use.
package protocol
