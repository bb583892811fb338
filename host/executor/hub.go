package executor

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// WebSocket close codes (RFC 6455, section 7.4.1, and the IANA registry).
const (
	closeGoingAway = 1001
	closePolicy    = 1008
	closeTryLater  = 1013
)

// Hub accepts executor pages at /ws. It is an [http.Handler] and safe for
// concurrent use.
//
// A connection must say session.hello, with a token that the host gave to that
// page, before anything else and within [HubOptions.HelloTimeout]. A token
// admits one connection.
//
// Call [Hub.Close] when the HTTP server takes no more requests.
type Hub struct {
	o       HubOptions
	tickets tickets

	mu      sync.Mutex
	pending int // connections that have not said hello
	pages   map[*page]struct{}
	closed  bool

	// conns counts the handlers of connections, pending ones included.
	conns sync.WaitGroup

	// changed holds a token when the registry changed and pages don't know yet.
	changed     chan struct{}
	unsubscribe func()
	stop        chan struct{}
	loop        sync.WaitGroup
}

// NewHub returns a hub without pages. It panics without a Dispatcher.
func NewHub(o HubOptions) *Hub {
	if o.Dispatcher == nil {
		panic("executor: HubOptions.Dispatcher is required")
	}
	o = o.withDefaults()
	h := &Hub{
		o:           o,
		pages:       make(map[*page]struct{}),
		changed:     make(chan struct{}, 1),
		unsubscribe: func() {},
		stop:        make(chan struct{}),
	}
	if o.Registry != nil {
		h.unsubscribe = o.Registry.Subscribe(func() {
			select {
			case h.changed <- struct{}{}:
			default: // one is waiting already, and it will see this change too
			}
		})
		h.loop.Go(h.announce)
	}
	return h
}

// ServeHTTP accepts one page's WebSocket and returns when it is closed.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.enter() {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many connections that have not said session.hello yet, or the host is closing: try again later", http.StatusServiceUnavailable)
		return
	}
	defer h.conns.Done()
	p := newPage(h)
	defer h.leave(p)
	conn, err := wsbridge.Accept(w, r, wsbridge.AcceptOptions{
		Options: wsbridge.Options{
			MaxFrameBytes:  h.o.MaxFrameBytes,
			MaxInFlight:    h.o.MaxInFlight,
			Handler:        p.handle,
			OnNotification: p.notified,
			Logger:         h.o.Logger,
		},
		CheckOrigin: h.o.CheckOrigin,
		Subprotocol: protocol.Version,
	})
	if err != nil {
		h.o.Logger.Info("page refused", "remote", r.RemoteAddr, "error", err)
		return
	}
	impatient := time.AfterFunc(h.o.HelloTimeout, func() {
		if !p.greeted() {
			h.o.Logger.Info("page said no hello in time", "remote", r.RemoteAddr, "limit", h.o.HelloTimeout)
			_ = conn.Close(closePolicy, "no session.hello in time")
		}
	})
	defer impatient.Stop()

	select {
	case <-conn.Done():
	case <-h.stop:
		_ = conn.Close(closeGoingAway, "the host is closing")
		<-conn.Done()
	}
	p.lose(conn.Err())
	h.leave(p)
	// Handlers end soon: their contexts have.
	_ = conn.Wait(context.Background())
}

// enter counts a connection that has not said hello, if there is room for it.
func (h *Hub) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.pending >= h.o.MaxPending {
		return false
	}
	h.pending++
	h.conns.Add(1)
	return true
}

// admit makes a pending connection a page, if there is room for it.
func (h *Hub) admit(p *page) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || p.left || len(h.pages) >= h.o.MaxPages {
		return false
	}
	h.pages[p] = struct{}{}
	h.pending--
	return true
}

// leave makes room for another connection. The second call does nothing.
func (h *Hub) leave(p *page) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.left {
		return
	}
	p.left = true
	if _, ok := h.pages[p]; ok {
		delete(h.pages, p)
	} else {
		h.pending--
	}
}

// Pages returns the number of pages that said hello.
func (h *Hub) Pages() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pages)
}

// Close ends every connection and waits, as long as ctx allows, until they are
// gone. New ones are refused.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.stop)
	}
	h.mu.Unlock()
	h.unsubscribe()
	h.loop.Wait()
	return waitFor(ctx, &h.conns)
}

// announce tells every page when the catalog changed.
func (h *Hub) announce() {
	for {
		select {
		case <-h.changed:
		case <-h.stop:
			return
		}
		h.mu.Lock()
		pages := make([]*page, 0, len(h.pages))
		for p := range h.pages {
			pages = append(pages, p)
		}
		h.mu.Unlock()
		for _, p := range pages {
			if p.heardHello() {
				p.syncCatalog()
			}
		}
	}
}

// catalog returns what pages are told about the registry.
func (h *Hub) catalog() protocol.Catalog {
	c := protocol.Catalog{Bindings: []protocol.Binding{}}
	if h.o.Registry == nil {
		return c
	}
	// The revision first: a change in between makes the catalog newer than its
	// number, and then it is sent once more.
	c.Revision = h.o.Registry.Revision()
	for _, b := range h.o.Registry.Bindings() {
		params := b.Params
		if params == nil {
			params = []string{}
		}
		c.Bindings = append(c.Bindings, protocol.Binding{
			Name: b.Name, Flat: b.Flat, Scope: b.Scope, Tool: b.Tool, Params: params, Call: b.Call,
		})
	}
	return c
}

func (h *Hub) revision() uint64 {
	if h.o.Registry == nil {
		return 0
	}
	return h.o.Registry.Revision()
}

// helloResult is what a page is told when it is admitted.
func (h *Hub) helloResult(c protocol.Catalog) (json.RawMessage, error) {
	return protocol.EncodePayload(protocol.HelloResult{
		Protocol: protocol.Version,
		Server:   protocol.Peer{Name: h.o.Name, Version: h.o.Version},
		Limits:   protocol.Limits{MaxFrameBytes: h.o.MaxFrameBytes, MaxInFlight: h.o.MaxInFlight},
		Catalog:  c,
	})
}

func (o HubOptions) withDefaults() HubOptions {
	setDefault(&o.Name, "toolplane")
	setDefault(&o.MaxFrameBytes, 16<<20)
	setDefault(&o.MaxInFlight, 64)
	setDefault(&o.MaxPages, 16)
	setDefault(&o.MaxPending, 8)
	setDefault(&o.HelloTimeout, 10*time.Second)
	setDefault(&o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// setDefault gives a field that was left zero its default.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// waitFor waits until wg is done or ctx ends.
func waitFor(ctx context.Context, wg *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
