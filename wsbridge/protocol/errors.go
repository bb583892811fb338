package protocol

import (
	"encoding/json"
	"fmt"
)

// Error codes. The first five are JSON-RPC's own.
const (
	CodeParse          = -32700 // the frame isn't JSON text in UTF-8
	CodeInvalidRequest = -32600 // JSON, but not one strict JSON-RPC 2.0 message
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603

	CodeUnauthenticated = -32001 // session.hello is missing or its token is wrong
	CodeBusy            = -32002 // a queue or in-flight limit is reached: retry when earlier calls were answered
	CodeTooLarge        = -32003 // the frame would be larger than the limit; nothing was sent
	CodeTool            = -32010 // the capability failed; Data tells how
	CodeCancelled       = -32800 // the request was cancelled by its sender
)

// Error is a JSON-RPC error object. It implements error.
type Error struct {
	Code    int
	Message string
	Data    *ErrorData // nil when the sender gave none
}

// ErrorData tells which exception to raise in Python.
type ErrorData struct {
	Builtin string // ValueError, PermissionError, LookupError, TimeoutError, MemoryError or RuntimeError
	Type    string // name of the raised class

	// Extra holds every other member of the data object, verbatim.
	Extra map[string]json.RawMessage
}

// Errorf makes an Error whose Data is the usual one for code.
func Errorf(code int, format string, args ...any) *Error {
	builtin, typ := usualData(code)
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Data: &ErrorData{Builtin: builtin, Type: typ}}
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Is reports whether target is an *Error with the same code and either no message or the same one, so that
// errors.Is(err, &Error{Code: CodeBusy}) asks for a code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Message == "" || t.Message == e.Message)
}

func usualData(code int) (builtin, typ string) {
	switch code {
	case CodeInvalidParams:
		return "ValueError", "InvalidParamsError"
	case CodeTooLarge:
		return "ValueError", "FrameTooLargeError"
	case CodeUnauthenticated:
		return "PermissionError", "UnauthenticatedError"
	case CodeBusy:
		return "RuntimeError", "BusyError"
	case CodeCancelled:
		return "RuntimeError", "CancelledError"
	case CodeTool:
		return "RuntimeError", "ToolError"
	case CodeInternal:
		return "RuntimeError", "InternalError"
	default:
		return "RuntimeError", "ProtocolError"
	}
}
