package executor

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
	"github.com/toolplane/toolplane/wsbridge/wsbridgetest"
)

// testTimeout bounds every wait of a test. Machines that run tests are busy.
const testTimeout = time.Minute

// testHub is a hub with an HTTP server in front of it.
type testHub struct {
	*Hub
	network *wsbridgetest.Network
}

func serveHub(t *testing.T, h *Hub) *testHub {
	t.Helper()
	network := wsbridgetest.Serve(t, h)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Errorf("close the hub: %v", err)
		}
	})
	return &testHub{h, network}
}

func newTestHub(t *testing.T, o HubOptions) *testHub {
	t.Helper()
	if o.Dispatcher == nil {
		o.Dispatcher = DispatcherFunc(func(context.Context, Origin, string, json.RawMessage) (json.RawMessage, *capability.Error) {
			return nil, capability.Errorf(capability.RuntimeError, "TestError", "nobody expected a call")
		})
	}
	return serveHub(t, NewHub(o))
}

// dial opens a connection that has not said hello.
func (h *testHub) dial(t *testing.T, o wsbridge.Options) *wsbridge.Conn {
	t.Helper()
	c, err := h.tryDial(o)
	if err != nil {
		t.Fatal(err)
	}
	wsbridgetest.Cleanup(t, c)
	return c
}

func (h *testHub) tryDial(o wsbridge.Options) (*wsbridge.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	return wsbridge.Dial(ctx, "ws://host.test/ws", wsbridge.DialOptions{Options: o, HTTPClient: h.network.Client()})
}

// hello says hello with a token.
func hello(c *wsbridge.Conn, token string, change func(*protocol.HelloParams)) (*protocol.HelloResult, error) {
	params := protocol.HelloParams{
		Protocol: protocol.Version, Token: token, Client: protocol.Peer{Name: "test", Version: "1"},
		Kind: protocol.PageHeadless, CanExecute: true,
	}
	if change != nil {
		change(&params)
	}
	var out protocol.HelloResult
	return &out, call(c, protocol.MethodHello, params, &out)
}

// call sends a request and decodes its answer.
func call(c *wsbridge.Conn, method string, params, out any) error {
	raw, err := protocol.EncodePayload(params)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	answer, err := c.Call(ctx, method, raw)
	if err != nil || out == nil {
		return err
	}
	return protocol.DecodeResult(answer, out)
}

func notify(t *testing.T, c *wsbridge.Conn, method string, params any) {
	t.Helper()
	raw, err := protocol.EncodePayload(params)
	if err == nil {
		err = c.Notify(t.Context(), method, raw)
	}
	if err != nil {
		t.Error(err)
	}
}

// fakeRun is what a fake page does with a run.
type fakeRun func(ctx context.Context, c *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error)

// connectPage connects a page that has said hello and is ready.
func (h *testHub) connectPage(t *testing.T, o wsbridge.Options, do fakeRun) (*wsbridge.Conn, *page) {
	t.Helper()
	o.Handler = func(ctx context.Context, c *wsbridge.Conn, method string, params json.RawMessage) (json.RawMessage, error) {
		if method == protocol.MethodExecutorReset {
			return h.fakeReset(params)
		}
		if method != protocol.MethodExecutorRun {
			return nil, protocol.Errorf(protocol.CodeMethodNotFound, "the fake page doesn't know %s", method)
		}
		var run protocol.ExecutorRunParams
		if err := protocol.DecodeParams(params, &run); err != nil {
			return nil, err
		}
		res, err := do(ctx, c, run)
		if err != nil {
			return nil, err
		}
		return protocol.EncodePayload(res)
	}
	tk, token := h.tickets.issue(KindHeadless)
	c := h.dial(t, o)
	if _, err := hello(c, token, nil); err != nil {
		t.Fatalf("hello: %v", err)
	}
	notify(t, c, protocol.MethodExecutorStatus, protocol.ExecutorStatusParams{Ready: true, Pool: 2})
	p := <-tk.admitted
	select {
	case <-p.ready:
	case <-time.After(testTimeout):
		t.Fatal("the page isn't ready")
	}
	return c, p
}

// fakeResets has, by hub, what a test's page does with a reset: func(key string) (runs int).
var fakeResets sync.Map

// fakeReset answers executor.reset as the test says.
func (h *testHub) fakeReset(params json.RawMessage) (json.RawMessage, error) {
	var p protocol.ExecutorResetParams
	if err := protocol.DecodeParams(params, &p); err != nil {
		return nil, err
	}
	runs := 0
	if reset, ok := fakeResets.Load(h.Hub); ok {
		runs = reset.(func(string) int)(p.Session)
	}
	return protocol.EncodePayload(protocol.ExecutorResetResult{Runs: runs})
}

func okResult(value string) *protocol.ExecutorRunResult {
	return &protocol.ExecutorRunResult{OK: true, Value: json.RawMessage(value)}
}

// fixedSource always gives the same page, or the pages that next gives.
type fixedSource struct {
	next   func(context.Context) (*page, error)
	proved atomic.Int64
}

func (s *fixedSource) open(ctx context.Context) (*page, error) { return s.next(ctx) }
func (s *fixedSource) prove(*page)                             { s.proved.Add(1) }
func (s *fixedSource) processID() int                          { return 0 }
func (s *fixedSource) Close(context.Context) error             { return nil }

// newTestExecutor returns an executor that runs on one fake page.
func newTestExecutor(t *testing.T, o Options, do fakeRun) (*Executor, *wsbridge.Conn, *page) {
	t.Helper()
	o.NoHeadless = true
	if o.Hub.Dispatcher == nil {
		o.Hub.Dispatcher = DispatcherFunc(func(_ context.Context, _ Origin, _ string, args json.RawMessage) (json.RawMessage, *capability.Error) {
			return args, nil
		})
	}
	e := New(o)
	h := serveHub(t, e.hub)
	c, p := h.connectPage(t, wsbridge.Options{}, do)
	e.pages = &fixedSource{next: func(context.Context) (*page, error) { return p, nil }}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("close the executor: %v", err)
		}
	})
	return e, c, p
}

var _ http.Handler = (*Hub)(nil)
