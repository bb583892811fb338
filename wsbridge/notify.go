package wsbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// Notify sends a notification. It returns when the frame is in the queue: nothing tells whether it arrives. The errors
// are those of [Conn.Call].
func (c *Conn) Notify(ctx context.Context, method string, params json.RawMessage) error {
	err := c.sendNotification(ctx, method, params)
	if err != nil && !errors.As(err, new(*protocol.Error)) {
		err = fmt.Errorf("notify %s: %w", method, err)
	}
	return err
}

func (c *Conn) sendNotification(ctx context.Context, method string, params json.RawMessage) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := c.checkSize(method, len(params)); err != nil {
		return err
	}
	frame, err := protocol.EncodeNotification(method, params)
	if err != nil {
		return protocol.Errorf(protocol.CodeInvalidParams, "notification %s: %v", method, err)
	}
	if err := c.checkSize(method, len(frame)); err != nil {
		return err
	}
	return c.enqueue(ctx, &outgoing{frame: frame})
}

// notifyQueue holds received notifications until their handler is free. It counts them, so that an answer can wait for the
// notifications before it.
type notifyQueue struct {
	items    chan *protocol.Message
	maxBytes int64

	mu      sync.Mutex
	bytes   int64
	arrived uint64
	handled uint64
	waiting []arrival
	full    bool // a drop was reported since there was room last
}

type arrival struct {
	after uint64
	ready chan struct{}
}

func (q *notifyQueue) init(o Options) {
	q.items = make(chan *protocol.Message, o.NotifyQueue)
	q.maxBytes = 2 * o.MaxFrameBytes
}

// push never blocks. It returns whether there was room, and for the first drop of a row that it should be reported.
func (q *notifyQueue) push(m *protocol.Message) (ok, report bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := int64(len(m.Params))
	if q.bytes+size <= q.maxBytes {
		select {
		case q.items <- m:
			q.bytes += size
			q.arrived++
			q.full = false
			return true, false
		default:
		}
	}
	report = !q.full
	q.full = true
	return false, report
}

func (q *notifyQueue) finished(m *protocol.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= int64(len(m.Params))
	q.handled++
	keep := q.waiting[:0]
	for _, w := range q.waiting {
		if w.after <= q.handled {
			close(w.ready)
		} else {
			keep = append(keep, w)
		}
	}
	q.waiting = keep
}

func (q *notifyQueue) received() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.arrived
}

// wait waits until as many notifications are handled, ctx ends, or stop is closed.
func (q *notifyQueue) wait(ctx context.Context, stop <-chan struct{}, after uint64) {
	q.mu.Lock()
	if q.handled >= after {
		q.mu.Unlock()
		return
	}
	w := arrival{after: after, ready: make(chan struct{})}
	q.waiting = append(q.waiting, w)
	q.mu.Unlock()
	select {
	case <-w.ready:
	case <-ctx.Done():
	case <-stop:
	}
}

// notifyLoop handles notifications one after the other.
func (c *Conn) notifyLoop() {
	ctx := context.WithValue(c.ctx, notificationOf{c}, true)
	for {
		select {
		case m := <-c.notify.items:
			c.handleNotification(ctx, m)
			c.notify.finished(m)
		case <-c.closing:
			c.handleRest(ctx)
			return
		}
	}
}

// handleRest handles what arrived before the connection closed. The context tells the handler that it is.
func (c *Conn) handleRest(ctx context.Context) {
	for {
		select {
		case m := <-c.notify.items:
			c.handleNotification(ctx, m)
			c.notify.finished(m)
		default:
			return
		}
	}
}

// notificationOf marks the contexts of a connection's notification handlers.
type notificationOf struct{ c *Conn }

func (c *Conn) inNotification(ctx context.Context) bool {
	return ctx.Value(notificationOf{c}) != nil
}

func (c *Conn) handleNotification(ctx context.Context, m *protocol.Message) {
	if c.o.OnNotification == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("notification handler panicked", "method", m.Method, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	c.o.OnNotification(ctx, c, m.Method, m.Params)
}

// takeNotification is called by the reader: it must not wait.
func (c *Conn) takeNotification(m *protocol.Message) {
	if m.Method == protocol.MethodCancel {
		var params protocol.CancelParams
		if err := protocol.DecodeParams(m.Params, &params); err != nil {
			c.refuse(0, protocol.Errorf(protocol.CodeInvalidParams, "%s: %v", protocol.MethodCancel, err))
			return
		}
		c.cancelIncoming(params.ID)
		return
	}
	ok, report := c.notify.push(m)
	if ok || !report {
		return
	}
	err := protocol.Errorf(protocol.CodeBusy, "notification %s was dropped, and so are all others until there is room: "+
		"at most %d, or %d bytes of them, can wait: send fewer at once", m.Method, c.o.NotifyQueue, c.notify.maxBytes)
	c.log.Warn(err.Message)
	c.refuse(0, err)
}
