package host

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

func get(t *testing.T, method, url string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func TestRoutes(t *testing.T) {
	h := startHost(t, testConfig(), &logBuffer{})
	for _, c := range []struct {
		method, path string
		status       int
		contains     string
	}{
		{"GET", "/", 200, "Toolplane 1.2.3 is running"},
		{"GET", "/healthz", 200, `"status": "ok"`},
		{"HEAD", "/healthz", 200, ""},
		{"GET", "/executor/", 200, "page /executor/"},
		{"GET", "/executor/pyodide/x.wasm", 200, "page /executor/pyodide/x.wasm"},
		{"GET", "/executor", 308, ""},
		{"GET", "/nothing", 404, `there is nothing at "/nothing". This host serves:`},
		{"GET", "/healthz/", 404, "/healthz"},
		{"GET", "/executor/../healthz", 301, ""},
		{"POST", "/healthz", 405, "POST isn't possible here, only GET, HEAD"},
		{"DELETE", "/executor/", 405, "only GET, HEAD"},
		{"POST", "/ws", 405, "only GET"},
		{"OPTIONS", "/ws", 405, "only GET"},
		{"GET", "/ws", 426, ""},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			res, body := get(t, c.method, h.URL()+c.path)
			if res.StatusCode != c.status || !strings.Contains(body, c.contains) {
				t.Errorf("%d %s", res.StatusCode, body)
			}
			for name, value := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
				"Cross-Origin-Opener-Policy": "same-origin", "X-Frame-Options": "SAMEORIGIN",
			} {
				if got := res.Header.Get(name); got != value {
					t.Errorf("%s: %q, want %q", name, got, value)
				}
			}
			if !strings.Contains(res.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
				t.Errorf("Content-Security-Policy: %q", res.Header.Get("Content-Security-Policy"))
			}
			if res.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("other origins may read it")
			}
		})
	}
}

// TestStrangersGetNothing goes over a real connection: the guard stands before
// every path, the WebSocket's included.
func TestStrangersGetNothing(t *testing.T) {
	logs := &logBuffer{}
	h := startHost(t, testConfig(), logs)
	for _, path := range []string{"/", "/ws", "/executor/", "/healthz", "/nothing"} {
		for _, header := range []string{"Host: evil.example:7350", "Host: 127.0.0.1\r\nOrigin: http://evil.example", "Host: 127.0.0.1\r\nOrigin: null"} {
			conn, err := net.Dial("tcp", h.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\n%s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: toolplane.v1\r\n\r\n", path, header)
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %q: %d", path, header, res.StatusCode)
			}
			_ = res.Body.Close()
			_ = conn.Close()
		}
	}
	if n := strings.Count(logs.String(), "request refused"); n != 10 {
		t.Errorf("15 refusals are logged %d times, want the 10 of a burst", n)
	}
}

// TestTokenIsNeverLogged plants a marker wherever a client can put a token.
func TestTokenIsNeverLogged(t *testing.T) {
	const marker = "MARKER-hunter2-MARKER"
	logs := &logBuffer{}
	h := startHost(t, testConfig(), logs)
	ws := "ws" + strings.TrimPrefix(h.URL(), "http") + "/ws"

	_, body := get(t, "GET", h.URL()+"/nothing?token="+marker)
	if strings.Contains(body, marker) {
		t.Error("a query is given back")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, params := range []string{
		`{"protocol":"toolplane.v1","token":"` + marker + `","client":{"name":"c","version":"1"},"kind":"headless","can_execute":true}`,
		`{"protocol":"toolplane.v1","token":["` + marker + `"],"client":{"name":"c","version":"1"},"kind":"headless","can_execute":true}`,
		`{"protocol":"toolplane.v9","token":"` + marker + `"}`,
		`{"` + marker + `":1}`,
	} {
		conn, err := wsbridge.Dial(ctx, ws+"?token="+marker, wsbridge.DialOptions{Subprotocol: protocol.Version})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Call(ctx, protocol.MethodHello, json.RawMessage(params)); err == nil {
			t.Errorf("a hello without a good token is accepted: %s", params)
		}
		_ = conn.Close(1000, "done")
		if err := conn.Wait(ctx); err != nil {
			t.Error(err)
		}
	}
	if text := logs.String(); strings.Contains(text, marker) || !strings.Contains(text, "host started") {
		t.Errorf("the log:\n%s", text)
	}
}

func TestHealth(t *testing.T) {
	cfg := testConfig()
	cfg.Plugins["missing"] = missingPlugin(t)
	logs := &logBuffer{}
	h := startHost(t, cfg, logs)
	h.WaitPlugins(t.Context())
	_, body := get(t, "GET", h.URL()+"/healthz")
	var got Health
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Status != "degraded" || got.Version != "1.2.3" || len(got.Plugins) != 1 || got.Plugins[0] != (PluginHealth{Name: "missing", State: PluginFailed}) {
		t.Errorf("%+v", got)
	}
	if strings.Contains(body, "missing.wasm") {
		t.Errorf("the answer tells strangers a path: %s", body)
	}
	if !strings.Contains(logs.String(), "missing.wasm") {
		t.Errorf("the log doesn't say why: %s", logs)
	}
}
