package wsbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// call is a request of this side that waits for its answer.
type call struct {
	id     int64
	method string
	answer chan answer // gets exactly one answer, or none when the connection closes
	state  atomic.Int32
}

// States of a call's frame. They only leave queued.
const (
	callQueued    = iota
	callSent      // the writer took it
	callWithdrawn // cancelled while it waited, it's never sent
)

type answer struct {
	result json.RawMessage
	err    error
	after  uint64 // notifications that arrived before it
}

// Call sends a request and waits for its answer. params is a JSON object, sent verbatim; nil means none. The result
// belongs to the caller.
//
// Errors: a [*protocol.Error] from the peer, or from this side for a request that wasn't sent: CodeInvalidParams when params
// isn't a JSON object, CodeTooLarge, CodeBusy. An error that matches [ErrClosed] when the connection closes. An error that
// matches ctx's when ctx ends: the peer is then told to cancel, and its late answer is dropped. A cancelled request still
// counts as in flight until the peer answers it.
func (c *Conn) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return c.CallWait(ctx, 0, method, params)
}

// CallWait is [Conn.Call] for a request whose peer has something to say after cancelling it: when ctx ends, it tells the
// peer to cancel and then waits up to grace for the answer, which is returned as if ctx hadn't ended.
func (c *Conn) CallWait(ctx context.Context, grace time.Duration, method string, params json.RawMessage) (json.RawMessage, error) {
	result, err := c.call(ctx, grace, method, params)
	if err != nil && !errors.As(err, new(*protocol.Error)) {
		err = fmt.Errorf("call %s: %w", method, err)
	}
	return result, err
}

func (c *Conn) call(ctx context.Context, grace time.Duration, method string, params json.RawMessage) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := c.checkSize(method, len(params)); err != nil {
		return nil, err
	}
	req := &call{id: c.lastID.Add(1), method: method, answer: make(chan answer, 1)}
	frame, err := protocol.EncodeRequest(req.id, method, params)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "request %s: %v", method, err)
	}
	if err := c.checkSize(method, len(frame)); err != nil {
		return nil, err
	}
	if err := c.register(req); err != nil {
		return nil, err
	}
	if err := c.enqueue(ctx, &outgoing{frame: frame, call: req}); err != nil {
		c.forget(req.id)
		return nil, err
	}
	return c.await(ctx, grace, req)
}

// await waits for the answer to a request that is in the queue.
func (c *Conn) await(ctx context.Context, grace time.Duration, req *call) (json.RawMessage, error) {
	select {
	case a := <-req.answer:
		return c.deliver(ctx, a)
	case <-c.closing:
		return c.closed(ctx, req)
	case <-ctx.Done():
	}
	if req.state.CompareAndSwap(callQueued, callWithdrawn) {
		c.forget(req.id)
		return nil, context.Cause(ctx)
	}
	c.sendCancel(req.id)
	if grace <= 0 {
		return nil, context.Cause(ctx)
	}
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	select {
	case a := <-req.answer:
		return c.deliver(waiting, a)
	case <-c.closing:
		return c.closed(waiting, req)
	case <-waiting.Done():
		return nil, context.Cause(ctx)
	}
}

// deliver returns the answer when the notifications before it are handled, or ctx ends.
func (c *Conn) deliver(ctx context.Context, a answer) (json.RawMessage, error) {
	if !c.inNotification(ctx) {
		c.notify.wait(ctx, c.closing, a.after)
	}
	return a.result, a.err
}

// closed returns what ended a request. An answer that came just before is still good.
func (c *Conn) closed(ctx context.Context, req *call) (json.RawMessage, error) {
	select {
	case a := <-req.answer:
		return c.deliver(ctx, a)
	default:
		return nil, c.Err()
	}
}

func (c *Conn) sendCancel(id int64) {
	params, err := protocol.EncodePayload(protocol.CancelParams{ID: id})
	if err != nil {
		panic(err) // a struct of one integer
	}
	frame, err := protocol.EncodeNotification(protocol.MethodCancel, params)
	if err != nil {
		panic(err)
	}
	// No limit is needed: there is at most one per request in flight.
	c.control.push(frame)
}

// register makes req known to the reader.
func (c *Conn) register(req *call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return c.err
	case len(c.pending) >= c.o.MaxInFlight:
		return busy(c.o.MaxInFlight)
	}
	c.pending[req.id] = req
	return nil
}

func (c *Conn) forget(id int64) {
	c.mu.Lock()
	delete(c.pending, id)
	c.mu.Unlock()
}

// settle gives the peer's answer to the request that waits for it.
func (c *Conn) settle(id int64, a answer) {
	c.mu.Lock()
	req := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if req == nil {
		c.log.Warn("dropped an answer to a request that nobody made", "id", id)
		return
	}
	a.after = c.notify.received()
	req.answer <- a
}

// checkSize refuses what is larger than a frame may be.
func (c *Conn) checkSize(method string, bytes int) *protocol.Error {
	if int64(bytes) <= c.o.MaxFrameBytes {
		return nil
	}
	return protocol.Errorf(protocol.CodeTooLarge,
		"%s: the message needs %d bytes, the limit of a frame is %d: send less at once, or raise max_frame_bytes", method, bytes, c.o.MaxFrameBytes)
}
