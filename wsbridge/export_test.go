package wsbridge

import "context"

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

// Incoming returns how many requests of the peer run.
func (c *Conn) Incoming() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.incoming)
}

// CutNetwork ends the network connection without a word.
func (c *Conn) CutNetwork() { c.socket.cut() }
