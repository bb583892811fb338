package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/executor"
	"github.com/toolplane/toolplane/host/join"
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

func TestMCPAuthentication(t *testing.T) {
	m := startMCP(t, nil)
	valid, entry, err := m.tokens.Create("valid", token.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pinned, _, err := m.tokens.Create("pinned", token.CreateOptions{Origin: m.URL()})
	if err != nil {
		t.Fatal(err)
	}
	revoked, gone, err := m.tokens.Create("revoked", token.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.tokens.Revoke(gone.ID); err != nil {
		t.Fatal(err)
	}
	auth := func(s string) map[string]string { return map[string]string{"Authorization": s} }
	with := func(s string, more ...string) map[string]string {
		out := auth("Bearer " + s)
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	for _, c := range []struct {
		name      string
		header    map[string]string
		status    int
		challenge string
	}{
		{"secret of the environment", with(testSecret), 200, ""},
		{"token of the store", with(valid.Reveal()), 200, ""},
		{"scheme in other case", auth("bEARER " + valid.Reveal()), 200, ""},
		{"pinned to this origin", with(pinned.Reveal(), "Origin", m.URL()), 200, ""},
		{"pinned, without origin", with(pinned.Reveal()), 401, "invalid_token"},
		{"none", auth(""), 401, "none"},
		{"empty", auth("Bearer "), 401, "invalid_token"},
		{"no scheme", auth(testSecret), 401, "none"},
		{"another scheme", auth("Basic " + testSecret), 401, "none"},
		{"wrong", with(testSecret + "x"), 401, "invalid_token"},
		{"half", with(testSecret[:20]), 401, "invalid_token"},
		{"huge", with(strings.Repeat("x", 10_000)), 401, "invalid_token"},
		{"revoked", with(revoked.Reveal()), 401, "invalid_token"},
		{"id of a token", with(entry.ID), 401, "invalid_token"},
		{"of a stranger's page", with(testSecret, "Origin", "https://evil.example"), 403, ""},
		{"opaque origin", with(testSecret, "Origin", "null"), 403, ""},
		{"rebound name", with(testSecret, "Host", "evil.example"), 403, ""},
		{"rebound name, same origin", with(testSecret, "Host", "evil.example:80", "Origin", "http://evil.example:80"), 403, ""},
		{"rebound name, no token", map[string]string{"Authorization": "", "Host": "evil.example"}, 403, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, head, text := m.raw(t, "POST", initialize, c.header)
			if status != c.status {
				t.Errorf("status %d, want %d: %s", status, c.status, text)
			}
			got := head.Get("WWW-Authenticate")
			switch {
			case c.challenge == "" && got != "":
				t.Errorf("challenge %q", got)
			case c.challenge != "" && (!strings.HasPrefix(got, `Bearer realm="toolplane"`) || strings.Contains(got, "invalid_token") != (c.challenge == "invalid_token")):
				t.Errorf("challenge %q, want %s", got, c.challenge)
			case c.challenge != "" && !strings.Contains(text, "toolplane token new"):
				t.Errorf("the refusal doesn't say where a token comes from: %s", text)
			}
			if status != 200 && head.Get("Mcp-Session-Id") != "" {
				t.Error("a refused request began a session")
			}
		})
	}
	// Every method needs the token, and no query parameter stands for it.
	for _, method := range []string{"GET", "DELETE", "PUT", "OPTIONS"} {
		if status, _, text := m.raw(t, method, "", auth("")); status != 401 {
			t.Errorf("%s: %d %s", method, status, text)
		}
	}
	for _, secret := range []string{testSecret, valid.Reveal(), pinned.Reveal(), revoked.Reveal()} {
		if strings.Contains(m.logs.String(), secret) {
			t.Error("the log has a token")
		}
	}
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
}

// TestMCPSessionBound: more than the limit are refused with a way out, and an end
// makes room.
func TestMCPSessionBound(t *testing.T) {
	m := startMCP(t, func(c *config.Config) { c.MCP.MaxSessions = 2 })
	first := m.begin(t, nil)
	m.begin(t, nil)
	status, head, text := m.raw(t, "POST", initialize, nil)
	if status != 503 || head.Get("Retry-After") == "" || !strings.Contains(text, "2 MCP sessions are open, which is the limit ([mcp] max_sessions)") {
		t.Errorf("%d %s", status, text)
	}
	if !json.Valid([]byte(text)) {
		t.Errorf("the refusal isn't JSON: %s", text)
	}
	if _, err := m.tryConnect(t, testSecret); err == nil || !strings.Contains(err.Error(), "Service Unavailable") {
		t.Errorf("the SDK's client says: %v", err)
	}
	if status, _, _ := m.raw(t, "DELETE", "", map[string]string{"Mcp-Session-Id": first}); status != 204 {
		t.Error("DELETE", status)
	}
	m.begin(t, nil)
	// What isn't an initialize holds no place.
	if status, _, _ := m.raw(t, "DELETE", "", map[string]string{"Mcp-Session-Id": m.anySession(t)}); status != 204 {
		t.Error("DELETE", status)
	}
	for _, body := range []string{"", "garbage", "null", "[]", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`} {
		m.raw(t, "POST", body, nil)
	}
	eventually(t, "they end", func() bool { return m.mcp.Sessions() == 1 })
}

func (m *mcpHost) anySession(t *testing.T) string {
	t.Helper()
	ids := m.mcp.IDs()
	if len(ids) == 0 {
		t.Fatal("no session")
	}
	return ids[0]
}

// Test200Sessions: many at once, each with values of its own, which no other one
// can read, and whose handles are to it what unknown ones are.
func Test200Sessions(t *testing.T) {
	const sessions, values = 200, 2
	m := startMCP(t, nil)
	second, _, err := m.tokens.Create("second", token.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all [sessions]*mcp.ClientSession
	var handles [sessions][values]string
	each := func(do func(i int) error) {
		t.Helper()
		var wg sync.WaitGroup
		for i := range sessions {
			wg.Go(func() {
				if err := do(i); err != nil {
					t.Errorf("session %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			t.FailNow()
		}
	}
	secrets := []string{testSecret, second.Reveal()}
	each(func(i int) (err error) {
		all[i], err = m.tryConnect(t, secrets[i%2])
		return err
	})
	if m.mcp.Sessions() != sessions {
		t.Fatalf("%d sessions", m.mcp.Sessions())
	}
	each(func(i int) (err error) {
		for k := range values {
			if handles[i][k], err = save(t.Context(), all[i], fmt.Sprintf("of %d: %d", i, k)); err != nil {
				return err
			}
		}
		return nil
	})
	_, unknown, err := load(t.Context(), all[0], "res_"+strings.Repeat("A", len(handles[0][0])-4))
	if err != nil || !strings.HasPrefix(unknown, "ValueError/ResultStoreError: ") {
		t.Fatalf("unknown handle: %s %v", unknown, err)
	}
	each(func(i int) error {
		for k := range values {
			got, failure, err := load(t.Context(), all[i], handles[i][k])
			if want := fmt.Sprintf(`"of %d: %d"`, i, k); err != nil || got != want {
				return fmt.Errorf("its own value: %s %s %w", got, failure, err)
			}
			// Of a neighbour, with the same token and with the other one.
			for _, other := range []int{(i + 1) % sessions, (i + 2) % sessions} {
				got, failure, err := load(t.Context(), all[i], handles[other][k])
				if err != nil || got != "" || failure != unknown {
					return fmt.Errorf("reads of %d: %q, says %q, of an unknown handle %q: %w", other, got, failure, unknown, err)
				}
			}
		}
		return nil
	})
	each(func(i int) error { return all[i].Close() })
	eventually(t, "all data is dropped", func() bool { return m.mcp.Sessions() == 0 && m.results.Stats().Entries == 0 })
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
		req, err := http.NewRequestWithContext(ctx, "POST", m.URL()+"/mcp", strings.NewReader(body))
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

// TestJoinProof: the host proves that it knows the secret, and answers nothing else.
func TestJoinProof(t *testing.T) {
	m := startMCP(t, nil)
	post := func(url, body string) (int, string) {
		res, err := http.Post(url+join.Path, "text/plain", bytes.NewBufferString(body)) //nolint:gosec,noctx // our own
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, strings.TrimSpace(string(text))
	}
	defer http.DefaultClient.CloseIdleConnections()
	if status, text := post(m.URL(), "abc"); status != 200 || text != join.Proof(m.bearers.secrets[joinSubject], []byte("abc")) {
		t.Errorf("%d %s", status, text)
	}
	for _, body := range []string{"", strings.Repeat("x", join.MaxChallengeBytes+1)} {
		if status, text := post(m.URL(), body); status != 400 {
			t.Errorf("%.10q: %d %s", body, status, text)
		}
	}
	plain := startHost(t, testConfig(), &logBuffer{})
	if status, text := post(plain.URL(), "abc"); status != 404 {
		t.Errorf("a host that can't be joined: %d %s", status, text)
	}
}
