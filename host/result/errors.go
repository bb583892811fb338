package result

import (
	"fmt"
	"strconv"
	"time"
)

// Codes of [Error]. Compare these, never messages.
const (
	CodeNotFound      = "not_found" // unknown, expired or somebody else's handle
	CodeEntryTooLarge = "entry_too_large"
	CodeTooMany       = "too_many_entries"
	CodeScopeFull     = "scope_full"
	CodeStoreFull     = "store_full"     // all scopes together
	CodeFoldTooLarge  = "fold_too_large" // never in the way of a save
	CodeBadLabel      = "bad_label"
	CodeEmptyValue    = "empty_value"
	CodeClosed        = "closed"
)

// Error is a refusal of the store. Its message names the limit and the way out,
// and never repeats a handle or a value.
type Error struct {
	Code    string
	Message string
	Cause   error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, if there is one.
func (e *Error) Unwrap() error { return e.Cause }

func refuse(code, format string, a ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, a...)}
}

func errNotFound() *Error {
	return refuse(CodeNotFound, "no saved value is found under this handle: it may have expired, "+
		"or belong to another session; save the value again with save_result and use the new handle")
}

// size writes a number of bytes for a reader: 9.1 MiB (9541234 bytes).
func size(n int64) string {
	bytes := strconv.FormatInt(n, 10) + " bytes"
	switch {
	case n < 1<<10:
		return bytes
	case n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + " MiB"
	case n < 1<<20:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + " KiB (" + bytes + ")"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MiB (" + bytes + ")"
}

// span writes a duration without empty units: 1h, not 1h0m0s.
func span(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	case d >= time.Minute && d%time.Minute == 0:
		return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
	}
	return d.Round(time.Millisecond).String()
}

func errEmpty() *Error {
	return refuse(CodeEmptyValue, "there is no value to save; give one JSON value")
}

func errClosed() *Error {
	return refuse(CodeClosed, "the result store is closed because the host is stopping; run again when it is back")
}
