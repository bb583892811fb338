package executor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/toolplane/toolplane/host/capability"
)

// Executor runs snippets. All methods are safe for concurrent use.
//
// Serve [Executor.Hub] at /ws of the address in HeadlessOptions.BaseURL, and the
// executor page at /executor/, before the first run. To end it, call
// [Executor.Close] while the HTTP server still runs, and then stop the server.
type Executor struct {
	o     Options
	hub   *Hub
	pages source // nil if there is none
	slots *slots

	sessions *sessions // nil if every run is fresh

	life    context.Context
	endLife context.CancelCauseFunc
	runs    sync.WaitGroup // runs that the page has not answered yet, abandoned ones included

	mu     sync.Mutex
	closed bool
	ids    map[string]struct{} // runs under way
}

// source gives pages to run on. The headless browser is one; the pages that
// people open will be another.
type source interface {
	// open returns a page that is ready to run, and waits for it if need be.
	open(ctx context.Context) (*page, error)
	// prove tells that a page of this source answered a run.
	prove(p *page)
	// processID is the process that the page runs in, 0 if there is none.
	processID() int
	// Close ends the pages and returns when they are gone or ctx ends.
	Close(ctx context.Context) error
}

// New returns an executor. It starts nothing; the first run does.
func New(o Options) *Executor {
	o = o.withDefaults()
	e := &Executor{
		o:     o,
		hub:   NewHub(o.Hub),
		slots: newSlots(o.MaxConcurrentRuns, o.MaxQueuedRuns, o.QueueTimeout),
		ids:   make(map[string]struct{}),
	}
	if !o.NoHeadless {
		e.pages = NewHeadless(e.hub, o.Headless)
	}
	if o.Sessions != nil {
		e.sessions = newSessions(*o.Sessions, e.forget)
	}
	e.life, e.endLife = context.WithCancelCause(context.Background())
	return e
}

// Hub returns the handler for /ws.
func (e *Executor) Hub() *Hub { return e.hub }

// Start starts the browser and returns when a run would find a page ready. It
// is never needed, and it makes the first run a fast one.
func (e *Executor) Start(ctx context.Context) error {
	_, err := e.choose(ctx)
	return err
}

// Stats is the state of an executor at one moment.
type Stats struct {
	Pages      int  `json:"pages"`       // connected
	Running    int  `json:"running"`     // runs under way
	Queued     int  `json:"queued"`      // runs that wait
	Sessions   int  `json:"sessions"`    // namespaces that are kept
	BrowserPID int  `json:"browser_pid"` // 0 while no browser is ready
	Closed     bool `json:"closed"`
}

// Stats returns the state now.
func (e *Executor) Stats() Stats {
	s := Stats{Pages: e.hub.Pages(), Running: e.slots.running(), Queued: int(e.slots.waiting.Load())}
	if e.pages != nil {
		s.BrowserPID = e.pages.processID()
	}
	if e.sessions != nil {
		s.Sessions = e.sessions.count()
	}
	e.mu.Lock()
	s.Closed = e.closed
	e.mu.Unlock()
	return s
}

// Run runs one snippet and answers when it has ended, was cancelled, or can't be
// run. It never returns nil: what goes wrong is in the result, as an error that
// says what to do about it. When ctx ends the answer comes at once, and the page
// is told to stop the run.
func (e *Executor) Run(ctx context.Context, req Request) *Result {
	begin := time.Now()
	if req.RunID == "" {
		req.RunID = newRunID()
	}
	res := e.run(ctx, req)
	res.RunID = req.RunID
	res.DurationMS = float64(time.Since(begin).Microseconds()) / 1000
	if res.Value == nil {
		res.Value = []byte("null")
	}
	if res.Artifacts == nil {
		res.Artifacts = []Artifact{}
	}
	attrs := []any{"run", res.RunID, "ok", res.OK, "ms", res.DurationMS, "executor", res.Executor}
	if res.Error != nil {
		attrs = append(attrs, "error", res.Error.Type)
	}
	e.o.Logger.Info("run ended", attrs...)
	return res
}

func (e *Executor) run(ctx context.Context, req Request) *Result {
	if err := e.check(&req); err != nil {
		return failed(err)
	}
	if err := e.enter(req.RunID); err != nil {
		return failed(err)
	}
	defer e.leave(req.RunID)

	// The run ends with the caller's patience or with the executor.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.life, func() { cancel(errClosing) })()

	place, err := e.enterPlace(ctx, req)
	if err != nil {
		if ctx.Err() != nil {
			return failed(interrupted(ctx))
		}
		return failed(hostError(TypeBusy, "%v", err))
	}
	for range pageAttempts {
		p, err := e.choose(ctx)
		if err != nil {
			place.leave()
			if ctx.Err() != nil {
				return failed(interrupted(ctx))
			}
			return failed(hostError(TypeBrowser, "%v", err))
		}
		if res := e.runOn(ctx, p, req, place); res != nil {
			res.WaitedMS = place.waitedMS
			return res // and the place is left, now or later
		}
	}
	place.leave()
	return failed(hostError(TypeBrowser, "%d executor pages in a row were lost before the run could be sent to them", pageAttempts))
}

// place is what a run needs before it can be sent: a slot, and its turn in the
// session.
type place struct {
	session  *session // nil for a fresh run
	waitedMS float64
	leave    func() // once, when the page has ended the run
}

// enterPlace waits for a place. The session comes first, so that runs that wait
// for each other's session keep no slot from others.
func (e *Executor) enterPlace(ctx context.Context, req Request) (*place, error) {
	pl := &place{leave: e.slots.release}
	if e.sessions != nil && !req.Fresh {
		begin := time.Now()
		s, err := e.sessions.enter(ctx, owner{req.Scope, req.Subject})
		if err != nil {
			return nil, err
		}
		pl.session = s
		pl.waitedMS = float64(time.Since(begin).Milliseconds())
		pl.leave = func() {
			e.slots.release()
			e.sessions.leave(s)
		}
	}
	if err := e.slots.acquire(ctx); err != nil {
		if pl.session != nil {
			e.sessions.leave(pl.session)
		}
		return nil, err
	}
	return pl, nil
}

// pageAttempts is how many pages a run tries that turn out to be gone before it
// is sent. Once it was sent it is never tried again: what it did stands.
const pageAttempts = 3

// choose picks the page for a run. Only the headless one exists so far; pages
// that people open will be asked first.
func (e *Executor) choose(ctx context.Context) (*page, error) {
	if e.pages == nil {
		return nil, errors.New("no executor page is connected, and [executor] headless = false: open one, or allow the headless browser")
	}
	p, err := e.pages.open(ctx)
	if err != nil {
		return nil, err
	}
	if !p.canExecute() {
		return nil, errors.New("the executor page says that it can't run Python")
	}
	return p, nil
}

// check completes the request and refuses what can't be run.
func (e *Executor) check(req *Request) *RunError {
	switch {
	case req.Timeout < 0:
		return invalid("timeout: %v is negative", req.Timeout)
	case req.Timeout > e.o.MaxRunTimeout:
		return invalid("timeout: %v is more than a run may have, %v ([executor] max_run_timeout): ask for less, or split the work", req.Timeout, e.o.MaxRunTimeout)
	case len(req.RunID) > 128:
		return invalid("run_id: %d bytes are more than 128", len(req.RunID))
	}
	if req.Timeout == 0 {
		req.Timeout = min(e.o.RunTimeout, e.o.MaxRunTimeout)
	}
	if req.Filename == "" {
		req.Filename = "snippet.py"
	}
	return nil
}

func (e *Executor) enter(id string) *RunError {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return hostError(TypeExecutor, "the host is closing and runs nothing more")
	}
	if _, ok := e.ids[id]; ok {
		return invalid("run_id: a run with the id %q is under way already", id)
	}
	e.ids[id] = struct{}{}
	e.runs.Add(1)
	return nil
}

func (e *Executor) leave(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.ids, id)
	e.runs.Done()
}

// Close ends the runs under way with an error, then the browser with every
// process that belongs to it, and then the connections. It waits as long as ctx
// allows and says what was not over by then. Close can be called more than once.
func (e *Executor) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.endLife(errClosing)
	if e.sessions != nil {
		e.sessions.close()
	}
	var errs []error
	if e.pages != nil {
		if err := e.pages.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close the headless browser: %w", err))
		}
	}
	if err := e.hub.Close(ctx); err != nil {
		errs = append(errs, fmt.Errorf("close the pages' connections: %w", err))
	}
	if err := waitFor(ctx, &e.runs); err != nil {
		errs = append(errs, fmt.Errorf("end the runs: %w", err))
	}
	return errors.Join(errs...)
}

// newRunID returns an id that nobody can guess.
func newRunID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return "run_" + hex.EncodeToString(b[:])
}

func failed(err *RunError) *Result { return &Result{Error: err} }

func hostError(typ, format string, args ...any) *RunError {
	return &RunError{Type: typ, Builtin: string(capability.RuntimeError), Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *RunError {
	return &RunError{Type: TypeInvalidRequest, Builtin: string(capability.ValueError), Message: fmt.Sprintf(format, args...)}
}

// interrupted is the error of a run whose context ended before the run did.
func interrupted(ctx context.Context) *RunError {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errClosing):
		return hostError(TypeExecutor, "the host closed while the run was under way")
	case errors.Is(cause, context.DeadlineExceeded):
		return hostError(TypeCancelled, "the caller's own deadline passed before the run ended")
	default:
		return hostError(TypeCancelled, "the run was cancelled; what it had done by then (calls, saved results) stands")
	}
}

func (o Options) withDefaults() Options {
	setDefault(&o.RunTimeout, 30*time.Second)
	setDefault(&o.MaxRunTimeout, 10*time.Minute)
	setDefault(&o.Grace, 20*time.Second)
	setDefault(&o.MaxOutputBytes, 10<<20)
	setDefault(&o.MaxConcurrentRuns, 4)
	setDefault(&o.MaxQueuedRuns, 64)
	setDefault(&o.QueueTimeout, time.Minute)
	setDefault(&o.MaxCalls, 10_000)
	setDefault(&o.MaxCallsInFlight, 32)
	setDefault(&o.Logger, slog.New(slog.DiscardHandler))
	setDefault(&o.Hub.Logger, o.Logger)
	setDefault(&o.Headless.Logger, o.Logger)
	setDefault(&o.Headless.Version, o.Hub.Version)
	return o
}
