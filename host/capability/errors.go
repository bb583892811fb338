package capability

import (
	"context"
	"errors"
	"fmt"
)

// Builtin is the Python builtin exception that a failure is raised as.
type Builtin string

// The builtins of the wire's error table. A receiver treats any other as
// RuntimeError.
const (
	ValueError      Builtin = "ValueError"
	PermissionError Builtin = "PermissionError"
	LookupError     Builtin = "LookupError"
	TimeoutError    Builtin = "TimeoutError"
	MemoryError     Builtin = "MemoryError"
	RuntimeError    Builtin = "RuntimeError"
)

// Valid tells whether b is one of the six.
func (b Builtin) Valid() bool {
	switch b {
	case ValueError, PermissionError, LookupError, TimeoutError, MemoryError, RuntimeError:
		return true
	}
	return false
}

// Error is a failure as a snippet sees it: an exception of a class named Type,
// derived from Builtin, with Message as its text.
type Error struct {
	Builtin Builtin
	Type    string
	Message string // for the one who called: what was wrong, the limit, the way out
	Cause   error  // for the host's own use; never sent. May be nil
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, so that errors.Is and errors.As see through.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error whose message is formatted as by [fmt.Errorf]. An error
// formatted with %w becomes the cause.
func Errorf(b Builtin, typ, format string, a ...any) *Error {
	err := fmt.Errorf(format, a...)
	return &Error{Builtin: b, Type: typ, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// AsError turns any error into an *Error: one that is, or wraps, an *Error into
// that, the end of a context into what happened to the call, anything else into
// a RuntimeError of type InternalError. It returns nil for nil.
//
// Since the result isn't an error interface, don't return it as one unless it is
// known not to be nil.
func AsError(err error) *Error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e) && e != nil:
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{TimeoutError, "CallTimeoutError",
			"the call ran out of time; ask for less at once, or give the run a longer timeout", err}
	case errors.Is(err, context.Canceled):
		return &Error{RuntimeError, "CallCancelledError", "the call was cancelled, because its run ended or was stopped", err}
	}
	return &Error{RuntimeError, "InternalError", err.Error(), err}
}
