package capability

import (
	"context"
	"errors"
	"fmt"
)

// Builtin is the Python builtin exception that a failure is raised as.
type Builtin string

// The six builtins of the wire's error table. A receiver treats any other as RuntimeError.
const (
	ValueError      Builtin = "ValueError"
	PermissionError Builtin = "PermissionError"
	LookupError     Builtin = "LookupError"
	TimeoutError    Builtin = "TimeoutError"
	MemoryError     Builtin = "MemoryError"
	RuntimeError    Builtin = "RuntimeError"
)

// Error is a failure as a snippet sees it: a class named Type, derived from
// Builtin, with Message as its text.
type Error struct {
	Builtin Builtin
	Type    string
	Message string
	Cause   error // for the host's own use; never sent
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, so that errors.Is and errors.As see through.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error. A %w in the format becomes the cause.
func Errorf(b Builtin, typ, format string, a ...any) *Error {
	err := fmt.Errorf(format, a...)
	return &Error{Builtin: b, Type: typ, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// AsError turns any error into an *Error. It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Builtin: TimeoutError, Type: "CallTimeoutError", Message: "the call ran out of time: " + err.Error(), Cause: err}
	case errors.Is(err, context.Canceled):
		return &Error{Builtin: RuntimeError, Type: "CallCancelledError", Message: "the call was cancelled: " + err.Error(), Cause: err}
	}
	return &Error{Builtin: RuntimeError, Type: "InternalError", Message: err.Error(), Cause: err}
}
