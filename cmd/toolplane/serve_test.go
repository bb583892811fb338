package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServe: it says where it listens, answers, and ends well on a signal.
func TestServe(t *testing.T) {
	a := newTestApp(t)
	a.write(t, "toolplane.toml", "[plugins.gone]\nsource = \"gone.wasm\"\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := a.start(ctx, "serve", "--listen", "127.0.0.1:0")
	url := waitFor(t, a.out, regexp.MustCompile(`listens on (http://\S+) \(configuration: toolplane.toml\)\n(?s:.*)Press Ctrl`))
	res, err := http.Get(url + "/healthz") //nolint:gosec // our own
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || !strings.Contains(string(body), `"degraded"`) {
		t.Errorf("%s %v", body, err)
	}
	cancel(interrupted{syscall.SIGTERM})
	if code := <-done; code != exitOK {
		t.Errorf("exit code %d\n%s", code, a.err)
	}
	if !strings.Contains(a.err.String(), "plugin=gone") {
		t.Errorf("stderr doesn't tell of the broken plugin:\n%s", a.err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// waitFor waits until a stream matches, and returns the first group.
func waitFor(t *testing.T, b *safeBuffer, pattern *regexp.Regexp) string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if m := pattern.FindStringSubmatch(b.String()); m != nil {
			return m[1]
		}
	}
	t.Fatalf("no %s in %q", pattern, b)
	return ""
}

// TestServeMCP speaks to the command over its streams: the protocol alone is on
// stdout, and the end of the input ends it.
func TestServeMCP(t *testing.T) {
	a := newTestApp(t)
	a.write(t, "toolplane.toml", "[server]\nlisten = \"127.0.0.1:0\"\n[executor]\nheadless = false\n[plugins.gone]\nsource = \"gone.wasm\"\n")
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	fresh := *a.app
	fresh.stdin, fresh.stdout, fresh.stderr = inR, outW, a.err
	done := make(chan int, 1)
	go func() {
		done <- fresh.main(t.Context(), []string{"serve", "mcp", "--log-level", "debug"})
		_ = outW.Close() // as the end of the process does
	}()
	lines := bufio.NewScanner(outR)
	ask := func(message string) string {
		t.Helper()
		if _, err := io.WriteString(inW, message+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatalf("no answer: %v", lines.Err())
		}
		if !json.Valid(lines.Bytes()) {
			t.Fatalf("not a message: %s", lines.Bytes())
		}
		return lines.Text()
	}
	if got := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`); !strings.Contains(got, `"toolplane"`) {
		t.Error(got)
	}
	if _, err := io.WriteString(inW, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if got := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); !strings.Contains(got, "execute_code") {
		t.Error(got)
	}
	if got := ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search_capabilities"}}`); !strings.Contains(got, "The plugin gone isn't available: its module can't be read") {
		t.Error(got)
	}
	if got := ask(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"return 1"}}}`); !strings.Contains(got, `"type":"BrowserError"`) || !strings.Contains(got, `"isError":true`) {
		t.Error(got)
	}
	if err := inW.Close(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		t.Errorf("unexpected: %s", lines.Bytes())
	}
	if code := <-done; code != exitOK {
		t.Errorf("exit code %d\n%s", code, a.err)
	}
	if !strings.Contains(a.err.String(), "host started") {
		t.Error("the log isn't on stderr")
	}
}
