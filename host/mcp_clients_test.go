package host

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolplane/toolplane/config"
)

// TestBadClientsHarmNobody: whatever one client does, another one's calls go on.
func TestBadClientsHarmNobody(t *testing.T) {
	m := startMCP(t, func(c *config.Config) { c.Server.MaxFrameBytes, c.Server.MaxInFlight = 1<<20, 4 })
	m.runner.started = make(chan struct{}, 16)
	good := m.connect(t, testSecret)
	handle, err := save(t.Context(), good, "good")
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string]string{"Mcp-Session-Id": m.begin(t, nil)}
	wait := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"wait"}}}`, id)
	}
	hang := func(ctx context.Context, body string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL()+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + testSecret}, "Mcp-Session-Id": {bad["Mcp-Session-Id"]}}
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		if res, err := transport.RoundTrip(req); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
	}
	var hanging sync.WaitGroup
	defer hanging.Wait()
	ctx, disconnect := context.WithCancel(t.Context())
	defer disconnect()
	for name, do := range map[string]func(t *testing.T){
		"disconnects in mid-run": func(t *testing.T) {
			one, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); hang(one, wait(1000)) }()
			<-m.runner.started
			cancel()
			<-done
		},
		"reuses an id": func(t *testing.T) {
			hanging.Go(func() { hang(ctx, wait(7)) })
			<-m.runner.started
			if status, _, text := m.raw(t, "POST", `{"jsonrpc":"2.0","id":7,"method":"ping"}`, bad); status != 400 || !strings.Contains(text, "7") {
				t.Errorf("%d %s", status, text)
			}
		},
		"sends too much": func(t *testing.T) {
			body := `{"jsonrpc":"2.0","id":8,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`
			if status, _, text := m.raw(t, "POST", body, bad); status != 413 || !strings.Contains(text, "max_frame_bytes") {
				t.Errorf("%d %.200s", status, text)
			}
		},
		"sends garbage": func(t *testing.T) {
			for _, body := range []string{"", "x", "null", "{", "[]", "[1]", `"a"`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
				`{"jsonrpc":"2.0","id":9,"method":"zebra"}`, "\x00\xff\xfe", strings.Repeat("[", 100_000), `{"jsonrpc":"2.0","id":9,"method":"tools/call"}`} {
				if status, _, text := m.raw(t, "POST", body, bad); status < 400 || status >= 500 {
					t.Errorf("%.40q: %d %.200s", body, status, text)
				}
			}
		},
		"sends null params": func(t *testing.T) {
			for i, method := range []string{"ping", "tools/list", "tools/call", "logging/setLevel", "resources/list", "resources/read", "prompts/get", "completion/complete", "initialize"} {
				status, _, text := m.raw(t, "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":null}`, 20+i, method), bad)
				if status >= 500 {
					t.Errorf("%s: %d %s", method, status, text)
				}
			}
			for _, method := range []string{"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed"} {
				if status, _, text := m.raw(t, "POST", fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":null}`, method), bad); status >= 500 {
					t.Errorf("%s: %d %s", method, status, text)
				}
			}
			if status, _, text := m.raw(t, "POST", `{"jsonrpc":"2.0","id":30,"method":"tools/call","params":{"name":"execute_code","arguments":null}}`, bad); status != 200 || !strings.Contains(text, "code is missing") {
				t.Errorf("null arguments: %d %s", status, text)
			}
		},
		"asks for more than it may": func(t *testing.T) {
			own := map[string]string{"Mcp-Session-Id": m.begin(t, nil)}
			saved := bad["Mcp-Session-Id"]
			bad["Mcp-Session-Id"] = own["Mcp-Session-Id"]
			defer func() { bad["Mcp-Session-Id"] = saved }()
			one, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() { hang(one, wait(40+i)) })
				<-m.runner.started
			}
			if status, _, text := m.raw(t, "POST", `{"jsonrpc":"2.0","id":50,"method":"ping"}`, own); status != 429 || !strings.Contains(text, "max_in_flight") {
				t.Errorf("%d %s", status, text)
			}
			cancel()
			wg.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			do(t)
			if got, failure, err := load(t.Context(), good, handle); got != `"good"` {
				t.Errorf("the other client: %s %s %v", got, failure, err)
			}
			if status, _, text := m.raw(t, "POST", `{"jsonrpc":"2.0","id":99,"method":"ping"}`, bad); status != 200 {
				t.Errorf("its own next request: %d %s", status, text)
			}
		})
	}
}

// TestMCPStreamOutlivesTheServersLimits: neither the time limit for requests nor
// that for answers cuts a call that takes longer, with or without a progress token.
func TestMCPStreamOutlivesTheServersLimits(t *testing.T) {
	m := startMCP(t, nil, func(o *Options) {
		o.impatient = func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond }
	})
	m.runner.started = make(chan struct{}, 1)
	session := m.connect(t, testSecret)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	began := time.Now()
	_, _, err := execute(ctx, session, "wait")
	if took := time.Since(began); err == nil || took < 1500*time.Millisecond {
		t.Errorf("after %s: %v, want nothing before the client's own limit", took, err)
	}
	if _, err := save(t.Context(), session, "still there"); err != nil {
		t.Error(err)
	}
}
