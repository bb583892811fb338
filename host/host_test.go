package host

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/executor"
)

// TestCloseOrder: a run under way ends with an error, the server stops, and a
// second Close says the same.
func TestCloseOrder(t *testing.T) {
	logs := &logBuffer{}
	h := startHost(t, testConfig(), logs)
	if _, body := get(t, "GET", h.URL()+"/healthz"); body == "" {
		t.Fatal("the server isn't up")
	}
	select {
	case <-h.Done():
		t.Fatal("done before the end")
	default:
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := h.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	<-h.Done()
	if err := h.Err(); err != nil {
		t.Errorf("Err: %v", err)
	}
	if conn, err := net.Dial("tcp", h.Addr().String()); err == nil {
		_ = conn.Close()
		t.Error("the server still listens")
	}
	res := h.Run(ctx, executor.Request{Scope: "s", Code: "return 1"})
	if res.OK || res.Error == nil || res.Error.Type != executor.TypeExecutor {
		t.Errorf("a run after the end: %+v", res.Error)
	}
	if n := strings.Count(logs.String(), "host ended"); n != 1 {
		t.Errorf("ended %d times", n)
	}
}

// TestRunWithoutBrowser: what's missing is an error of the run, with the way out.
func TestRunWithoutBrowser(t *testing.T) {
	h := startHost(t, testConfig(), &logBuffer{})
	res := h.Run(t.Context(), executor.Request{Scope: "s", Code: "return 1"})
	if res.OK || res.Error == nil || res.Error.Type != executor.TypeBrowser || !strings.Contains(res.Error.Message, "[executor] headless") {
		t.Errorf("%+v", res.Error)
	}
	if string(res.Value) != "null" || res.RunID == "" || res.Artifacts == nil {
		t.Errorf("%+v", res)
	}
}

// TestRunWaitsForPlugins: the globals of a snippet are made of the plugins' tools.
func TestRunWaitsForPlugins(t *testing.T) {
	cfg := testConfig()
	cfg.Plugins["missing"] = missingPlugin(t)
	h := startHost(t, cfg, &logBuffer{})
	_ = h.Run(t.Context(), executor.Request{Scope: "s", Code: "return 1"})
	if states := h.Plugins(); len(states) != 1 || states[0].State != PluginFailed {
		t.Errorf("%+v", states)
	}
}

func TestResultStoreCanBeOff(t *testing.T) {
	cfg := testConfig()
	cfg.Results.Enabled = false
	h := startHost(t, cfg, &logBuffer{})
	if h.Results() != nil {
		t.Error("there is a store")
	}
	on := startHost(t, testConfig(), &logBuffer{})
	if on.Results() == nil || on.Bridge() == nil || on.Registry() == nil || on.Executor() == nil || on.Config() == nil {
		t.Error("a part is missing")
	}
}

func TestListen(t *testing.T) {
	ctx := t.Context()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	logs := &logBuffer{}
	for _, c := range []struct {
		name, address string
		o             listenOptions
		want          string // part of the error, "" for none
	}{
		{"loopback", "127.0.0.1:0", listenOptions{}, ""},
		{"localhost", "localhost:0", listenOptions{}, ""},
		{"everywhere", "0.0.0.0:0", listenOptions{}, "other machines could reach it: use 127.0.0.1, or allow it with [server] allow_remote = true"},
		{"everywhere on IPv6", "[::]:0", listenOptions{}, "other machines could reach it"},
		{"no address", ":0", listenOptions{}, "other machines could reach it"},
		{"everywhere, allowed", "0.0.0.0:0", listenOptions{allowRemote: true}, ""},
		{"in use", taken.Addr().String(), listenOptions{}, "another program (perhaps another toolplane) uses this port: end it, or choose another port"},
		{"in use, any port will do", taken.Addr().String(), listenOptions{anyPort: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.logger = logs.logger()
			l, err := listen(ctx, c.address, c.o)
			if err == nil {
				defer func() { _ = l.Close() }()
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err == nil && c.o.anyPort && l.Addr().String() == taken.Addr().String() {
				t.Error("the port that's in use was taken")
			}
		})
	}
}

func TestBaseURL(t *testing.T) {
	for _, c := range []struct {
		addr net.Addr
		want string
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, "http://127.0.0.1:80"},
		{&net.TCPAddr{IP: net.IPv4zero, Port: 80}, "http://127.0.0.1:80"},
		{&net.TCPAddr{IP: net.IPv6unspecified, Port: 80}, "http://127.0.0.1:80"},
		{&net.TCPAddr{IP: net.IPv6loopback, Port: 80}, "http://[::1]:80"},
		{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}, "http://10.0.0.1:80"},
	} {
		if got := baseURL(c.addr); got != c.want {
			t.Errorf("%v: %s, want %s", c.addr, got, c.want)
		}
	}
}

// TestConnectionsAreBounded: one above the limit is closed at once, and there's
// room again when another one ends.
func TestConnectionsAreBounded(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	logs := &logBuffer{}
	l := &limitedListener{Listener: inner, free: make(chan struct{}, 1), logger: logs.logger()}
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	first := <-accepted
	second := dial()
	if err := second.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var netErr net.Error
	if _, err := second.Read(make([]byte, 1)); err == nil || errors.As(err, &netErr) && netErr.Timeout() {
		t.Errorf("the connection above the limit isn't closed: %v", err)
	}
	for range 2 { // closing twice frees one place
		_ = first.Close()
	}
	dial()
	third := <-accepted
	_ = third.Close()
	_ = l.Close()
	for range accepted {
		t.Error("one more than was dialed")
	}
	if !strings.Contains(logs.String(), "too many connections") {
		t.Error("the limit isn't logged")
	}
}
