package sdk

import (
	"errors"
	"fmt"
)

// Error is a failure of a kind that the host maps to a Python builtin exception, so that a snippet can write
// `except ValueError:`.
type Error struct {
	Kind    string // a builtin's name; the host treats one that it doesn't know as RuntimeError
	Message string
	Cause   error // from %w; never sent
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// ValueError is the error for arguments that can't be used. Write what is wrong and what is allowed.
func ValueError(format string, a ...any) error { return newError("ValueError", format, a...) }

// LookupError is the error for something that isn't there.
func LookupError(format string, a ...any) error { return newError("LookupError", format, a...) }

// PermissionError is the error for something that isn't allowed.
func PermissionError(format string, a ...any) error { return newError("PermissionError", format, a...) }

// TimeoutError is the error for something that took too long.
func TimeoutError(format string, a ...any) error { return newError("TimeoutError", format, a...) }

// MemoryError is the error for something that is too large.
func MemoryError(format string, a ...any) error { return newError("MemoryError", format, a...) }

// RuntimeError is the error for everything else. Any other error is treated as one.
func RuntimeError(format string, a ...any) error { return newError("RuntimeError", format, a...) }

func newError(kind, format string, a ...any) error {
	err := fmt.Errorf(format, a...)
	return &Error{Kind: kind, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// asError finds the kind of any error.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		// The outer message says more than the one of the error that it wraps.
		return &Error{Kind: e.Kind, Message: err.Error(), Cause: err}
	}
	return &Error{Kind: "RuntimeError", Message: err.Error(), Cause: err}
}
