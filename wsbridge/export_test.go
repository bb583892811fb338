package wsbridge

import (
	"context"
	"encoding/json"
)

// SendRaw sends a frame as it is, as a peer that doesn't check would.
func (c *Conn) SendRaw(ctx context.Context, frame []byte, binary bool) error {
	return c.enqueue(ctx, &outgoing{frame: frame, binary: binary})
}

// Pending returns how many requests of this side aren't answered.
func (c *Conn) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

// Incoming returns how many requests of the peer aren't answered.
func (c *Conn) Incoming() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.incoming)
}

// CutNetwork ends the network connection without a word.
func (c *Conn) CutNetwork() { c.socket.cut() }

// CallRaw is Call with a frame that frame makes from the request's id.
func (c *Conn) CallRaw(ctx context.Context, frame func(id int64) []byte) (json.RawMessage, error) {
	req := &call{id: c.lastID.Add(1), method: "raw", answer: make(chan answer, 1)}
	if err := c.register(req); err != nil {
		return nil, err
	}
	if err := c.enqueue(ctx, &outgoing{frame: frame(req.id), call: req}); err != nil {
		return nil, err
	}
	return c.await(ctx, 0, req)
}
