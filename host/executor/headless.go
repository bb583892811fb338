package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// freeFailures is how many times in a row the browser may fail before a
	// pause is made, which doubles from firstPause to maxPause.
	freeFailures = 2
	firstPause   = time.Second
	maxPause     = 30 * time.Second
)

// Headless owns the headless browser: at most one at a time, started when the
// first run needs it and started anew when it is gone. Safe for concurrent use.
//
// No process outlives it: Close ends the browser with everything that it
// started, and if the host ends without Close, even by SIGKILL, the closed
// debugging pipe (and on Linux the kernel) ends it.
type Headless struct {
	hub *Hub
	o   HeadlessOptions

	// life ends with Close and bounds every start.
	life    context.Context
	endLife context.CancelCauseFunc
	wg      sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	swept     bool
	attempt   *attempt // the start under way or the browser in use, nil when there is none
	failures  int      // in a row
	lastErr   error
	notBefore time.Time
	pid       int
}

// attempt is one browser from its start to its end. Whoever needs a page waits
// for the same one.
type attempt struct {
	started chan struct{} // closed when page or err is set
	page    *page
	err     error
	proved  bool // a run was answered; guarded by Headless.mu
}

// usable reports whether the attempt is still under way or has given a page that
// can take a run.
func (a *attempt) usable() bool {
	select {
	case <-a.started:
		return a.page != nil && a.page.usable()
	default:
		return true
	}
}

// NewHeadless returns a Headless whose pages connect to hub. It starts nothing.
func NewHeadless(hub *Hub, o HeadlessOptions) *Headless {
	h := &Headless{hub: hub, o: o.withDefaults()}
	h.life, h.endLife = context.WithCancelCause(context.Background())
	return h
}

var errClosing = errors.New("the host is closing")

// open returns the page to run on, starting a browser if there is none. It
// waits for the start as long as ctx allows; the start itself goes on for the
// next caller.
func (h *Headless) open(ctx context.Context) (*page, error) {
	a, err := h.current()
	if err != nil {
		return nil, err
	}
	select {
	case <-a.started:
		return a.page, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// current returns the attempt under way, or begins one.
func (h *Headless) current() (*attempt, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, errClosing
	case h.attempt != nil && h.attempt.usable():
		return h.attempt, nil
	}
	if wait := time.Until(h.notBefore); wait > 0 {
		return nil, fmt.Errorf("the browser failed %d times in a row and is started again in %v at the earliest; the last time: %w",
			h.failures, wait.Round(100*time.Millisecond), h.lastErr)
	}
	a := &attempt{started: make(chan struct{})}
	h.attempt = a
	sweep := !h.swept
	h.swept = true
	h.wg.Go(func() { h.live(a) })
	if sweep {
		h.wg.Go(func() {
			if n := sweepProfiles(profileParent(), time.Now()); n > 0 {
				h.o.Logger.Info("removed browser profiles that crashed hosts left", "count", n)
			}
		})
	}
	return a, nil
}

// live starts a browser, watches it and ends it.
func (h *Headless) live(a *attempt) {
	browser, p, err := h.start()
	if err != nil {
		h.o.Logger.Error("headless browser didn't start", "error", err)
		h.over(a, err)
		a.err = err
		close(a.started)
		return
	}
	h.mu.Lock()
	if h.attempt == a {
		h.pid = browser.pid
	}
	h.mu.Unlock()
	a.page = p
	close(a.started)

	var why error
	select {
	case <-browser.gone.Done():
		why = context.Cause(browser.gone)
	case <-p.lost:
		// A process that dies breaks the connection a little before it is known
		// to be dead, and is the better reason.
		select {
		case <-browser.gone.Done():
			why = context.Cause(browser.gone)
		case <-p.diagnosed: // given up by the host
			why = p.reason()
		case <-time.After(diagnosisTime / 2):
			why = errors.New("the executor page closed its connection")
		case <-h.life.Done():
			why = context.Cause(h.life)
		}
	case <-h.life.Done():
		why = context.Cause(h.life)
	}
	// First let the next run start a new browser, then tell the runs of this one.
	h.over(a, why)
	p.diagnose(why)
	if errors.Is(why, errClosing) {
		h.o.Logger.Debug("headless browser is closed")
	} else {
		h.o.Logger.Warn("headless browser is lost", "reason", why)
	}
	if err := browser.stop(); err != nil {
		h.o.Logger.Warn("cleaning up after the browser", "error", err)
	}
}

// over makes room for the next attempt and counts failures: starts that failed
// and browsers that died before they answered a single run.
func (h *Headless) over(a *attempt, why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attempt == a {
		h.attempt, h.pid = nil, 0
	}
	if a.proved || h.closed {
		return
	}
	h.failures++
	h.lastErr = why
	if extra := h.failures - freeFailures; extra >= 0 {
		h.notBefore = time.Now().Add(min(firstPause<<min(extra, 10), maxPause))
	}
}

// prove records that the page answered a run, so that its browser is a good one.
func (h *Headless) prove(p *page) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attempt != nil && h.attempt.page == p {
		h.attempt.proved = true
		h.failures = 0
	}
}

// start starts a browser, opens the page, hands it its token and waits until it
// is ready to run.
func (h *Headless) start() (_ *chromium, _ *page, err error) {
	ctx, cancel := context.WithTimeoutCause(h.life, h.o.StartTimeout,
		fmt.Errorf("not ready within %v ([executor] start_timeout)", h.o.StartTimeout))
	defer cancel()

	base, err := url.Parse(h.o.BaseURL)
	if err != nil || base.Host == "" {
		return nil, nil, fmt.Errorf("start the browser: the host's own address %q is not a URL", h.o.BaseURL)
	}
	path, err := LookBrowser(h.o.Browser)
	if err != nil {
		return nil, nil, err
	}
	begin := time.Now()
	browser, err := startChromium(ctx, chromiumOptions{path: path, base: base, noSandbox: h.noSandbox(), profileDir: profileParent(), logger: h.o.Logger})
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, browser.stop())
		}
	}()
	started := time.Now()
	if err := browser.open(ctx, strings.TrimRight(h.o.BaseURL, "/")+"/executor/"); err != nil {
		return nil, nil, err
	}
	opened := time.Now()
	p, err := h.connect(ctx, browser)
	if err != nil {
		return nil, nil, err
	}
	h.o.Logger.Info("headless browser is ready", "program", browser.path, "pid", browser.pid,
		"process_ms", started.Sub(begin).Milliseconds(), "page_ms", opened.Sub(started).Milliseconds(), "python_ms", time.Since(opened).Milliseconds())
	return browser, p, nil
}

// connect hands the page its token, through the debugging pipe, and waits for
// its hello and for its first interpreter.
func (h *Headless) connect(ctx context.Context, browser *chromium) (*page, error) {
	tk, token := h.hub.tickets.issue(KindHeadless)
	defer h.hub.tickets.revoke(tk)
	arguments, err := json.Marshal(map[string]any{
		"token": token, "kind": KindHeadless, "name": "toolplane-headless", "version": h.o.Version, "pool": h.o.PoolSize, "max_memory_mb": h.o.MaxMemoryMB,
	})
	if err != nil {
		return nil, err
	}
	if err := browser.evaluate(ctx, fmt.Sprintf(connectScript, arguments)); err != nil {
		return nil, fmt.Errorf("connect the executor page: %s", strings.ReplaceAll(err.Error(), token, "[token]"))
	}
	var p *page
	select {
	case p = <-tk.admitted:
		p.watch()
	case <-browser.gone.Done():
		return nil, fmt.Errorf("connect the executor page: %w", context.Cause(browser.gone))
	case <-ctx.Done():
		return nil, fmt.Errorf("connect the executor page: %w", context.Cause(ctx))
	}
	select {
	case <-p.ready:
		return p, nil
	case <-p.unable:
		err = errors.New("it can't be loaded")
	case <-browser.gone.Done():
		err = context.Cause(browser.gone)
	case <-p.lost:
		err = errors.New("the page closed its connection before it was ready")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if detail := p.detail(); detail != "" {
		err = fmt.Errorf("%w; the page says: %s", err, detail)
	}
	err = fmt.Errorf("load Python in the executor page: %w", err)
	p.diagnose(err)
	return nil, err
}

// connectScript waits until the page's script has run, which is soon after the
// page has loaded, and connects it.
const connectScript = `(async () => {
	for (const end = performance.now() + 5000; performance.now() < end; ) {
		const connect = globalThis.toolplane?.connect;
		if (typeof connect === "function") { await connect(%s); return; }
		await new Promise((go) => setTimeout(go, 10));
	}
	throw new Error("the executor page's script did not start");
})()`

func (h *Headless) noSandbox() bool {
	switch h.o.NoSandbox {
	case NoSandboxAlways:
		return true
	case NoSandboxNever:
		return false
	default:
		return runsWithoutSandbox()
	}
}

// processID returns the browser's, 0 if there is none.
func (h *Headless) processID() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pid
}

// Close ends the browser, or its start, and waits until it and everything that
// belongs to it is gone, as long as ctx allows.
func (h *Headless) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.endLife(errClosing)
	return waitFor(ctx, &h.wg)
}

func (o HeadlessOptions) withDefaults() HeadlessOptions {
	setDefault(&o.NoSandbox, NoSandboxAuto)
	setDefault(&o.StartTimeout, time.Minute)
	setDefault(&o.PoolSize, 2)
	setDefault(&o.MaxMemoryMB, 512)
	setDefault(&o.Logger, slog.New(slog.DiscardHandler))
	return o
}
