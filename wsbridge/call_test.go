package wsbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
	"github.com/toolplane/toolplane/wsbridge/wsbridgetest"
)

// pair connects two ends that differ in their handlers only.
func pair(t testing.TB, server, client wsbridge.Options) (serverConn, clientConn *wsbridge.Conn) {
	t.Helper()
	return wsbridgetest.Pair(t, wsbridge.AcceptOptions{Options: server}, wsbridge.DialOptions{Options: client})
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// echo answers with the params, verbatim.
func echo(_ context.Context, _ *wsbridge.Conn, _ string, params json.RawMessage) (json.RawMessage, error) {
	return params, nil
}

// hold is a handler that answers when it is told to.
type hold struct {
	started chan struct{}
	release chan struct{}
	causes  chan error
}

func newHold() *hold {
	return &hold{started: make(chan struct{}, 1000), release: make(chan struct{}), causes: make(chan error, 1000)}
}

func (h *hold) handle(ctx context.Context, _ *wsbridge.Conn, _ string, params json.RawMessage) (json.RawMessage, error) {
	h.started <- struct{}{}
	select {
	case <-h.release:
		return params, nil
	case <-ctx.Done():
		h.causes <- context.Cause(ctx)
		return nil, errors.New("stopped")
	}
}

func wantCode(t *testing.T, err error, code int, words ...string) {
	t.Helper()
	var rpcErr *protocol.Error
	if !errors.As(err, &rpcErr) {
		t.Fatalf("got %v (%T), want *protocol.Error with code %d", err, err, code)
	}
	if rpcErr.Code != code {
		t.Errorf("code %d (%v), want %d", rpcErr.Code, err, code)
	}
	for _, word := range words {
		if !strings.Contains(rpcErr.Message, word) {
			t.Errorf("message %q doesn't mention %q", rpcErr.Message, word)
		}
	}
}

// usable fails the test when the connection is.
func usable(t *testing.T, c *wsbridge.Conn) {
	t.Helper()
	got, err := c.Call(testContext(t), "echo", json.RawMessage(`{"still":"here"}`))
	if err != nil || string(got) != `{"still":"here"}` {
		t.Fatalf("connection isn't usable any more: %s, %v", got, err)
	}
}

func TestCallBothDirections(t *testing.T) {
	server, client := pair(t, wsbridge.Options{Handler: echo}, wsbridge.Options{Handler: echo})
	for name, c := range map[string]*wsbridge.Conn{"server": server, "client": client} {
		t.Run(name, func(t *testing.T) {
			for _, params := range []string{`{}`, `{ "a" : 1.0,"a":-0.0 , "b":"\u0041/\/"}`, "{\"n\":12345678901234567890123 ,\n\t\"x\":[ ]}"} {
				got, err := c.Call(testContext(t), "echo", json.RawMessage(params))
				if err != nil || string(got) != params {
					t.Errorf("got %q, %v, want %q", got, err, params)
				}
			}
			got, err := c.Call(testContext(t), "echo", nil)
			if err != nil || string(got) != "null" {
				t.Errorf("call without params: got %q, %v, want null", got, err)
			}
		})
	}
}

// A handler can call back while it is being waited for, to any depth below the limit.
func TestCallsNest(t *testing.T) {
	var handler wsbridge.Handler = func(ctx context.Context, c *wsbridge.Conn, method string, params json.RawMessage) (json.RawMessage, error) {
		var p struct {
			Depth int64 `json:"depth"`
		}
		if err := protocol.DecodeParams(params, &p); err != nil || p.Depth == 0 {
			return json.RawMessage(`"bottom"`), err
		}
		p.Depth--
		deeper, err := protocol.EncodePayload(p)
		if err != nil {
			return nil, err
		}
		return c.Call(ctx, method, deeper)
	}
	_, client := pair(t, wsbridge.Options{Handler: handler}, wsbridge.Options{Handler: handler})
	got, err := client.Call(testContext(t), "down", json.RawMessage(`{"depth":60}`))
	if err != nil || string(got) != `"bottom"` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestHandlerErrors(t *testing.T) {
	given := &protocol.Error{Code: protocol.CodeTool, Message: "no such handle",
		Data: &protocol.ErrorData{Builtin: "ValueError", Type: "ResultStoreError", Extra: map[string]json.RawMessage{"limit": json.RawMessage(`1.0`)}}}
	handlers := map[string]wsbridge.Handler{
		"given": func(context.Context, *wsbridge.Conn, string, json.RawMessage) (json.RawMessage, error) {
			return nil, given
		},
		"plain": func(context.Context, *wsbridge.Conn, string, json.RawMessage) (json.RawMessage, error) {
			return nil, errors.New("disk is full")
		},
		"panic": func(context.Context, *wsbridge.Conn, string, json.RawMessage) (json.RawMessage, error) {
			panic("secret")
		},
		"garbage": func(context.Context, *wsbridge.Conn, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`1}`), nil
		},
		"empty": func(context.Context, *wsbridge.Conn, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage{}, nil
		},
		"badcode": func(context.Context, *wsbridge.Conn, string, json.RawMessage) (json.RawMessage, error) {
			return nil, &protocol.Error{Code: 1 << 40, Message: "odd"}
		},
		"echo": echo,
	}
	_, client := pair(t, wsbridge.Options{Handler: func(ctx context.Context, c *wsbridge.Conn, method string, params json.RawMessage) (json.RawMessage, error) {
		return handlers[method](ctx, c, method, params)
	}}, wsbridge.Options{})
	ctx := testContext(t)

	_, err := client.Call(ctx, "given", nil)
	wantCode(t, err, protocol.CodeTool, "no such handle")
	var got *protocol.Error
	errors.As(err, &got)
	if got.Data.Builtin != "ValueError" || got.Data.Type != "ResultStoreError" || string(got.Data.Extra["limit"]) != "1.0" {
		t.Errorf("data arrived as %+v", got.Data)
	}
	_, err = client.Call(ctx, "plain", nil)
	wantCode(t, err, protocol.CodeInternal, "plain", "disk is full")
	_, err = client.Call(ctx, "panic", nil)
	wantCode(t, err, protocol.CodeInternal, "panic", "see the log")
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the panic's text reached the peer: %v", err)
	}
	_, err = client.Call(ctx, "garbage", nil)
	wantCode(t, err, protocol.CodeInternal, "isn't JSON")
	_, err = client.Call(ctx, "empty", nil)
	wantCode(t, err, protocol.CodeInternal, "isn't JSON")
	_, err = client.Call(ctx, "badcode", nil)
	wantCode(t, err, protocol.CodeInternal, "odd")
	usable(t, client)
}

func TestNoHandler(t *testing.T) {
	server, _ := pair(t, wsbridge.Options{}, wsbridge.Options{})
	_, err := server.Call(testContext(t), "anything", nil)
	wantCode(t, err, protocol.CodeMethodNotFound)
}

func TestCallRefusesBeforeSending(t *testing.T) {
	_, client := pair(t, wsbridge.Options{Handler: echo}, wsbridge.Options{})
	ctx := testContext(t)
	for _, params := range []string{``, ` `, `[]`, `7`, `{`, `{}}`, `{"a":1,}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{},"id":9`} {
		_, err := client.Call(ctx, "echo", json.RawMessage(params))
		wantCode(t, err, protocol.CodeInvalidParams, "echo")
		wantCode(t, client.Notify(ctx, "echo", json.RawMessage(params)), protocol.CodeInvalidParams, "echo")
	}
	for _, method := range []string{"", strings.Repeat("m", 129), "\xff"} {
		_, err := client.Call(ctx, method, nil)
		wantCode(t, err, protocol.CodeInvalidParams, "method name")
	}
	if client.Pending() != 0 {
		t.Errorf("%d refused calls count as in flight", client.Pending())
	}
	usable(t, client)
}

func TestCancelReachesTheHandler(t *testing.T) {
	held := newHold()
	server, client := pair(t, wsbridge.Options{Handler: held.handle}, wsbridge.Options{Handler: held.handle})
	for name, c := range map[string]*wsbridge.Conn{"server": server, "client": client} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(testContext(t))
			result := make(chan error, 1)
			go func() {
				_, err := c.Call(ctx, "hold", nil)
				result <- err
			}()
			<-held.started
			cancel()
			if err := <-result; !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled call returned %v", err)
			}
			if cause := <-held.causes; !errors.Is(cause, wsbridge.ErrCancelled) {
				t.Errorf("handler's context ended with %v", cause)
			}
		})
	}
}

func TestDeadlineOfCall(t *testing.T) {
	held := newHold()
	_, client := pair(t, wsbridge.Options{Handler: held.handle}, wsbridge.Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := client.Call(ctx, "hold", nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "hold") {
		t.Errorf("got %v", err)
	}
	if cause := <-held.causes; !errors.Is(cause, wsbridge.ErrCancelled) {
		t.Errorf("handler's context ended with %v", cause)
	}
}

func TestCallWaitTakesTheAnswerAfterCancelling(t *testing.T) {
	late := func(ctx context.Context, _ *wsbridge.Conn, method string, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		if method == "refuse" {
			return nil, errors.New("stopped by request")
		}
		return json.RawMessage(`"partial"`), nil
	}
	_, client := pair(t, wsbridge.Options{Handler: late}, wsbridge.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancelled := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	got, err := client.CallWait(cancelled(), 20*time.Second, "late", nil)
	if err != nil || string(got) != `"partial"` {
		t.Errorf("got %s, %v", got, err)
	}
	_, err = client.CallWait(cancelled(), 20*time.Second, "refuse", nil)
	wantCode(t, err, protocol.CodeCancelled, "stopped by request")
	cancel()
	if _, err = client.CallWait(ctx, time.Minute, "late", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("call with an ended context returned %v", err)
	}
}

// A cancelled request holds its slot until the peer answers, and then frees it.
func TestInFlightLimit(t *testing.T) {
	const limit = 3
	stubborn := newHold()
	handle := func(_ context.Context, _ *wsbridge.Conn, method string, params json.RawMessage) (json.RawMessage, error) {
		if method == "echo" {
			return params, nil
		}
		stubborn.started <- struct{}{}
		<-stubborn.release
		return nil, nil
	}
	_, client := pair(t, wsbridge.Options{Handler: handle}, wsbridge.Options{MaxInFlight: limit})
	ctx, cancel := context.WithCancel(testContext(t))
	var calls sync.WaitGroup
	for range limit {
		calls.Go(func() {
			if _, err := client.Call(ctx, "hold", nil); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		<-stubborn.started
	}
	_, err := client.Call(testContext(t), "echo", nil)
	wantCode(t, err, protocol.CodeBusy, "3 requests")
	cancel()
	calls.Wait()
	_, err = client.Call(testContext(t), "echo", nil)
	wantCode(t, err, protocol.CodeBusy)
	close(stubborn.release)
	waitFor(t, func() bool { return client.Pending() == 0 })
	usable(t, client)
}

// waitFor polls a condition that no channel tells of.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("condition never came true")
		}
	}
}
