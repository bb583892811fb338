package wsbridge

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// Conn is one end of a connection. All methods may be called at any time from any goroutine, also from handlers.
//
// # Order of things
//
// Frames are sent in the order in which Call and Notify put them into the queue, answers in the order in which handlers finish.
// Requests of the peer are handled concurrently. Notifications are handled one after the other, in order, beside
// the requests. A Call returns after every notification that arrived before its answer has been handled, so that output sent by
// the peer's handler isn't seen late. A notification handler that calls back must therefore pass on its own context.
//
// # Closing
//
// A connection closes by Close, by the peer's close frame, or when it breaks: an error of the network, a write
// that takes longer than WriteTimeout, a ping without pong. Then, in this order:
//
//  1. Err is set. Call and Notify return an error that matches ErrClosed, also where they wait. The contexts of all handlers
//     end with cause ErrClosed; what those handlers still answer is dropped. Notifications that have arrived are still handled.
//  2. If this side closes: frames that are already queued are sent, then the close frame.
//  3. The peer's close frame is awaited; what it sends before is thrown away. Steps 2 and 3 together last at most
//     CloseTimeout, then the network connection is cut.
//  4. The goroutines that read, write and ping end, and Done is closed. Close returns.
//
// Handlers are told by their context and not waited for, so that they may call Close themselves; Wait waits for them too.
// After that no goroutine is left.
type Conn struct {
	o      Options
	log    *slog.Logger
	socket *socket

	// ctx is the parent of the contexts of all handlers.
	ctx    context.Context
	cancel context.CancelCauseFunc

	queue   chan *outgoing
	control controlQueue
	notify  notifyQueue

	lastID atomic.Int64

	mu       sync.Mutex
	pending  map[int64]*call                   // requests of this side that the peer hasn't answered
	incoming map[int64]context.CancelCauseFunc // requests of the peer whose answers aren't sent
	err      *CloseError                       // set when closing is closed
	closing  chan struct{}
	done     chan struct{}
	unclean  error // why the closing handshake failed; read it after done

	alive    atomic.Uint64 // counts signs of life of the peer
	loops    sync.WaitGroup
	writer   sync.WaitGroup
	handlers sync.WaitGroup
}

func newConn(s *socket, o Options) *Conn {
	c := &Conn{
		o:        o,
		log:      o.Logger,
		socket:   s,
		queue:    make(chan *outgoing, o.WriteQueue),
		control:  controlQueue{wake: make(chan struct{}, 1)},
		pending:  map[int64]*call{},
		incoming: map[int64]context.CancelCauseFunc{},
		closing:  make(chan struct{}),
		done:     make(chan struct{}),
	}
	c.notify.init(o)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	// Locked, because a goroutine that finds the connection broken waits for all of them.
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loops.Go(c.readLoop)
	c.writer.Go(c.writeLoop)
	c.handlers.Go(c.notifyLoop)
	if o.PingInterval > 0 {
		c.loops.Go(c.pingLoop)
	}
	return c
}

// Done is closed when the connection is closed and its own goroutines ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns nil while the connection is open, then a [*CloseError], also when it was closed regularly.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return nil
	}
	return c.err
}

// Wait waits until the connection is closed and every handler returned, or until ctx ends. Handlers must not call it.
func (c *Conn) Wait(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		<-c.done
		c.handlers.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// busy makes the refusal of a request that a limit on in-flight requests keeps out.
func busy(limit int) *protocol.Error {
	return protocol.Errorf(protocol.CodeBusy,
		"%d requests are in flight already, which is the limit: wait for one to be answered, or raise max_in_flight", limit)
}
