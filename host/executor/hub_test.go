package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

func codeOf(err error) int {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func waitClosed(t *testing.T, c *wsbridge.Conn) *wsbridge.CloseError {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(testTimeout):
		t.Fatal("the connection is still open")
	}
	var closed *wsbridge.CloseError
	if !errors.As(c.Err(), &closed) {
		t.Fatalf("closed with %v", c.Err())
	}
	return closed
}

func TestHelloTellsLimitsAndCatalog(t *testing.T) {
	registry := capability.NewRegistry()
	putTools(t, registry, "list")
	h := newTestHub(t, HubOptions{Registry: registry, Name: "toolplane", Version: "1.2", MaxFrameBytes: 1 << 20, MaxInFlight: 7})
	tk, token := h.tickets.issue(KindHeadless)
	got, err := hello(h.dial(t, wsbridge.Options{}), token, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Server != (protocol.Peer{Name: "toolplane", Version: "1.2"}) || got.Limits != (protocol.Limits{MaxFrameBytes: 1 << 20, MaxInFlight: 7}) {
		t.Errorf("server %v, limits %v", got.Server, got.Limits)
	}
	if got.Catalog.Revision != registry.Revision() || len(got.Catalog.Bindings) != 1 || got.Catalog.Bindings[0].Name != "plugin:demo/list" {
		t.Errorf("catalog %+v, registry at %d", got.Catalog, registry.Revision())
	}
	if p := <-tk.admitted; p.kindOf() != KindHeadless || !p.canExecute() {
		t.Errorf("admitted as %q, can execute: %v", p.kindOf(), p.canExecute())
	}
	if h.Pages() != 1 {
		t.Errorf("%d pages", h.Pages())
	}
}

func TestHelloIsRequired(t *testing.T) {
	type attempt func(h *testHub, c *wsbridge.Conn) error
	before := func(method string, params any) attempt {
		return func(_ *testHub, c *wsbridge.Conn) error { return call(c, method, params, nil) }
	}
	with := func(kind Kind, change func(*protocol.HelloParams)) attempt {
		return func(h *testHub, c *wsbridge.Conn) error {
			_, token := h.tickets.issue(kind)
			_, err := hello(c, token, change)
			return err
		}
	}
	tests := []struct {
		name   string
		do     attempt
		code   int
		closes bool
	}{
		{"tool call first", before(protocol.MethodToolCall, protocol.ToolCallParams{RunID: "r", Name: "plugin:demo/list", Arguments: json.RawMessage("{}")}), protocol.CodeUnauthenticated, true},
		{"unknown method first", before("session.nope", struct{}{}), protocol.CodeUnauthenticated, true},
		{"wrong token", with(KindHeadless, func(p *protocol.HelloParams) { p.Token = strings.Repeat("A", 43) }), protocol.CodeUnauthenticated, true},
		{"empty token", with(KindHeadless, func(p *protocol.HelloParams) { p.Token = "" }), protocol.CodeUnauthenticated, true},
		{"token of another kind", with(KindConsole, nil), protocol.CodeUnauthenticated, true},
		{"unknown kind", with(KindHeadless, func(p *protocol.HelloParams) { p.Kind = "robot" }), protocol.CodeInvalidParams, false},
		{"other protocol", with(KindHeadless, func(p *protocol.HelloParams) { p.Protocol = "toolplane.v2" }), protocol.CodeInvalidParams, false},
		{"missing members", before(protocol.MethodHello, struct{}{}), protocol.CodeInvalidParams, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newTestHub(t, HubOptions{})
			c := h.dial(t, wsbridge.Options{})
			err := tt.do(h, c)
			if codeOf(err) != tt.code {
				t.Fatalf("got %v, want code %d", err, tt.code)
			}
			if tt.closes {
				if closed := waitClosed(t, c); closed.Code != closePolicy {
					t.Errorf("closed with %v", closed)
				}
			} else if _, token := h.tickets.issue(KindHeadless); true {
				if _, err := hello(c, token, nil); err != nil {
					t.Errorf("a hello that was only malformed can't be said again: %v", err)
				}
			}
			if n := h.Pages(); tt.closes && n != 0 {
				t.Errorf("%d pages are connected", n)
			}
		})
	}
}

func TestTokenAdmitsOneConnection(t *testing.T) {
	h := newTestHub(t, HubOptions{})
	_, token := h.tickets.issue(KindHeadless)
	first := h.dial(t, wsbridge.Options{})
	if _, err := hello(first, token, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := hello(first, token, nil); codeOf(err) != protocol.CodeInvalidRequest {
		t.Errorf("a second hello got %v", err)
	}
	if _, err := hello(h.dial(t, wsbridge.Options{}), token, nil); codeOf(err) != protocol.CodeUnauthenticated {
		t.Errorf("the same token again got %v", err)
	}
	if h.Pages() != 1 {
		t.Errorf("%d pages", h.Pages())
	}
}

func TestHelloTimeout(t *testing.T) {
	h := newTestHub(t, HubOptions{HelloTimeout: 50 * time.Millisecond})
	silent := h.dial(t, wsbridge.Options{})
	_, token := h.tickets.issue(KindHeadless)
	polite := h.dial(t, wsbridge.Options{})
	if _, err := hello(polite, token, nil); err != nil {
		t.Fatal(err)
	}
	if closed := waitClosed(t, silent); closed.Code != closePolicy || !strings.Contains(closed.Reason, "session.hello") {
		t.Errorf("closed with %v", closed)
	}
	if err := call(polite, "anything", struct{}{}, nil); codeOf(err) != protocol.CodeMethodNotFound {
		t.Errorf("the page that said hello got %v", err)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	h := newTestHub(t, HubOptions{MaxPages: 2, MaxPending: 3})
	var silent []*wsbridge.Conn
	for range 3 {
		silent = append(silent, h.dial(t, wsbridge.Options{}))
	}
	if _, err := h.tryDial(wsbridge.Options{}); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("a fourth silent connection got %v", err)
	}
	for i, c := range silent {
		_, token := h.tickets.issue(KindHeadless)
		_, err := hello(c, token, nil)
		if i < 2 && err != nil {
			t.Errorf("page %d: %v", i, err)
		}
		if i == 2 {
			if codeOf(err) != protocol.CodeBusy || !strings.Contains(err.Error(), "2 pages") {
				t.Errorf("page %d got %v", i, err)
			}
			if closed := waitClosed(t, c); closed.Code != closeTryLater {
				t.Errorf("closed with %v", closed)
			}
		}
	}
	// Room again when a page goes.
	if err := silent[0].Close(1000, "bye"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return h.Pages() == 1 }, "the page that left is still counted")
	_, token := h.tickets.issue(KindHeadless)
	if _, err := hello(h.dial(t, wsbridge.Options{}), token, nil); err != nil {
		t.Errorf("after one left: %v", err)
	}
}

func TestOriginIsChecked(t *testing.T) {
	h := newTestHub(t, HubOptions{CheckOrigin: func(r *http.Request) error {
		if r.Header.Get("Origin") != "http://host.test" {
			return errors.New("not from here")
		}
		return nil
	}})
	if _, err := h.tryDial(wsbridge.Options{}); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("without the right origin: %v", err)
	}
}

func TestUnknownMethods(t *testing.T) {
	h := newTestHub(t, HubOptions{})
	c, _ := h.connectPage(t, wsbridge.Options{}, nil)
	for _, method := range []string{"executor.run", "Tool.call", "session.bye", strings.Repeat("x", 128)} {
		err := call(c, method, struct{}{}, nil)
		if codeOf(err) != protocol.CodeMethodNotFound || !strings.Contains(err.Error(), protocol.MethodToolCall) || len(err.Error()) > 300 {
			t.Errorf("%s got %v", method, err)
		}
	}
	notify(t, c, "no.such.notification", struct{}{})
	notify(t, c, protocol.MethodRunOutput, protocol.RunOutputParams{RunID: "nobody's", Stream: "stdout", Text: "x"})
	if err := call(c, "still.there", struct{}{}, nil); codeOf(err) != protocol.CodeMethodNotFound {
		t.Errorf("after bad notifications: %v", err)
	}
}

func TestCatalogChanges(t *testing.T) {
	registry := capability.NewRegistry()
	putTools(t, registry, "list")
	h := newTestHub(t, HubOptions{Registry: registry})
	catalogs := make(chan protocol.Catalog, 100)
	c, _ := h.connectPage(t, wsbridge.Options{OnNotification: func(_ context.Context, _ *wsbridge.Conn, method string, params json.RawMessage) {
		var catalog protocol.Catalog
		if err := protocol.DecodeParams(params, &catalog); err != nil || method != protocol.MethodCatalogChanged {
			t.Errorf("%s: %v", method, err)
		}
		catalogs <- catalog
	}}, nil)
	names := []string{"list", "get"}
	putTools(t, registry, names...)
	last := uint64(0)
	wait := func(n int) {
		t.Helper()
		for {
			select {
			case catalog := <-catalogs:
				if catalog.Revision <= last {
					t.Errorf("revision %d after %d", catalog.Revision, last)
				}
				last = catalog.Revision
				if len(catalog.Bindings) == n {
					return
				}
			case <-time.After(testTimeout):
				t.Fatalf("no catalog with %d bindings", n)
			}
		}
	}
	wait(2)
	// Many changes are told in as many messages or fewer, and the last one is the last.
	for i := range 50 {
		names = append(names, fmt.Sprintf("tool%d", i))
		putTools(t, registry, names...)
	}
	wait(52)
	if last != registry.Revision() {
		t.Errorf("revision %d, registry at %d", last, registry.Revision())
	}

	// A page that is still without the answer to its hello is told nothing.
	early := make(chan string, 10)
	_, token := h.tickets.issue(KindHeadless)
	quiet := h.dial(t, wsbridge.Options{OnNotification: func(_ context.Context, _ *wsbridge.Conn, method string, _ json.RawMessage) { early <- method }})
	putTools(t, registry, "list")
	wait(1)
	if _, err := hello(quiet, token, nil); err != nil {
		t.Fatal(err)
	}
	putTools(t, registry, "list", "get")
	wait(2)
	select {
	case method := <-early:
		t.Errorf("a page that has not shown that it got its hello was sent %s", method)
	default:
	}
	notify(t, quiet, protocol.MethodExecutorStatus, protocol.ExecutorStatusParams{})
	select {
	case <-early:
	case <-time.After(testTimeout):
		t.Error("the change in between was never told")
	}
	_ = c
}

func TestHubCloseEndsConnections(t *testing.T) {
	h := newTestHub(t, HubOptions{})
	silent := h.dial(t, wsbridge.Options{})
	c, p := h.connectPage(t, wsbridge.Options{}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for _, conn := range []*wsbridge.Conn{silent, c} {
		if closed := waitClosed(t, conn); closed.Code != closeGoingAway {
			t.Errorf("closed with %v", closed)
		}
	}
	<-p.lost
	if _, err := h.tryDial(wsbridge.Options{}); err == nil {
		t.Error("a closed hub accepted a connection")
	}
	if err := h.Close(ctx); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

func TestTokenIsNeverLogged(t *testing.T) {
	var log lockedBuffer
	h := newTestHub(t, HubOptions{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	_, token := h.tickets.issue(KindHeadless)
	if _, err := hello(h.dial(t, wsbridge.Options{}), token+"x", nil); codeOf(err) != protocol.CodeUnauthenticated || strings.Contains(err.Error(), token) {
		t.Errorf("got %v", err)
	}
	if _, err := hello(h.dial(t, wsbridge.Options{}), token, nil); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); strings.Contains(text, token) || !strings.Contains(text, "page refused") || !strings.Contains(text, "page connected") {
		t.Errorf("log:\n%s", text)
	}
}

// putTools makes the demo plugin's tools those.
func putTools(t *testing.T, r *capability.Registry, tools ...string) {
	t.Helper()
	var caps []capability.Capability
	for _, tool := range tools {
		caps = append(caps, capability.Capability{Name: "plugin:demo/" + tool, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	if err := r.Put(demoProvider{}, caps); err != nil {
		t.Fatal(err)
	}
}

type demoProvider struct{}

func (demoProvider) ID() string { return "plugin:demo" }
func (demoProvider) Call(context.Context, capability.Invocation) (capability.Answer, error) {
	return capability.Answer{Value: json.RawMessage("1")}, nil
}
