package wsbridge

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"strings"

	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// takeRequest is called by the reader: it must not wait.
func (c *Conn) takeRequest(m *protocol.Message) {
	if m.Method == protocol.MethodCancel {
		c.refuse(m.ID, protocol.Errorf(protocol.CodeInvalidRequest, "%s is a notification, it has no id", m.Method))
		return
	}
	c.mu.Lock()
	_, taken := c.incoming[m.ID]
	full := len(c.incoming) >= c.o.MaxInFlight
	start := c.err == nil && !taken && !full
	if start {
		ctx, cancel := context.WithCancelCause(c.ctx)
		c.incoming[m.ID] = cancel
		c.handlers.Go(func() {
			defer cancel(nil)
			c.serve(ctx, m)
		})
	}
	c.mu.Unlock()
	switch {
	case taken:
		// With id null, because the id belongs to the request that still runs.
		c.refuse(0, protocol.Errorf(protocol.CodeInvalidRequest, "request id %d is still in flight: give each request an id of its own", m.ID))
	case full:
		c.refuse(m.ID, busy(c.o.MaxInFlight))
	}
}

func (c *Conn) cancelIncoming(id int64) {
	c.mu.Lock()
	cancel := c.incoming[id]
	c.mu.Unlock()
	// An unknown id is a request that was answered meanwhile.
	if cancel != nil {
		cancel(ErrCancelled)
	}
}

// endIncoming frees the slot of a request of the peer.
func (c *Conn) endIncoming(id int64) {
	c.mu.Lock()
	delete(c.incoming, id)
	c.mu.Unlock()
}

// serve answers one request, whose slot the writer frees. An answer that waits in the queue still counts as in flight, so that a peer
// that doesn't read its answers is bounded too.
func (c *Conn) serve(ctx context.Context, m *protocol.Message) {
	result, err := c.handle(ctx, m)
	out := &outgoing{answer: m.ID}
	if err == nil {
		out.frame, err = c.encodeResult(m, result)
	}
	if err != nil {
		out.frame = c.encodeFailure(ctx, m, err)
		errors.As(err, &out.fatal)
	}
	// The answer is sent also when the peer cancelled; only a closed connection has no use for it.
	if err := c.enqueue(context.WithoutCancel(ctx), out); err != nil {
		c.endIncoming(m.ID)
		c.log.Debug("dropped an answer", "method", m.Method, "id", m.ID, "error", err)
	}
}

// handle runs the handler and turns a panic into an error that tells the peer nothing.
func (c *Conn) handle(ctx context.Context, m *protocol.Message) (result json.RawMessage, err error) {
	if c.o.Handler == nil {
		return nil, protocol.Errorf(protocol.CodeMethodNotFound, "this side answers no requests")
	}
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("request handler panicked", "method", m.Method, "panic", p, "stack", string(debug.Stack()))
			err = protocol.Errorf(protocol.CodeInternal, "%s: the handler failed unexpectedly, see the log", m.Method)
		}
	}()
	return c.o.Handler(ctx, c, m.Method, m.Params)
}

func (c *Conn) encodeResult(m *protocol.Message, result json.RawMessage) ([]byte, error) {
	if err := c.checkSize("answer to "+m.Method, len(result)); err != nil {
		return nil, err
	}
	frame, err := protocol.EncodeResult(m.ID, result)
	if err != nil {
		c.log.Error("handler answered with text that isn't JSON", "method", m.Method, "error", err)
		return nil, protocol.Errorf(protocol.CodeInternal, "%s: %v", m.Method, err)
	}
	if err := c.checkSize("answer to "+m.Method, len(frame)); err != nil {
		return nil, err
	}
	return frame, nil
}

func (c *Conn) encodeFailure(ctx context.Context, m *protocol.Message, err error) []byte {
	var reason *protocol.Error
	switch {
	case errors.As(err, &reason):
	case errors.Is(context.Cause(ctx), ErrCancelled):
		reason = protocol.Errorf(protocol.CodeCancelled, "%s: %v", m.Method, err)
	default:
		reason = protocol.Errorf(protocol.CodeInternal, "%s: %v", m.Method, err)
	}
	frame, err := protocol.EncodeError(m.ID, reason)
	if err == nil && int64(len(frame)) <= c.o.MaxFrameBytes {
		return frame
	}
	c.log.Error("an error was cut to fit a frame", "method", m.Method, "code", reason.Code, "error", err)
	code := reason.Code
	if err != nil { // a code or a member of data that can't be sent
		code = protocol.CodeInternal
	}
	// Each byte takes at most 6 in JSON, so that this fits.
	message := strings.ToValidUTF8(reason.Message[:min(len(reason.Message), int(c.o.MaxFrameBytes/8))], "")
	if frame, err = protocol.EncodeError(m.ID, protocol.Errorf(code, "%s", message)); err != nil {
		panic(err) // the code is fine, and the data is the protocol's own
	}
	return frame
}
