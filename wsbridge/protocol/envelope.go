package protocol

import (
	"encoding/json"
	"fmt"
)

// MaxID is the largest request id: the largest integer that a JavaScript number holds exactly.
const MaxID = 1<<53 - 1

// MaxMethodBytes bounds the length of a method name.
const MaxMethodBytes = 128

// Kind tells the four messages of JSON-RPC apart.
type Kind string

// The kinds, spelled as in vectors/*.json.
const (
	KindRequest      Kind = "request"
	KindNotification Kind = "notification"
	KindResponse     Kind = "response"
	KindError        Kind = "error"
)

// Message is one decoded frame. Its raw fields are slices of the frame that it was decoded from.
type Message struct {
	ID     int64           // 1 to MaxID; 0 for a notification and for an error that answers no request (id null)
	Method string          // "" for answers
	Params json.RawMessage // a JSON object, verbatim; nil when absent
	Result json.RawMessage // verbatim; nil when absent
	Error  *Error
}

// Kind returns what kind of message m is.
func (m *Message) Kind() Kind {
	switch {
	case m.Error != nil:
		return KindError
	case m.Method == "":
		return KindResponse
	case m.ID == 0:
		return KindNotification
	default:
		return KindRequest
	}
}

// FrameError is why [Decode] refused a frame, and what to do about it.
type FrameError struct {
	Reason *Error

	// ID is the id that the refusal is about, 0 for null. It is set only where the readable part of the frame leaves no
	// doubt: exactly one valid id, and either a method or a result or error, not both.
	ID int64

	// Response tells that the frame was meant as an answer. Answers are never answered; this side's request ID fails
	// with Reason instead, where ID is set.
	Response bool
}

func (e *FrameError) Error() string { return e.Reason.Message }

// Unwrap returns the reason.
func (e *FrameError) Unwrap() error { return e.Reason }

// Decode reads one frame: exactly one JSON-RPC 2.0 message in valid UTF-8. Syntax is checked over the whole frame before
// anything else is judged. The error is a [*FrameError], with code [CodeParse] where the frame isn't JSON and
// [CodeInvalidRequest] where it isn't a strict message. The message keeps slices of frame.
func Decode(frame []byte) (*Message, error) {
	s := newScanner(frame)
	var e envelope
	err := e.read(s)
	if err == nil {
		err = s.end()
	}
	s.release()
	if err != nil {
		return nil, e.refuse(Errorf(CodeParse, "the frame isn't JSON: %v", err))
	}
	if e.problem == "" {
		e.judge()
	}
	if e.problem != "" {
		return nil, e.refuse(Errorf(CodeInvalidRequest, "the frame isn't a JSON-RPC 2.0 message: %s", e.problem))
	}
	return &e.msg, nil
}

// Bits of the members of an envelope.
const (
	hasVersion = 1 << iota
	hasID
	hasMethod
	hasParams
	hasResult
	hasError
)

var envelopeNames = map[string]uint8{
	"jsonrpc": hasVersion, "id": hasID, "method": hasMethod, "params": hasParams, "result": hasResult, "error": hasError,
}

// envelope collects what a frame says while it is read.
type envelope struct {
	msg     Message
	has     uint8
	nullID  bool
	idCount int
	problem string // the first one
}

func (e *envelope) complain(format string, args ...any) {
	if e.problem == "" {
		e.problem = fmt.Sprintf(format, args...)
	}
}

// read walks over the whole frame. It returns syntax errors only; everything else becomes the envelope's problem.
func (e *envelope) read(s *scanner) error {
	switch kind := s.peek(); kind {
	case '{':
	case '[':
		e.complain("batches are refused, send one message per frame")
		return s.skip()
	default:
		e.complain("a message is an object, not %s", kindName(kind))
		return s.skip()
	}
	return s.object(func(name string) error {
		bit := envelopeNames[name]
		if bit == 0 {
			e.complain("%s", unknownMember("", name, envelopeMembers))
			return s.skip()
		}
		if bit == hasID {
			e.idCount++
		}
		if e.has&bit != 0 {
			e.complain("duplicate member %q", name)
			return s.skip()
		}
		e.has |= bit
		return e.member(s, bit)
	})
}

func (e *envelope) member(s *scanner, bit uint8) error {
	kind := s.peek()
	raw, err := s.value()
	if err != nil {
		return err
	}
	switch bit {
	case hasVersion:
		if kind != '"' || unquote(raw) != "2.0" {
			e.complain(`jsonrpc must be "2.0"`)
		}
	case hasID:
		e.nullID = kind == 'n'
		id, ok := parseInteger(raw)
		switch {
		case ok && id >= 1 && id <= MaxID:
			e.msg.ID = id
		case !e.nullID:
			e.complain("id must be an integer from 1 to %d, written without fraction or exponent", int64(MaxID))
		}
	case hasMethod:
		if kind == '"' {
			e.msg.Method = unquote(raw)
		}
		if n := len(e.msg.Method); n == 0 || n > MaxMethodBytes {
			e.complain("method must be a string of 1 to %d bytes", MaxMethodBytes)
		}
	case hasParams:
		if kind != '{' {
			e.complain("params must be an object, not %s", kindName(kind))
		}
		e.msg.Params = raw
	case hasResult:
		e.msg.Result = raw
	case hasError:
		rpcErr, err := decodeError(raw)
		if err != nil {
			e.complain("%v", err)
		}
		e.msg.Error = rpcErr
	}
	return nil
}

// judge looks at the envelope as a whole.
func (e *envelope) judge() {
	answer := e.has & (hasResult | hasError)
	switch {
	case e.has&hasVersion == 0:
		e.complain(`jsonrpc is missing, it must be "2.0"`)
	case e.has&hasMethod == 0 && answer == 0:
		e.complain("it has neither method, result nor error")
	case e.has&hasMethod != 0 && answer != 0:
		e.complain("method stands beside a result or error")
	case e.has&hasMethod != 0 && e.nullID:
		e.complain("the id of a request is an integer; a notification has none")
	case answer == hasResult|hasError:
		e.complain("result stands beside error")
	case answer != 0 && e.has&hasParams != 0:
		e.complain("params stands in an answer")
	case answer != 0 && e.has&hasID == 0:
		e.complain("an answer needs an id")
	case answer == hasResult && e.nullID:
		e.complain("the id of a result can't be null")
	}
}

func (e *envelope) refuse(reason *Error) *FrameError {
	answer, call := e.has&(hasResult|hasError) != 0, e.has&hasMethod != 0
	refusal := &FrameError{Reason: reason, Response: answer && !call}
	if e.idCount == 1 && answer != call {
		refusal.ID = e.msg.ID
	}
	return refusal
}
