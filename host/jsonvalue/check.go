package jsonvalue

import (
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxDepth is how deep arrays and objects may nest. A scalar has depth 0,
	// "[]" depth 1.
	MaxDepth = 512

	// MaxIntegerDigits is how many digits a number without fraction and exponent
	// may have: the default of Python's int(), which refuses longer ones.
	MaxIntegerDigits = 4300
)

// Error says where and why a text isn't an acceptable value.
type Error struct {
	// Path leads to the fault, like value.rows[3].when; "value" is the root. Long
	// names and long paths are shortened.
	Path string
	// Offset is where in the text the fault was noticed, in bytes.
	Offset int64
	// Problem is what is wrong and, where there is one, the way out.
	Problem string
}

func (e *Error) Error() string { return e.Path + ": " + e.Problem }

// Check reports the first reason why text isn't an acceptable value, as an
// *Error, or nil. The whole of text must be one value; white space around it is
// fine. Check neither keeps nor changes text.
func Check(text []byte) error {
	// The common case is two passes that build nothing: the grammar, then what the
	// grammar allows and we don't. Only a text that fails is walked token by
	// token, to find out where.
	if jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) && withinLimits(text) {
		return nil
	}
	return explain(text)
}
