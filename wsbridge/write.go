package wsbridge

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// outgoing is a frame in the queue.
type outgoing struct {
	frame  []byte
	binary bool        // tests only: this side never sends binary frames
	call   *call       // the request that the frame carries, or nil
	answer int64       // the peer's request that the frame answers, or 0
	fatal  *FatalError // closes the connection after the frame
}

// enqueue waits for room in the queue until ctx ends or the connection closes.
func (c *Conn) enqueue(ctx context.Context, out *outgoing) error {
	// A closed connection is refused also where there is room.
	if err := c.Err(); err != nil {
		return err
	}
	select {
	case c.queue <- out:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.closing:
		return c.Err()
	}
}

// controlQueue holds the small frames that must never wait for room: refusals, which the reader writes, and cancellations.
type controlQueue struct {
	wake chan struct{} // holds a token while frames wait

	mu     sync.Mutex
	frames [][]byte
}

// push returns how many frames wait.
func (q *controlQueue) push(frame []byte) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.frames = append(q.frames, frame)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return len(q.frames)
}

func (q *controlQueue) take() [][]byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	frames := q.frames
	q.frames = nil
	return frames
}

// writeLoop is the only goroutine that sends messages.
func (c *Conn) writeLoop() {
	for {
		select {
		case <-c.control.wake:
			if !c.sendControl(c.o.WriteTimeout) {
				return
			}
		case out := <-c.queue:
			if !c.send(out, c.o.WriteTimeout) {
				return
			}
		case <-c.closing:
			if c.closedLocally() {
				c.flush()
			}
			return
		}
	}
}

// flush sends what is queued when the connection closes. The closer bounds its time by cutting the connection.
func (c *Conn) flush() {
	for {
		if !c.sendControl(c.o.CloseTimeout) {
			return
		}
		select {
		case out := <-c.queue:
			if !c.send(out, c.o.CloseTimeout) {
				return
			}
		default:
			return
		}
	}
}

func (c *Conn) sendControl(timeout time.Duration) bool {
	for _, frame := range c.control.take() {
		if !c.send(&outgoing{frame: frame}, timeout) {
			return false
		}
	}
	return true
}

// send writes one frame. It returns false when the connection broke over it.
func (c *Conn) send(out *outgoing, timeout time.Duration) bool {
	if out.call != nil && !out.call.state.CompareAndSwap(callQueued, callSent) {
		return true
	}
	if out.answer != 0 {
		// Before the peer can know: it may use the slot as soon as it has the answer.
		c.endIncoming(out.answer)
	}
	// Not by a context: its end would close the network under the reader, whose error then hides the reason.
	late := time.AfterFunc(timeout, func() {
		c.breakOff(fmt.Errorf("write: the peer didn't take a frame of %d bytes within %v", len(out.frame), timeout))
	})
	defer late.Stop()
	if err := c.socket.write(context.Background(), !out.binary, out.frame); err != nil {
		c.breakOff(fmt.Errorf("write: %w", err))
		return false
	}
	if f := out.fatal; f != nil {
		c.startClosing(&CloseError{Code: f.Code, Reason: f.Reason, Local: true})
	}
	return true
}
