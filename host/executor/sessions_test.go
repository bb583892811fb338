package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// sessionPage is a fake page that keeps sessions: a count of runs for each key.
type sessionPage struct {
	mu   sync.Mutex
	runs map[string]int
	seen []protocol.ExecutorRunParams
	// do, if set, answers in place of the page.
	do fakeRun
}

func (p *sessionPage) run(ctx context.Context, c *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
	p.mu.Lock()
	p.seen = append(p.seen, run)
	do := p.do
	p.mu.Unlock()
	if do != nil {
		return do(ctx, c, run)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	res := okResult(`1`)
	switch res.Session = protocol.SessionFresh; {
	case run.Session == "":
	case p.runs[run.Session] == 0:
		res.Session = protocol.SessionNew
	default:
		res.Session = protocol.SessionKept
	}
	p.runs[run.Session]++
	return res, nil
}

func (p *sessionPage) reset(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.runs[key]
	delete(p.runs, key)
	return n
}

func (p *sessionPage) last() protocol.ExecutorRunParams {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[len(p.seen)-1]
}

func (p *sessionPage) keys() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.runs)
}

func newSessionExecutor(t *testing.T, o SessionOptions) (*Executor, *sessionPage) {
	t.Helper()
	fake := &sessionPage{runs: map[string]int{}}
	e, _, _ := newTestExecutor(t, Options{Sessions: &o}, fake.run)
	fakeResets.Store(e.hub, fake.reset)
	t.Cleanup(func() { fakeResets.Delete(e.hub) })
	return e, fake
}

func TestSessionOfScope(t *testing.T) {
	e, fake := newSessionExecutor(t, SessionOptions{MaxMemoryMB: 100})
	run := func(req Request) *Result {
		t.Helper()
		res := e.Run(t.Context(), req)
		if !res.OK {
			t.Fatal(res.Error)
		}
		return res
	}
	if res := run(Request{Scope: "a", Previous: json.RawMessage("5")}); res.Session != "new" || res.SessionNote != "" {
		t.Errorf("first run: %+v", res)
	}
	first := fake.last()
	if first.Session == "" || first.SessionMaxBytes != 100<<20 || first.Fresh || string(first.Previous) != "5" {
		t.Errorf("the page got %+v", first)
	}
	if res := run(Request{Scope: "a", Previous: json.RawMessage("5")}); res.Session != "kept" {
		t.Errorf("second run: %+v", res)
	}
	if got := fake.last(); got.Session != first.Session || got.Previous != nil {
		t.Errorf("the page got %+v, want the same session, which knows its previous value", got)
	}
	if res := run(Request{Scope: "a", Fresh: true}); res.Session != "fresh" || fake.last().Session != "" {
		t.Errorf("fresh run: %+v", res)
	}
	for _, other := range []Request{{Scope: "b"}, {Scope: "a", Subject: "somebody"}} {
		if res := run(other); res.Session != "new" || fake.last().Session == first.Session {
			t.Errorf("%+v: %+v", other, res)
		}
	}
	if n := e.Stats().Sessions; n != 3 {
		t.Errorf("%d sessions", n)
	}
}

func TestSessionsOff(t *testing.T) {
	fake := &sessionPage{runs: map[string]int{}}
	e, _, _ := newTestExecutor(t, Options{}, fake.run)
	if res := e.Run(t.Context(), Request{Scope: "a"}); !res.OK || fake.last().Session != "" {
		t.Errorf("%+v, and the page got %+v", res, fake.last())
	}
	if forgot, err := e.ResetSession(t.Context(), "a", ""); forgot != "" || err != nil {
		t.Error(forgot, err)
	}
	e.DropScope("a")
}

func TestResetSession(t *testing.T) {
	e, fake := newSessionExecutor(t, SessionOptions{})
	reset := func(want string) {
		t.Helper()
		if forgot, err := e.ResetSession(t.Context(), "a", ""); forgot != want || err != nil {
			t.Errorf("forgot %q, %v, want %q", forgot, err, want)
		}
	}
	reset("")
	e.Run(t.Context(), Request{Scope: "a"})
	reset("the namespace of 1 run")
	reset("")
	for range 3 {
		e.Run(t.Context(), Request{Scope: "a"})
	}
	key := fake.last().Session
	reset("the namespace of 3 runs")
	res := e.Run(t.Context(), Request{Scope: "a"})
	if res.Session != "new" || res.SessionNote != "" || fake.last().Session == key {
		t.Errorf("after a reset: %+v", res)
	}
}

// A new session takes the place of the one that is idle for the longest time,
// and whose it was is told.
func TestSessionEviction(t *testing.T) {
	e, fake := newSessionExecutor(t, SessionOptions{MaxSessions: 2})
	for _, scope := range []string{"a", "b", "a", "c"} {
		if res := e.Run(t.Context(), Request{Scope: scope}); !res.OK || res.SessionNote != "" {
			t.Fatalf("%s: %+v", scope, res)
		}
	}
	eventually(t, func() bool { return fake.keys() == 2 }, "the page wasn't told")
	if res := e.Run(t.Context(), Request{Scope: "a"}); res.Session != "kept" {
		t.Errorf("a: %+v", res)
	}
	res := e.Run(t.Context(), Request{Scope: "b"})
	if res.Session != "new" || !strings.Contains(res.SessionNote, "gone") || !strings.Contains(res.SessionNote, "[session] max_sessions") {
		t.Errorf("b: %+v", res)
	}
	if res := e.Run(t.Context(), Request{Scope: "b"}); res.Session != "kept" || res.SessionNote != "" {
		t.Errorf("b again: %+v", res)
	}
}

func TestSessionsAllBusy(t *testing.T) {
	e, fake := newSessionExecutor(t, SessionOptions{MaxSessions: 1, MaxQueued: 1})
	started, end := make(chan struct{}), make(chan struct{})
	fake.do = func(context.Context, *wsbridge.Conn, protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		started <- struct{}{}
		<-end
		return okResult("1"), nil
	}
	done := make(chan *Result, 2)
	go func() { done <- e.Run(context.Background(), Request{Scope: "a"}) }()
	<-started
	res := e.Run(t.Context(), Request{Scope: "b"})
	if res.OK || res.Error.Type != TypeBusy || !strings.Contains(res.Error.Message, "[session] max_sessions") {
		t.Errorf("another session: %+v", res.Error)
	}
	go func() { done <- e.Run(context.Background(), Request{Scope: "a"}) }()
	eventually(t, func() bool {
		e.sessions.mu.Lock()
		defer e.sessions.mu.Unlock()
		return e.sessions.byOwner[owner{"a", ""}].waiting == 1
	}, "the second run doesn't wait")
	res = e.Run(t.Context(), Request{Scope: "a"})
	if res.OK || res.Error.Type != TypeBusy || !strings.Contains(res.Error.Message, "1 more wait") {
		t.Errorf("a third run: %+v", res.Error)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if res := e.Run(cancelled, Request{Scope: "a"}); res.OK || res.Error.Type != TypeCancelled {
		t.Errorf("a cancelled run: %+v", res.Error)
	}
	close(end)
	<-done
	<-started
	if res := <-done; !res.OK {
		t.Errorf("the run that waited: %+v", res.Error)
	}
}

// The times of sessions, with a clock that the test moves.
func TestSessionTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var forgotten []string
		ss := newSessions(SessionOptions{IdleTTL: time.Minute, QueueTimeout: time.Second}, func(_ *page, key string) {
			mu.Lock()
			defer mu.Unlock()
			forgotten = append(forgotten, key)
		})
		defer ss.close()
		enter := func() *session {
			t.Helper()
			s, err := ss.enter(t.Context(), owner{"a", ""})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		use := func(s *session) seat {
			in := ss.on(s, &page{})
			ss.note(s, in, &Result{Session: protocol.SessionNew})
			return in
		}
		s := enter()
		in := use(s)
		if _, err := ss.enter(t.Context(), owner{"a", ""}); err == nil || !strings.Contains(err.Error(), "waited 1s") {
			t.Errorf("a second run got %v", err)
		}
		time.Sleep(2 * time.Minute) // it's busy for all that time
		ss.leave(s)
		time.Sleep(30 * time.Second)
		ss.leave(enter())
		time.Sleep(59 * time.Second)
		if ss.count() != 1 {
			t.Error("gone too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		mu.Lock()
		if ss.count() != 0 || len(forgotten) != 1 || forgotten[0] != in.key {
			t.Errorf("%d sessions, forgotten: %q", ss.count(), forgotten)
		}
		mu.Unlock()
		s = enter()
		res := &Result{Session: protocol.SessionNew}
		ss.note(s, ss.on(s, &page{}), res)
		if !strings.Contains(res.SessionNote, "nobody used it for 1m0s ([session] idle_ttl)") {
			t.Errorf("note %q", res.SessionNote)
		}
		ss.leave(s)
	})
}

func TestDropScope(t *testing.T) {
	e, fake := newSessionExecutor(t, SessionOptions{})
	for _, req := range []Request{{Scope: "a"}, {Scope: "a", Subject: "s"}, {Scope: "b"}} {
		e.Run(t.Context(), req)
	}
	e.DropScope("a")
	eventually(t, func() bool { return fake.keys() == 1 }, "the page wasn't told")
	if n := e.Stats().Sessions; n != 1 {
		t.Errorf("%d sessions", n)
	}
	if res := e.Run(t.Context(), Request{Scope: "b"}); res.Session != "kept" {
		t.Errorf("b: %+v", res)
	}
}

// What the page says of a session comes through, and what only the host knows
// is added.
func TestSessionLostWithPage(t *testing.T) {
	e, fake := newSessionExecutor(t, SessionOptions{})
	e.Run(t.Context(), Request{Scope: "a"})
	fake.do = func(_ context.Context, c *wsbridge.Conn, _ protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		_ = c.Close(1000, "the browser died")
		return nil, fmt.Errorf("gone")
	}
	res := e.Run(t.Context(), Request{Scope: "a"})
	if res.OK || res.Error.Type != TypeBrowser || res.Session != "lost" || !strings.Contains(res.Error.Message, "namespace is gone") {
		t.Errorf("%+v %+v", res, res.Error)
	}
}

func TestSessionOutcomes(t *testing.T) {
	e, fake := newSessionExecutor(t, SessionOptions{})
	e.Run(t.Context(), Request{Scope: "a"})
	fake.do = func(context.Context, *wsbridge.Conn, protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		return &protocol.ExecutorRunResult{
			Value: json.RawMessage("null"), Session: protocol.SessionRolledBack, SessionNote: "n",
			Error: &protocol.RunError{Type: "RunTimeoutError", Builtin: string(capability.TimeoutError)},
		}, nil
	}
	if res := e.Run(t.Context(), Request{Scope: "a"}); res.Session != "rolled_back" || res.SessionNote != "n" {
		t.Errorf("%+v", res)
	}
	// Whoever is stopped hears at once that it's rolled back; that it couldn't be, the next run tells.
	started := make(chan struct{})
	fake.do = func(ctx context.Context, _ *wsbridge.Conn, _ protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		close(started)
		<-ctx.Done()
		res := okResult("1")
		res.Session = protocol.SessionLost
		return res, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if res := e.Run(ctx, Request{Scope: "a"}); res.Error == nil || res.Error.Type != TypeCancelled || res.Session != "rolled_back" {
		t.Errorf("%+v %+v", res, res.Error)
	}
	fake.mu.Lock()
	fake.do, fake.runs = nil, map[string]int{}
	fake.mu.Unlock()
	if res := e.Run(t.Context(), Request{Scope: "a"}); res.Session != "new" || !strings.Contains(res.SessionNote, "stopped took it along") {
		t.Errorf("%+v", res)
	}
}

// Many runs of few scopes, with resets and ends of scopes in between: no two
// runs of one key overlap, and nothing hangs.
func TestSessionHammer(t *testing.T) {
	e, fake := newSessionExecutor(t, SessionOptions{MaxSessions: 3, MaxQueued: 100})
	var mu sync.Mutex
	under := map[string]bool{}
	fake.do = func(_ context.Context, _ *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		mu.Lock()
		if under[run.Session] {
			t.Errorf("two runs in %s", run.Session)
		}
		under[run.Session] = true
		mu.Unlock()
		mu.Lock()
		delete(under, run.Session)
		mu.Unlock()
		res := okResult("1")
		res.Session = protocol.SessionKept
		return res, nil
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 25 {
				scope := string(rune('a' + (i+n)%3))
				switch n % 10 {
				case 9:
					e.DropScope(scope)
				case 4:
					if _, err := e.ResetSession(t.Context(), scope, ""); err != nil {
						t.Error(err)
					}
				default:
					if res := e.Run(t.Context(), Request{Scope: scope}); !res.OK && !strings.Contains(res.Error.Message, "scope has ended") {
						t.Error(res.Error)
					}
				}
			}
		})
	}
	wg.Wait()
}
