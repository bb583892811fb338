package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// diagnosisTime is how long a run whose connection broke waits for whoever
// watches the page's process to say why. The connection breaks a little before
// the process is known to be dead.
const diagnosisTime = 700 * time.Millisecond

// page is one connection. What it says is checked, not believed: a page can
// speak only for runs that the host sent over this connection.
type page struct {
	hub  *Hub
	left bool // guarded by hub.mu: counted no more

	mu      sync.Mutex
	conn    *wsbridge.Conn // set by hello
	kind    Kind
	canRun  bool
	tried   bool // a session.hello came; if it isn't accepted, the connection closes
	said    bool // session.hello was accepted
	heard   bool // a message came that only a page that has our answer sends
	runs    map[string]*run
	status  protocol.ExecutorStatusParams
	watched bool // somebody will diagnose the loss
	isLost  bool
	why     error

	// catalogMu makes catalogs go out one after the other; revision is that of the
	// last one.
	catalogMu sync.Mutex
	revision  uint64

	ready      chan struct{} // closed by the first executor.status that says ready
	unable     chan struct{} // closed by one before that which says why it can't be
	settled    sync.Once     // ready or unable, whichever comes first
	lost       chan struct{} // closed when the connection is
	diagnosed  chan struct{} // closed when why is final
	diagnosing sync.Once
}

func newPage(h *Hub) *page {
	return &page{
		hub:       h,
		runs:      make(map[string]*run),
		ready:     make(chan struct{}),
		unable:    make(chan struct{}),
		lost:      make(chan struct{}),
		diagnosed: make(chan struct{}),
	}
}

func (p *page) greeted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said
}

// firstHello reports whether no session.hello came before.
func (p *page) firstHello() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.tried
	p.tried = true
	return first
}

func (p *page) heardHello() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard
}

// handle answers one request of the page.
func (p *page) handle(ctx context.Context, c *wsbridge.Conn, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == protocol.MethodHello {
		return p.hello(c, params)
	}
	if !p.greeted() {
		return nil, refuse("say session.hello first, and wait for its answer")
	}
	p.noteHeard()
	switch method {
	case protocol.MethodToolCall:
		return p.toolCall(ctx, params)
	default:
		return nil, protocol.Errorf(protocol.CodeMethodNotFound, "unknown method %.80q: the host answers %s and %s",
			method, protocol.MethodHello, protocol.MethodToolCall)
	}
}

// refuse is an answer after which the connection closes.
func refuse(format string, args ...any) error {
	answer := protocol.Errorf(protocol.CodeUnauthenticated, format, args...)
	return &wsbridge.FatalError{Answer: answer, Code: closePolicy, Reason: "unauthenticated"}
}

func (p *page) hello(c *wsbridge.Conn, params json.RawMessage) (json.RawMessage, error) {
	var hello protocol.HelloParams
	if err := protocol.DecodeParams(params, &hello); err != nil {
		return nil, err
	}
	if !p.firstHello() {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "session.hello was said already")
	}
	tk, ok := p.hub.tickets.redeem(hello.Token, Kind(hello.Kind))
	if !ok {
		p.hub.o.Logger.Warn("page refused: wrong token or kind", "kind", fmt.Sprintf("%.20q", hello.Kind))
		return nil, refuse("the token is wrong, was used already, or isn't for this kind of page")
	}
	if !p.hub.admit(p) {
		answer := protocol.Errorf(protocol.CodeBusy, "this host has %d pages connected, its limit: close one first", p.hub.o.MaxPages)
		return nil, &wsbridge.FatalError{Answer: answer, Code: closeTryLater, Reason: "too many pages"}
	}
	catalog := p.hub.catalog()
	p.catalogMu.Lock()
	p.revision = catalog.Revision
	p.catalogMu.Unlock()
	p.mu.Lock()
	p.conn, p.kind, p.canRun, p.said = c, tk.kind, hello.CanExecute, true
	p.mu.Unlock()
	p.hub.o.Logger.Info("page connected", "kind", string(tk.kind), "client", fmt.Sprintf("%.40s %.20s", hello.Client.Name, hello.Client.Version))
	tk.admitted <- p
	return p.hub.helloResult(catalog)
}

// noteHeard records that the page has the answer to its hello, and sends it the
// changes of the catalog since. Before that, a catalog.changed could overtake
// the answer.
func (p *page) noteHeard() {
	p.mu.Lock()
	first := !p.heard
	p.heard = true
	p.mu.Unlock()
	if first {
		p.syncCatalog()
	}
}

// syncCatalog sends the catalog if the page has an older one.
func (p *page) syncCatalog() {
	p.catalogMu.Lock()
	defer p.catalogMu.Unlock()
	if p.hub.revision() <= p.revision || !p.usable() {
		return
	}
	catalog := p.hub.catalog()
	params, err := protocol.EncodePayload(catalog)
	if err != nil {
		p.hub.o.Logger.Error("encode the catalog", "error", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := p.conn.Notify(ctx, protocol.MethodCatalogChanged, params); err != nil {
		p.hub.o.Logger.Debug("send the catalog", "error", err)
		return // the next run tries again
	}
	p.revision = catalog.Revision
}

// notified takes one notification. They come one after the other.
func (p *page) notified(_ context.Context, _ *wsbridge.Conn, method string, params json.RawMessage) {
	if !p.greeted() {
		return
	}
	p.noteHeard()
	var err error
	switch method {
	case protocol.MethodRunOutput:
		var out protocol.RunOutputParams
		if err = protocol.DecodeParams(params, &out); err == nil {
			if r := p.run(out.RunID); r != nil {
				r.output.add(out.Stream, out.Text)
			}
		}
	case protocol.MethodExecutorStatus:
		var status protocol.ExecutorStatusParams
		if err = protocol.DecodeParams(params, &status); err == nil {
			p.setStatus(status)
		}
	default:
		err = errors.New("unknown method")
	}
	if err != nil {
		p.hub.o.Logger.Warn("notification dropped", "method", fmt.Sprintf("%.40q", method), "error", err)
	}
}

func (p *page) setStatus(s protocol.ExecutorStatusParams) {
	p.mu.Lock()
	p.status = s
	p.mu.Unlock()
	p.hub.o.Logger.Debug("page status", "ready", s.Ready, "pool", s.Pool, "snapshot", s.Snapshot, "detail", s.Detail)
	switch {
	case s.Ready:
		p.settled.Do(func() { close(p.ready) })
	case s.Detail != "":
		p.settled.Do(func() { close(p.unable) })
	}
}

// run returns the run of that id that is under way on this very connection.
func (p *page) run(id string) *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs[id]
}

// begin registers a run, whose id no other run under way has; from here on the
// page can call in its name. It reports false if the page is gone.
func (p *page) begin(r *run) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isLost {
		return false
	}
	p.runs[r.origin.RunID] = r
	return true
}

// end forgets a run and cancels the calls that it has in flight.
func (p *page) end(r *run) {
	p.mu.Lock()
	delete(p.runs, r.origin.RunID)
	p.mu.Unlock()
	r.cancel()
}

// usable reports whether the page can take a run, as far as is known.
func (p *page) usable() bool {
	select {
	case <-p.lost:
		return false
	case <-p.diagnosed:
		return false
	default:
		return true
	}
}

// watch says that the caller will tell with diagnose why this page was lost.
func (p *page) watch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watched = true
}

// lose records that the connection is closed.
func (p *page) lose(err error) {
	p.mu.Lock()
	if !p.isLost {
		p.isLost = true
		close(p.lost)
	}
	watched := p.watched
	if p.why == nil {
		p.why = err
	}
	p.mu.Unlock()
	if !watched {
		p.diagnosing.Do(func() { close(p.diagnosed) })
	}
}

// diagnose records why the page was lost and closes its connection, if it is
// still open. The first diagnosis counts.
func (p *page) diagnose(why error) {
	p.diagnosing.Do(func() {
		p.mu.Lock()
		p.why = why
		conn := p.conn
		p.mu.Unlock()
		close(p.diagnosed)
		if conn != nil {
			_ = conn.Close(closeGoingAway, "the page is given up")
		}
	})
}

// reason says why the page was lost. It waits a moment for the diagnosis.
func (p *page) reason() error {
	timer := time.NewTimer(diagnosisTime)
	defer timer.Stop()
	select {
	case <-p.diagnosed:
	case <-timer.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil {
		return errors.New("the page's connection closed")
	}
	return p.why
}

// detail is the first line of what the page last said about its state.
func (p *page) detail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	line, _, _ := strings.Cut(p.status.Detail, "\n")
	return cutText(line, 500)
}

func (p *page) canExecute() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.canRun
}

func (p *page) kindOf() Kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kind
}
