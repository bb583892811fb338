package wsbridge

import (
	"errors"
	"fmt"

	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// ErrClosed is matched by each error that a closed connection causes.
var ErrClosed = errors.New("wsbridge: connection is closed")

// ErrCancelled is the cause of a handler's context when the peer cancelled the request.
var ErrCancelled = errors.New("wsbridge: request was cancelled by the peer")

// CloseError tells how a connection ended. errors.Is(err, ErrClosed) holds.
type CloseError struct {
	Code   int    // WebSocket status code; 1006 when the connection broke without one
	Reason string // as sent by the side that closed
	Local  bool   // this side closed
	Cause  error  // what broke the connection, may be nil
}

func (e *CloseError) Error() string {
	by := "the peer"
	if e.Local {
		by = "this side"
	}
	s := fmt.Sprintf("wsbridge: connection closed by %s with code %d", by, e.Code)
	if e.Code == statusAbnormal {
		s = "wsbridge: connection broke"
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *CloseError) Unwrap() error { return e.Cause }

// Is reports whether target is ErrClosed.
func (e *CloseError) Is(target error) bool { return target == ErrClosed }

// FatalError is returned by a [Handler] to answer with Answer and then close the connection: the peer reads the answer first.
type FatalError struct {
	Answer *protocol.Error
	Code   int // WebSocket status code, for example 1008 (policy violation)
	Reason string
}

func (e *FatalError) Error() string {
	if e.Answer == nil {
		return e.Reason
	}
	return e.Answer.Message
}

// Unwrap returns the answer.
func (e *FatalError) Unwrap() error {
	if e.Answer == nil {
		return nil
	}
	return e.Answer
}
