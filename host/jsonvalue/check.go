package jsonvalue

import "github.com/go-json-experiment/json/jsontext"

// MaxDepth is how deep arrays and objects may nest. A scalar has depth 0, "[]" depth 1.
const MaxDepth = 512

// Check reports the first reason why text isn't an acceptable value.
func Check(text []byte) error {
	if jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) {
		return nil
	}
	return &Error{Path: "value", Problem: "isn't JSON"}
}

// Error is a refusal of Check.
type Error struct {
	Path    string // where in the value, like value.rows[3].when; "value" is the root
	Offset  int64  // byte offset into the text
	Problem string // what is wrong, without the path
}

func (e *Error) Error() string { return e.Path + ": " + e.Problem }
