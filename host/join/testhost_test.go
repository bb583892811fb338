package join

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/token"
)

// testHost is an MCP server at /mcp that proves itself at /join.
type testHost struct {
	*Host
	server *httptest.Server
	// waiting is told of each call of the tool wait, and whether it was cancelled.
	waiting, cancelled chan string
	release            chan struct{} // lets the tool slow answer
	endSessions        func()
	over               chan struct{}
	// cut ends the next streams after so many writes, if it's above 0.
	mu   sync.Mutex
	cuts int
	busy bool
}

func startTestHost(t *testing.T) *testHost {
	t.Helper()
	secret := token.Generate()
	h := &testHost{waiting: make(chan string, 16), cancelled: make(chan string, 16), release: make(chan struct{}), over: make(chan struct{})}
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}, Tools: &mcp.ToolCapabilities{}}, //nolint:staticcheck // what clients of today use
	})
	object := json.RawMessage(`{"type":"object"}`)
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: object}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(string(r.Params.Arguments)), nil
	})
	s.AddTool(&mcp.Tool{Name: "talk", InputSchema: object}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)})
			_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: fmt.Sprint("log ", i)}) //nolint:staticcheck // what clients of today use
		}
		return text("talked"), nil
	})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: object}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		roots, err := r.Session.ListRoots(ctx, nil) //nolint:staticcheck // what clients of today use
		if err != nil {
			return nil, err
		}
		return text(roots.Roots[0].Name), nil
	})
	s.AddTool(&mcp.Tool{Name: "wait", InputSchema: object}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		h.waiting <- string(r.Params.Arguments)
		select {
		case <-ctx.Done():
		case <-h.over:
		}
		h.cancelled <- string(r.Params.Arguments)
		return nil, ctx.Err()
	})
	s.AddTool(&mcp.Tool{Name: "slow", InputSchema: object}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		h.waiting <- string(r.Params.Arguments)
		<-h.release
		return text("slow"), nil
	})
	h.endSessions = func() {
		for session := range s.Sessions() {
			_ = session.Close()
		}
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	mux := http.NewServeMux()
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		challenge, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, Proof(secret, challenge))
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		busy := h.busy
		h.mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+secret.Reveal():
			w.WriteHeader(http.StatusUnauthorized)
		case busy && r.Header.Get("Mcp-Session-Id") == "":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			handler.ServeHTTP(&cutting{ResponseWriter: w, host: h, post: r.Method == http.MethodPost}, r)
		}
	})
	h.server = httptest.NewServer(mux)
	h.Host = &Host{URL: h.server.URL, secret: secret}
	t.Cleanup(func() {
		close(h.over)
		h.end()
		h.endSessions()
	})
	return h
}

// end takes the host away as the death of its process would.
func (h *testHost) end() {
	_ = h.server.Listener.Close()
	h.server.CloseClientConnections()
	h.server.Close()
}

// cutting breaks a POST's stream after its second event, while the host says so.
type cutting struct {
	http.ResponseWriter
	host   *testHost
	post   bool
	events int
}

func (c *cutting) Write(p []byte) (int, error) {
	c.events++
	c.host.mu.Lock()
	cut := c.post && c.host.cuts > 0 && c.events == 2
	if cut {
		c.host.cuts--
	}
	c.host.mu.Unlock()
	if cut {
		_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(time.Unix(1, 0))
	}
	return c.ResponseWriter.Write(p)
}

func (c *cutting) Unwrap() http.ResponseWriter { return c.ResponseWriter }
