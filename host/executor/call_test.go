package executor

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

func toolCall(c *wsbridge.Conn, runID, name, args string) (string, error) {
	var out protocol.ToolCallResult
	err := call(c, protocol.MethodToolCall, protocol.ToolCallParams{RunID: runID, Name: name, Arguments: json.RawMessage(args)}, &out)
	return string(out.Value), err
}

func TestCallsUseTheRunsOwnScope(t *testing.T) {
	type seen struct {
		from Origin
		name string
		args string
	}
	calls := make(chan seen, 10)
	dispatcher := DispatcherFunc(func(_ context.Context, from Origin, name string, args json.RawMessage) (json.RawMessage, *capability.Error) {
		calls <- seen{from, name, string(args)}
		return json.RawMessage(`{"n": 1.0}`), nil
	})
	e, c, _ := newTestExecutor(t, Options{Hub: HubOptions{Dispatcher: dispatcher}}, func(_ context.Context, c *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		value, err := toolCall(c, run.RunID, "plugin:demo/list", `{"scope":"mine", "n":1.0}`)
		if err != nil {
			return nil, err
		}
		return okResult(value), nil
	})
	for _, scope := range []string{"one", "two"} {
		res := e.Run(t.Context(), Request{RunID: "run-" + scope, Scope: scope, Subject: "user-" + scope})
		if !res.OK || string(res.Value) != `{"n": 1.0}` {
			t.Fatalf("result %+v %+v", res, res.Error)
		}
		want := seen{Origin{Scope: scope, Subject: "user-" + scope, RunID: "run-" + scope}, "plugin:demo/list", `{"scope":"mine", "n":1.0}`}
		if got := <-calls; got != want {
			t.Errorf("dispatched %+v, want %+v", got, want)
		}
	}
	// The runs are over: nothing can be called in their names.
	for _, id := range []string{"run-one", "run-two", "run-three"} {
		_, err := toolCall(c, id, "plugin:demo/list", `{}`)
		if codeOf(err) != protocol.CodeTool || !strings.Contains(err.Error(), "no such run") {
			t.Errorf("a call for %s got %v", id, err)
		}
	}
	if len(calls) != 0 {
		t.Errorf("%d calls were dispatched for runs that are over", len(calls))
	}
}

func TestRunOfAnotherConnectionIsRefused(t *testing.T) {
	var dispatched atomic.Int64
	dispatcher := DispatcherFunc(func(context.Context, Origin, string, json.RawMessage) (json.RawMessage, *capability.Error) {
		dispatched.Add(1)
		return json.RawMessage("1"), nil
	})
	running, finish := make(chan string), make(chan struct{})
	e, own, _ := newTestExecutor(t, Options{Hub: HubOptions{Dispatcher: dispatcher}}, func(_ context.Context, _ *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		running <- run.RunID
		<-finish
		return okResult("1"), nil
	})
	h := serveHub(t, e.hub)
	other, _ := h.connectPage(t, wsbridge.Options{}, nil)
	done := make(chan *Result)
	go func() { done <- e.Run(context.Background(), Request{Scope: "victim"}) }()
	id := <-running

	_, foreign := toolCall(other, id, "plugin:demo/list", "{}")
	_, unknown := toolCall(other, "run_0", "plugin:demo/list", "{}")
	if foreign == nil || unknown == nil || foreign.Error() != unknown.Error() || codeOf(foreign) != protocol.CodeTool {
		t.Errorf("another connection's run got %v, an unknown one %v", foreign, unknown)
	}
	notify(t, other, protocol.MethodRunOutput, protocol.RunOutputParams{RunID: id, Stream: "stdout", Text: "forged"})
	if _, err := toolCall(own, id, "plugin:demo/list", "{}"); err != nil || dispatched.Load() != 1 {
		t.Errorf("its own connection got %v after %d dispatches", err, dispatched.Load())
	}
	close(finish)
	<-done
}

func TestToolErrorsAreMapped(t *testing.T) {
	for _, want := range []capability.Error{
		{Builtin: capability.ValueError, Type: "ResultStoreError", Message: "no such handle"},
		{Builtin: capability.PermissionError, Type: "PolicyError", Message: "not allowed"},
		{Builtin: capability.LookupError, Type: "UnknownCapabilityError", Message: "unknown"},
	} {
		dispatcher := DispatcherFunc(func(context.Context, Origin, string, json.RawMessage) (json.RawMessage, *capability.Error) {
			return nil, &want
		})
		e, _, _ := newTestExecutor(t, Options{Hub: HubOptions{Dispatcher: dispatcher}}, func(_ context.Context, c *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
			_, err := toolCall(c, run.RunID, "plugin:demo/list", "{}")
			var got *protocol.Error
			if !errors.As(err, &got) || got.Code != protocol.CodeTool || got.Message != want.Message || got.Data.Builtin != string(want.Builtin) || got.Data.Type != want.Type {
				t.Errorf("the page got %#v, want %v", err, want)
			}
			return okResult("1"), nil
		})
		e.Run(t.Context(), Request{})
	}
}

func TestAnswerTooLargeForAFrame(t *testing.T) {
	dispatcher := DispatcherFunc(func(context.Context, Origin, string, json.RawMessage) (json.RawMessage, *capability.Error) {
		return json.RawMessage(`"` + strings.Repeat("x", 70_000) + `"`), nil
	})
	e, _, _ := newTestExecutor(t, Options{Hub: HubOptions{Dispatcher: dispatcher, MaxFrameBytes: 64 << 10}}, func(_ context.Context, c *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		_, err := toolCall(c, run.RunID, "plugin:demo/list", "{}")
		var got *protocol.Error
		if !errors.As(err, &got) || got.Data.Type != "AnswerTooLargeError" || !strings.Contains(got.Message, "max_frame_bytes") {
			t.Errorf("the page got %v", err)
		}
		return okResult("1"), nil
	})
	if res := e.Run(t.Context(), Request{}); !res.OK {
		t.Errorf("the run ended with %v", res.Error)
	}
}

func TestCallLimits(t *testing.T) {
	release := make(chan struct{})
	var inFlight, most atomic.Int64
	dispatcher := DispatcherFunc(func(_ context.Context, _ Origin, _ string, args json.RawMessage) (json.RawMessage, *capability.Error) {
		most.Store(max(most.Load(), inFlight.Add(1)))
		defer inFlight.Add(-1)
		<-release
		return args, nil
	})
	e, _, _ := newTestExecutor(t, Options{Hub: HubOptions{Dispatcher: dispatcher}, MaxCalls: 5, MaxCallsInFlight: 2}, func(_ context.Context, c *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		errs := make(chan error, 2)
		for range 2 {
			go func() { _, err := toolCall(c, run.RunID, "plugin:demo/list", "{}"); errs <- err }()
		}
		eventually(t, func() bool { return inFlight.Load() == 2 }, "two calls are not in flight")
		if _, err := toolCall(c, run.RunID, "plugin:demo/list", "{}"); err == nil || !strings.Contains(err.Error(), "max_calls_in_flight") {
			t.Errorf("a third call in flight got %v", err)
		}
		close(release)
		for range 2 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		for i := 3; i <= 7; i++ {
			_, err := toolCall(c, run.RunID, "plugin:demo/list", "{}")
			if refused := err != nil && strings.Contains(err.Error(), "max_calls"); refused != (i > 5) {
				t.Errorf("call %d got %v", i, err)
			}
		}
		return okResult("1"), nil
	})
	if res := e.Run(t.Context(), Request{}); !res.OK {
		t.Error(res.Error)
	}
	if most.Load() != 2 {
		t.Errorf("%d calls were in flight", most.Load())
	}
}

func TestCallsEndWithTheirRun(t *testing.T) {
	for name, end := range map[string]func(cancel context.CancelFunc, c *wsbridge.Conn, finish chan struct{}){
		"answered":  func(_ context.CancelFunc, _ *wsbridge.Conn, finish chan struct{}) { close(finish) },
		"cancelled": func(cancel context.CancelFunc, _ *wsbridge.Conn, _ chan struct{}) { cancel() },
		"page gone": func(_ context.CancelFunc, c *wsbridge.Conn, _ chan struct{}) { _ = c.Close(1000, "bye") },
	} {
		t.Run(name, func(t *testing.T) {
			started, ended := make(chan struct{}), make(chan error, 1)
			dispatcher := DispatcherFunc(func(ctx context.Context, _ Origin, _ string, _ json.RawMessage) (json.RawMessage, *capability.Error) {
				close(started)
				<-ctx.Done()
				ended <- ctx.Err()
				return nil, capability.AsError(ctx.Err())
			})
			finish := make(chan struct{})
			e, c, _ := newTestExecutor(t, Options{Hub: HubOptions{Dispatcher: dispatcher}}, func(ctx context.Context, c *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
				go func() { _, _ = toolCall(c, run.RunID, "plugin:demo/list", "{}") }()
				select {
				case <-finish:
				case <-ctx.Done():
				}
				return okResult("1"), nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan *Result, 1)
			go func() { done <- e.Run(ctx, Request{}) }()
			<-started
			end(cancel, c, finish)
			select {
			case err := <-ended:
				if err == nil {
					t.Error("the call ended with a context that lives")
				}
			case <-time.After(testTimeout):
				t.Fatal("the call goes on after its run")
			}
			<-done
		})
	}
}
