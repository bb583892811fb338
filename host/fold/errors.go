package fold

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Codes of [Error]. Compare these, never messages.
const (
	// CodePathNotFound: the path is well formed, but leads nowhere.
	CodePathNotFound = "RESULT_PATH_NOT_FOUND"
	// CodeSliceTooLarge: what was asked for is over the size limit.
	CodeSliceTooLarge = "RESULT_SLICE_TOO_LARGE"
	// CodeHandleNotFound is never answered by this package. It stands here so that
	// the codes of result_query are in one place.
	CodeHandleNotFound = "RESULT_HANDLE_NOT_FOUND"
	// CodeInvalidInput: a path that can't be read, a range that can't be, or
	// options that contradict each other.
	CodeInvalidInput = "INVALID_INPUT"
)

// Error is a refusal. Its message names what was wrong, the limit and the way
// out, and has at most 1,000 characters whatever the input.
type Error struct {
	Code    string
	Message string
	Cause   error // a *PathError for a path that can't be read; else nil or a callback's error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, if there is one.
func (e *Error) Unwrap() error { return e.Cause }

// maxMessageRunes bounds messages, as keys and paths can be of any length.
const maxMessageRunes = 1000

func codeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func refuse(code, format string, a ...any) *Error {
	return &Error{Code: code, Message: shorten(fmt.Sprintf(format, a...), maxMessageRunes)}
}

func invalid(format string, a ...any) *Error { return refuse(CodeInvalidInput, format, a...) }

// size writes a number of bytes for a reader.
func size(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return strconv.Itoa(n) + " bytes"
	case n < 1<<20:
		return trimZero(float64(n)/(1<<10)) + " KiB"
	}
	return trimZero(float64(n)/(1<<20)) + " MiB"
}

func trimZero(f float64) string {
	return strconv.FormatFloat(float64(int64(f*10))/10, 'f', -1, 64)
}

// many writes a number with its noun: 1 item, 3 items.
func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// shorten keeps the first n runes of s, for messages.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	i := 0
	for range n - 1 {
		_, width := utf8.DecodeRuneInString(s[i:])
		i += width
	}
	return s[:i] + "…"
}
