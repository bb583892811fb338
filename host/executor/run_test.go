package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// lockedBuffer is a bytes.Buffer for several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// eventually polls for something that no channel tells.
func eventually(t *testing.T, ok func() bool, problem string) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(problem)
		}
	}
}

func TestRunCarriesEverything(t *testing.T) {
	const inputText = `{ "big": 9007199254740993, "f":1.0, "neg":-0.0, "t":"\u0000<&>" }`
	var got protocol.ExecutorRunParams
	e, _, _ := newTestExecutor(t, Options{MaxOutputBytes: 100, MaxCalls: 5, MaxCallsInFlight: 3}, func(_ context.Context, _ *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		got = run
		return &protocol.ExecutorRunResult{OK: true, Value: json.RawMessage(` [1.0, -0.0,"<\u00e9>"]`), Stdout: "out", Stderr: "err", OutputTruncated: true, Tampered: true, DurationMS: 1}, nil
	})
	res := e.Run(t.Context(), Request{
		RunID: "run-1", Scope: "s", Subject: "u", Code: "return 1", Filename: "a.py", Fresh: true, Timeout: 1500 * time.Millisecond,
		Inputs: map[string]json.RawMessage{"x": json.RawMessage(inputText)}, Previous: json.RawMessage("[ 1 ]"),
	})
	want := protocol.ExecutorRunParams{
		RunID: "run-1", Code: "return 1", Filename: "a.py", Fresh: true, TimeoutMS: 1500, MaxOutputBytes: 100, MaxCalls: 5, MaxCallsInFlight: 3,
		Inputs: got.Inputs, Previous: got.Previous,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || string(got.Inputs["x"]) != inputText || string(got.Previous) != "[ 1 ]" {
		t.Errorf("the page got %+v", got)
	}
	if !res.OK || res.Error != nil || res.Stdout != "out" || res.Stderr != "err" || !res.OutputTruncated || !res.Tampered ||
		res.RunID != "run-1" || res.Executor != "headless" || res.DurationMS <= 0 || res.Artifacts == nil {
		t.Errorf("result %+v", res)
	}
	text, err := res.JSON()
	if err != nil || !json.Valid(text) {
		t.Fatalf("%s: %v", text, err)
	}
	for _, part := range []string{`[1.0, -0.0,"<\u00e9>"]`, `"error":null`, `"artifacts":[]`, `"tampered":true`, `"executor":"headless"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the JSON of the result lacks %s:\n%s", part, text)
		}
	}
	if e.pages.(*fixedSource).proved.Load() != 1 {
		t.Error("the answered run was not told to the source")
	}
}

func TestRunDefaults(t *testing.T) {
	var got protocol.ExecutorRunParams
	e, _, _ := newTestExecutor(t, Options{}, func(_ context.Context, _ *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		got = run
		return okResult("null"), nil
	})
	res := e.Run(t.Context(), Request{Code: "1"})
	if !res.OK || string(res.Value) != "null" || !strings.HasPrefix(res.RunID, "run_") || len(res.RunID) < 30 {
		t.Errorf("result %+v", res)
	}
	if got.RunID != res.RunID || got.Filename != "snippet.py" || got.TimeoutMS != 30_000 || got.MaxCalls != 10_000 || got.MaxCallsInFlight != 32 || got.MaxOutputBytes != 10<<20 {
		t.Errorf("the page got %+v", got)
	}
}

func TestRunErrors(t *testing.T) {
	answer := func(res *protocol.ExecutorRunResult, err error) fakeRun {
		return func(context.Context, *wsbridge.Conn, protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
			return res, err
		}
	}
	python := &protocol.RunError{Type: "ZeroDivisionError", Builtin: "ZeroDivisionError", Message: "division by zero", Traceback: "Traceback…"}
	tests := []struct {
		name string
		o    Options
		page fakeRun
		req  Request
		want RunError
	}{
		{name: "Python error", page: answer(&protocol.ExecutorRunResult{Error: python}, nil),
			want: RunError{Type: "ZeroDivisionError", Builtin: "ZeroDivisionError", Message: "division by zero", Traceback: "Traceback…"}},
		{name: "not a result", page: answer(&protocol.ExecutorRunResult{OK: true, Error: python}, nil),
			want: RunError{Type: TypeExecutor, Builtin: "RuntimeError", Message: "isn't a result"}},
		{name: "refused by the page", page: answer(nil, protocol.Errorf(protocol.CodeInternal, "no Python interpreter")),
			want: RunError{Type: TypeExecutor, Builtin: "RuntimeError", Message: "no Python interpreter"}},
		{name: "page busy", page: answer(nil, protocol.Errorf(protocol.CodeBusy, "runs 16 snippets already")),
			want: RunError{Type: TypeBusy, Builtin: "RuntimeError", Message: "16 snippets"}},
		{name: "timeout too long", o: Options{MaxRunTimeout: time.Minute}, req: Request{Timeout: time.Hour},
			want: RunError{Type: TypeInvalidRequest, Builtin: "ValueError", Message: "max_run_timeout"}},
		{name: "negative timeout", req: Request{Timeout: -1}, want: RunError{Type: TypeInvalidRequest, Builtin: "ValueError", Message: "negative"}},
		{name: "input isn't JSON", req: Request{Inputs: map[string]json.RawMessage{"x": json.RawMessage("{")}},
			want: RunError{Type: TypeInvalidRequest, Builtin: "ValueError", Message: "inputs.x"}},
		{name: "too large", o: Options{Hub: HubOptions{MaxFrameBytes: 64 << 10}}, req: Request{Code: strings.Repeat("#", 100_000)},
			want: RunError{Type: TypeInvalidRequest, Builtin: "ValueError", Message: "max_frame_bytes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.page == nil {
				tt.page = answer(okResult("1"), nil)
			}
			e, _, _ := newTestExecutor(t, tt.o, tt.page)
			res := e.Run(t.Context(), tt.req)
			if res.OK || res.Error == nil || string(res.Value) != "null" {
				t.Fatalf("result %+v", res)
			}
			if res.Error.Type != tt.want.Type || res.Error.Builtin != tt.want.Builtin || !strings.Contains(res.Error.Message, tt.want.Message) || res.Error.Traceback != tt.want.Traceback {
				t.Errorf("error %+v, want %+v", res.Error, tt.want)
			}
			if e.Stats().Running != 0 {
				t.Error("the slot was not given back")
			}
		})
	}
}

// The calls that a run has in flight end with it, whatever ends it.
func TestOutputIsForwardedAndBounded(t *testing.T) {
	e, _, _ := newTestExecutor(t, Options{MaxOutputBytes: 10}, func(_ context.Context, c *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		for _, text := range []string{"hello ", "wörld", "!"} {
			notify(t, c, protocol.MethodRunOutput, protocol.RunOutputParams{RunID: run.RunID, Stream: "stdout", Text: text})
		}
		notify(t, c, protocol.MethodRunOutput, protocol.RunOutputParams{RunID: run.RunID, Stream: "stderr", Text: "oops"})
		return &protocol.ExecutorRunResult{OK: true, Value: json.RawMessage("1"), Stdout: "hello wörld!", Stderr: "oops"}, nil
	})
	got := map[string]string{}
	res := e.Run(t.Context(), Request{OnOutput: func(stream, text string) { got[stream] += text }})
	if got["stdout"] != "hello wör" || got["stderr"] != "oops" {
		t.Errorf("forwarded %q", got)
	}
	if res.Stdout != "hello wör" || !res.OutputTruncated {
		t.Errorf("result %+v", res)
	}
}

func TestCancelledRunIsAnsweredAtOnce(t *testing.T) {
	started, stopped, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	e, _, _ := newTestExecutor(t, Options{MaxConcurrentRuns: 1}, func(ctx context.Context, c *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		if run.Code == "next" {
			return okResult("2"), nil
		}
		notify(t, c, protocol.MethodRunOutput, protocol.RunOutputParams{RunID: run.RunID, Stream: "stderr", Text: "half"})
		close(started)
		<-ctx.Done() // $/cancelRequest
		close(stopped)
		<-release
		return nil, protocol.Errorf(protocol.CodeCancelled, "stopped")
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan *Result, 1)
	printed := make(chan struct{})
	go func() { done <- e.Run(ctx, Request{OnOutput: func(string, string) { close(printed) }}) }()
	<-started
	<-printed
	cancel()
	res := <-done
	if res.OK || res.Error.Type != TypeCancelled || res.Error.Builtin != "RuntimeError" || res.Stderr != "half" {
		t.Errorf("result %+v", res)
	}
	<-stopped
	// The page is still stopping the run, so its slot is not free yet.
	if n := e.Stats().Running; n != 1 {
		t.Errorf("%d runs are under way", n)
	}
	next := make(chan *Result, 1)
	go func() { next <- e.Run(context.Background(), Request{Code: "next"}) }()
	eventually(t, func() bool { return e.Stats().Queued == 1 }, "the next run doesn't wait")
	close(release)
	if res := <-next; !res.OK {
		t.Error(res.Error)
	}

	expired, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	if res := e.Run(expired, Request{}); res.Error == nil || res.Error.Type != TypeCancelled || !strings.Contains(res.Error.Message, "deadline") {
		t.Errorf("result %+v", res.Error)
	}
}

func TestStuckPageIsGivenUp(t *testing.T) {
	e, c, p := newTestExecutor(t, Options{Grace: 50 * time.Millisecond}, func(ctx context.Context, c *wsbridge.Conn, _ protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		<-c.Done()
		return nil, ctx.Err()
	})
	res := e.Run(t.Context(), Request{Timeout: 10 * time.Millisecond})
	if res.OK || res.Error.Type != TypeBrowser || !strings.Contains(res.Error.Message, "60ms") {
		t.Errorf("result %+v", res.Error)
	}
	_ = waitClosed(t, c)
	if err := p.reason(); err == nil || !strings.Contains(err.Error(), "did not answer") {
		t.Errorf("the page was lost because of %v", err)
	}
}

func TestLostPageEndsItsRuns(t *testing.T) {
	started := make(chan struct{}, 3)
	e, c, p := newTestExecutor(t, Options{}, func(ctx context.Context, c *wsbridge.Conn, _ protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		started <- struct{}{}
		<-c.Done()
		return nil, ctx.Err()
	})
	p.watch()
	done := make(chan *Result, 3)
	for range 3 {
		go func() { done <- e.Run(context.Background(), Request{}) }()
	}
	for range 3 {
		<-started
	}
	go func() {
		<-p.lost
		p.diagnose(errors.New("it stumbled"))
	}()
	_ = c.Close(1000, "")
	for range 3 {
		res := <-done
		if res.OK || res.Error.Type != TypeBrowser || !strings.Contains(res.Error.Message, "it stumbled") {
			t.Errorf("result %+v", res.Error)
		}
	}
	if res := e.Run(t.Context(), Request{}); res.OK || res.Error.Type != TypeBrowser {
		t.Errorf("a run on a page that is gone: %+v", res)
	}
}

func TestRunsAreBoundedAndDistinct(t *testing.T) {
	release := make(chan struct{})
	started := make(chan string, 10)
	e, _, _ := newTestExecutor(t, Options{MaxConcurrentRuns: 2, MaxQueuedRuns: 1}, func(_ context.Context, _ *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		started <- run.RunID
		<-release
		return okResult("1"), nil
	})
	done := make(chan *Result, 10)
	run := func(id string) { go func() { done <- e.Run(context.Background(), Request{RunID: id}) }() }
	run("a")
	run("b")
	<-started
	<-started
	if res := e.Run(t.Context(), Request{RunID: "a"}); res.Error == nil || res.Error.Type != TypeInvalidRequest {
		t.Errorf("the same id again: %+v", res.Error)
	}
	run("c")
	eventually(t, func() bool { return e.Stats().Queued == 1 }, "the third run doesn't wait")
	if res := e.Run(t.Context(), Request{RunID: "d"}); res.Error == nil || res.Error.Type != TypeBusy {
		t.Errorf("a fourth run: %+v", res.Error)
	}
	close(release)
	for range 3 {
		if res := <-done; !res.OK {
			t.Error(res.Error)
		}
	}
	if s := e.Stats(); s.Running != 0 || s.Queued != 0 || s.Pages != 1 {
		t.Errorf("at the end %+v", s)
	}
}

func TestCloseEndsRuns(t *testing.T) {
	started := make(chan struct{})
	e, _, _ := newTestExecutor(t, Options{}, func(ctx context.Context, c *wsbridge.Conn, _ protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		close(started)
		<-c.Done()
		return nil, ctx.Err()
	})
	done := make(chan *Result, 1)
	go func() { done <- e.Run(context.Background(), Request{}) }()
	<-started
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		t.Error(err)
	}
	if res := <-done; res.OK || res.Error.Type != TypeExecutor {
		t.Errorf("the run under way got %+v", res.Error)
	}
	if res := e.Run(t.Context(), Request{}); res.OK || res.Error.Type != TypeExecutor || !strings.Contains(res.Error.Message, "closing") {
		t.Errorf("a run after the end got %+v", res.Error)
	}
	if !e.Stats().Closed {
		t.Error("not closed")
	}
}

func TestNoExecutorAtAll(t *testing.T) {
	e := New(Options{NoHeadless: true, Hub: HubOptions{Dispatcher: DispatcherFunc(nil)}})
	defer func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if res := e.Run(t.Context(), Request{}); res.OK || res.Error.Type != TypeBrowser || !strings.Contains(res.Error.Message, "headless = false") {
		t.Errorf("got %+v", res.Error)
	}
}

// A run that starts after a change of the registry finds the new catalog.
func TestRunSeesTheLatestCatalog(t *testing.T) {
	registry := capability.NewRegistry()
	var newest atomic.Uint64
	e := New(Options{NoHeadless: true, Hub: HubOptions{Registry: registry, Dispatcher: DispatcherFunc(nil)}})
	h := serveHub(t, e.hub)
	_, p := h.connectPage(t, wsbridge.Options{OnNotification: func(_ context.Context, _ *wsbridge.Conn, _ string, params json.RawMessage) {
		var catalog protocol.Catalog
		if err := protocol.DecodeParams(params, &catalog); err != nil {
			t.Error(err)
		}
		newest.Store(catalog.Revision)
	}}, func(context.Context, *wsbridge.Conn, protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		return okResult(fmt.Sprint(newest.Load())), nil
	})
	e.pages = &fixedSource{next: func(context.Context) (*page, error) { return p, nil }}
	for i := range 20 {
		putTools(t, registry, fmt.Sprintf("tool%d", i))
		want := fmt.Sprint(registry.Revision())
		// The fake page's handlers run beside its notifications, so it may look
		// a moment early; the real one takes both in order.
		eventually(t, func() bool {
			res := e.Run(t.Context(), Request{})
			return string(res.Value) == want
		}, "the run doesn't see revision "+want)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
