package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/executor"
	"github.com/toolplane/toolplane/host/token"
)

// calls is a runner whose snippets are one call each, NAME ARGUMENTS, made through
// the host's bridge as a snippet's would be. "wait" waits to be cancelled.
type calls struct {
	host    *Host
	started chan struct{} // told of each "wait", if not nil
}

func (c *calls) Run(ctx context.Context, req executor.Request) *executor.Result {
	res := &executor.Result{Value: json.RawMessage("null"), Artifacts: []executor.Artifact{}, RunID: "run", Executor: "test"}
	if req.Code == "wait" {
		if c.started != nil {
			c.started <- struct{}{}
		}
		<-ctx.Done()
		res.Error = &executor.RunError{Type: "RunCancelledError", Builtin: "RuntimeError", Message: "the run was cancelled"}
		return res
	}
	name, args, _ := strings.Cut(req.Code, " ")
	value, err := c.host.bridge.Call(ctx, bridge.Caller{Scope: req.Scope, Subject: req.Subject, RunID: "run"}, name, json.RawMessage(args))
	if err != nil {
		res.Error = &executor.RunError{Type: err.Type, Builtin: string(err.Builtin), Message: err.Message}
		return res
	}
	res.OK, res.Value = true, value
	return res
}

const testSecret = "a-token-for-tests-of-32-characters-or-more"

type mcpHost struct {
	*Host
	runner *calls
	tokens *token.Store
	logs   *logBuffer
}

// startMCP starts a host that takes testSecret, the tokens of a store, and a token
// to join with.
func startMCP(t *testing.T, change func(*config.Config), more ...func(*Options)) *mcpHost {
	t.Helper()
	tokens, err := token.Open(token.Options{Path: filepath.Join(t.TempDir(), "state", "tokens.json")})
	if err != nil {
		t.Fatal(err)
	}
	secret, err := token.Wrap(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	cfg := testConfig()
	if change != nil {
		change(cfg)
	}
	m := &mcpHost{runner: &calls{}, tokens: tokens, logs: &logBuffer{}}
	o := Options{
		Version: "1.2.3", Logger: m.logs.logger(), Page: testPage, runner: m.runner,
		Tokens: tokens, Secrets: map[string]token.Secret{"environment": secret}, Join: token.Generate(),
	}
	for _, change := range more {
		change(&o)
	}
	m.Host, err = New(t.Context(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	m.runner.host = m.Host
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return m
}

// bearer presents a token with each request.
type bearer struct {
	token string
	base  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.base.RoundTrip(r)
}

// connect begins an MCP session with the SDK's client.
func (m *mcpHost) connect(t *testing.T, secret string) *mcp.ClientSession {
	t.Helper()
	session, err := m.tryConnect(t, secret)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func (m *mcpHost) tryConnect(t *testing.T, secret string) (*mcp.ClientSession, error) {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: m.URL() + "/mcp", HTTPClient: &http.Client{Transport: bearer{secret, transport}}, MaxRetries: -1,
	}, nil)
	if err == nil {
		t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

// execute runs a snippet and returns its value, or its error as text.
func execute(ctx context.Context, session *mcp.ClientSession, code string) (value json.RawMessage, failure string, err error) {
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": code}})
	if err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return nil, "", err
	}
	var out struct {
		Value json.RawMessage `json:"value"`
		Error *struct{ Type, Builtin, Message string }
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, "", fmt.Errorf("%w: %s", err, text)
	}
	if out.Error != nil {
		return nil, fmt.Sprintf("%s/%s: %s", out.Error.Builtin, out.Error.Type, out.Error.Message), nil
	}
	return out.Value, "", nil
}

// save keeps a text and returns its handle.
func save(ctx context.Context, session *mcp.ClientSession, text string) (string, error) {
	value, failure, err := execute(ctx, session, fmt.Sprintf(`toolplane:results/save {"value":%q}`, text))
	if err != nil || failure != "" {
		return "", fmt.Errorf("save: %w %s", err, failure)
	}
	var entry struct{ Handle string }
	return entry.Handle, json.Unmarshal(value, &entry)
}

func load(ctx context.Context, session *mcp.ClientSession, handle string) (value, failure string, err error) {
	v, failure, err := execute(ctx, session, fmt.Sprintf(`toolplane:results/load {"handle":%q}`, handle))
	return string(v), failure, err
}

// raw sends one request as it is.
func (m *mcpHost) raw(t *testing.T, method, body string, header map[string]string) (status int, head http.Header, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, m.URL()+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + testSecret,
	} {
		req.Header.Set(name, value)
	}
	for name, value := range header {
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
		if value == "" {
			req.Header.Del(name)
		}
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(data)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// begin initializes a session by hand and returns its id.
func (m *mcpHost) begin(t *testing.T, header map[string]string) string {
	t.Helper()
	status, head, text := m.raw(t, "POST", initialize, header)
	id := head.Get("Mcp-Session-Id")
	if status != 200 || len(id) < 22 || !strings.Contains(text, `"toolplane"`) {
		t.Fatalf("initialize: %d, session %q: %s", status, id, text)
	}
	in := map[string]string{"Mcp-Session-Id": id}
	for name, value := range header {
		in[name] = value
	}
	if status, _, text := m.raw(t, "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, in); status != 202 {
		t.Fatalf("initialized: %d %s", status, text)
	}
	return id
}

// eventually waits for something that another goroutine does.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// TestMCPSessionBelongsToItsToken: to any other token, a session isn't there.
func TestMCPSessionBelongsToItsToken(t *testing.T) {
	m := startMCP(t, nil)
	other, entry, err := m.tokens.Create("other", token.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mine := m.begin(t, nil)
	const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	ask := func(method, id, secret string) (int, string) {
		status, _, text := m.raw(t, method, ping, map[string]string{"Mcp-Session-Id": id, "Authorization": "Bearer " + secret})
		return status, text
	}
	if status, text := ask("POST", mine, testSecret); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	_, unknown := ask("POST", strings.Repeat("A", len(mine)), other.Reveal())
	for _, method := range []string{"POST", "GET", "DELETE"} {
		status, foreign := ask(method, mine, other.Reveal())
		if status != 404 || foreign != unknown {
			t.Errorf("%s with another token: %d %s, of an unknown one: %s", method, status, foreign, unknown)
		}
	}
	if status, _ := ask("DELETE", mine, testSecret); status != 204 {
		t.Errorf("DELETE: %d", status)
	}
	status, stale := ask("POST", mine, testSecret)
	if status != 404 || stale != unknown || !strings.Contains(stale, "initialize") {
		t.Errorf("after its end: %d %s", status, stale)
	}
	// A revoked token's requests are refused at once, and its session ends by itself.
	theirs := m.begin(t, map[string]string{"Authorization": "Bearer " + other.Reveal()})
	if err := m.tokens.Revoke(entry.ID); err != nil {
		t.Fatal(err)
	}
	if status, _ := ask("POST", theirs, other.Reveal()); status != 401 {
		t.Errorf("revoked: %d", status)
	}
}

// TestMCPSessionEndsWithItsData: by DELETE, with a run under way, and by idling.
func TestMCPSessionEndsWithItsData(t *testing.T) {
	m := startMCP(t, func(c *config.Config) { c.MCP.SessionIdle = 300 * time.Millisecond })
	m.runner.started = make(chan struct{}, 1)
	session := m.connect(t, testSecret)
	if _, err := save(t.Context(), session, "x"); err != nil {
		t.Fatal(err)
	}
	ran := make(chan string, 1)
	go func() {
		_, failure, err := execute(t.Context(), session, "wait")
		ran <- fmt.Sprint(failure, err)
	}()
	<-m.runner.started
	if got := m.results.Stats(); got.Entries != 1 {
		t.Fatalf("%+v", got)
	}
	status, _, text := m.raw(t, "DELETE", "", map[string]string{"Mcp-Session-Id": session.ID()})
	if status != 204 {
		t.Errorf("DELETE: %d %s", status, text)
	}
	if got := m.results.Stats(); got.Entries != 0 || m.mcp.Sessions() != 0 {
		t.Errorf("after DELETE: %+v, %d sessions", got, m.mcp.Sessions())
	}
	if got := <-ran; got == "<nil>" {
		t.Error("the run went on to its end")
	}

	// A session with an open stream stays; it ends when that has gone.
	idle := m.connect(t, testSecret) // whose client keeps a stream open
	handle, err := save(t.Context(), idle, "y")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // more than the idle time: nothing must happen
	if got, failure, err := load(t.Context(), idle, handle); got != `"y"` {
		t.Errorf("after a second: %s %s %v", got, failure, err)
	}
	quiet := m.begin(t, nil) // by hand, without a stream
	eventually(t, "the idle session ends", func() bool {
		m.mcp.Sessions()
		status, _, _ := m.raw(t, "GET", "", map[string]string{"Mcp-Session-Id": quiet, "Accept": "application/json"})
		time.Sleep(400 * time.Millisecond) // asking is use
		return status == 404
	})
	if m.mcp.Sessions() != 1 {
		t.Errorf("%d sessions, want that with the stream", m.mcp.Sessions())
	}

	// A revoked token's session ends too, with its stream.
	secret, entry, err := m.tokens.Create("revoked soon", token.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.connect(t, secret.Reveal())
	if err := m.tokens.Revoke(entry.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the session of a revoked token ends", func() bool { return m.mcp.Sessions() == 1 })
}

// TestHandlesThatAreNotThere: foreign, expired, unknown and malformed handles get
// one answer, whichever it is.
func TestHandlesThatAreNotThere(t *testing.T) {
	m := startMCP(t, func(c *config.Config) { c.Results.TTL = time.Second })
	mine, other := m.connect(t, testSecret), m.connect(t, testSecret)
	foreign, err := save(t.Context(), other, "theirs")
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	ask := func(name, handle string) {
		t.Helper()
		got, failure, err := load(t.Context(), mine, handle)
		if err != nil || got != "" {
			t.Fatalf("%s: %s %v", name, got, err)
		}
		if strings.Contains(failure, handle) && handle != "" {
			t.Errorf("%s: the answer repeats the handle: %s", name, failure)
		}
		answers[name] = failure
	}
	ask("foreign", foreign)
	expired, err := save(t.Context(), mine, "mine")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond)
	ask("expired", expired)
	ask("unknown", "res_"+strings.Repeat("B", len(expired)-4))
	ask("malformed", "res_?")
	ask("of another kind", "art_"+expired[4:])
	// Nor does the time tell them apart: one lookup finds none of them.
	handles := map[string]string{"foreign": foreign, "expired": expired, "unknown": "res_" + strings.Repeat("B", len(expired)-4), "malformed": "res_?"}
	took := map[string][]time.Duration{}
	for range 2000 {
		for name, handle := range handles {
			began := time.Now()
			_, err := m.bridge.Call(t.Context(), bridge.Caller{Scope: "scope", Subject: "subject"}, "toolplane:results/load", json.RawMessage(`{"handle":"`+handle+`"}`))
			took[name] = append(took[name], time.Since(began))
			if err == nil {
				t.Fatal(name)
			}
		}
	}
	for name := range handles {
		slices.Sort(took[name])
		median, unknown := took[name][1000], took["unknown"][1000]
		t.Logf("%s: %s in the median", name, median)
		if median > 2*unknown || unknown > 2*median {
			t.Errorf("%s takes %s in the median, an unknown one %s", name, median, unknown)
		}
	}
	for name, got := range answers {
		if got != answers["unknown"] || got == "" {
			t.Errorf("%s: %q, unknown: %q", name, got, answers["unknown"])
		}
	}
}
