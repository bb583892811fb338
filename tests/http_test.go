//go:build linux

package tests

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// served is a `toolplane serve` of its own.
type served struct {
	cmd *exec.Cmd
	url string
}

func startServe(t *testing.T, configFile string) *served {
	t.Helper()
	s := &served{cmd: exec.Command(binary, "serve", "--config", configFile, "--log-level", "warn")}
	s.cmd.Env = append(os.Environ(), "TOOLPLANE_TOKEN=")
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := regexp.MustCompile(`^Agents: (\S+)/mcp`).FindStringSubmatch(lines.Text()); m != nil {
			s.url = m[1]
		}
		if strings.HasPrefix(lines.Text(), "Press Ctrl+C") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return s
		}
	}
	t.Fatalf("toolplane serve ended: %v", lines.Err())
	return nil
}

type withToken struct {
	token string
	base  http.RoundTripper
}

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.token)
	return w.base.RoundTrip(r)
}

// connect begins an MCP session over HTTP with the official client.
func (s *served) connect(t *testing.T, token string) *agent {
	t.Helper()
	a := &agent{progress: make(chan string, 100)}
	client := mcp.NewClient(&mcp.Implementation{Name: "tests", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			select {
			case a.progress <- r.Params.Message:
			default:
			}
		},
	})
	transport := &http.Transport{}
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: withToken{token, transport}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close(); transport.CloseIdleConnections() })
	a.session = session
	return a
}

// newToken makes a token with the command line.
func newToken(t *testing.T, name string) string {
	t.Helper()
	out := toolplane(t, t.TempDir(), "token", "new", name)
	token := strings.TrimSpace(string(out.stdout))
	if out.code != 0 || !strings.HasPrefix(token, "tp_") {
		t.Fatalf("exit code %d: %s", out.code, out.stderr)
	}
	return token
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// run executes code and fails unless it succeeds.
func (a *agent) run(t *testing.T, code string) string {
	t.Helper()
	r, err := a.execute(t.Context(), t, code, 60)
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK {
		t.Fatalf("%s: %+v", code, r.Error)
	}
	return string(r.Value)
}

// refuse executes code that must fail, and returns why.
func (a *agent) refuse(t *testing.T, code string) string {
	t.Helper()
	r, err := a.execute(t.Context(), t, code, 60)
	if err != nil {
		t.Fatal(err)
	}
	if r.OK || r.Error == nil {
		t.Fatalf("%s: succeeded with %s", code, r.Value)
	}
	return r.Error.Builtin + "/" + r.Error.Type + ": " + r.Error.Message
}

// TestAgentsOverHTTP: tokens by the command line, sessions with data of their own,
// progress, cancellation, and clients that misbehave, against the real binary and
// browser.
func TestAgentsOverHTTP(t *testing.T) {
	dir := t.TempDir()
	writeConfig(t, dir, "[server]\nlisten = \"127.0.0.1:0\"\n[plugins.issues]\nsource = \"builtin:issues\"\n")
	s := startServe(t, dir+"/toolplane.toml")
	token := newToken(t, "one")
	one, same, other := s.connect(t, token), s.connect(t, token), s.connect(t, newToken(t, "two"))

	var handle string
	decode(t, []byte(one.run(t, `return await save_result({"mine": 2**53 - 1})`)), &handle)
	load := func(h string) string { return fmt.Sprintf("return await load_result(%q)", h) }
	if got := one.run(t, load(handle)); !strings.Contains(got, "9007199254740991") {
		t.Errorf("its own value: %s", got)
	}
	unknown := same.refuse(t, load("res_"+strings.Repeat("A", len(handle)-4)))
	for name, a := range map[string]*agent{"another session": same, "another token": other} {
		if got := a.refuse(t, load(handle)); got != unknown || !strings.HasPrefix(got, "ValueError/ResultStoreError") {
			t.Errorf("%s: %s, of an unknown handle: %s", name, got, unknown)
		}
	}

	// Cancelled, gone in mid-run, or long and without a progress token: the others
	// don't notice.
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := one.execute(ctx, t, "import asyncio\nprint('it runs', flush=True)\nawait asyncio.sleep(50)", 55); err == nil {
			t.Error("a cancelled call was answered")
		}
	})
	for text := range one.progress {
		if strings.Contains(text, "it runs") {
			break
		}
	}
	cancel()
	wg.Wait()
	leave, left := context.WithCancel(t.Context())
	body := `{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"import asyncio\nawait asyncio.sleep(5)"}}}`
	req, err := http.NewRequestWithContext(leave, http.MethodPost, s.url+"/mcp", bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {same.session.ID()}}
	time.AfterFunc(time.Second, left)
	if res, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	long := make(chan string, 1)
	go func() {
		answer, err := same.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{
			"code": "import asyncio\nfor i in range(8):\n    print(i, flush=True)\n    await asyncio.sleep(0.5)\nreturn 'done'",
		}})
		if err != nil {
			long <- err.Error()
			return
		}
		text, _ := json.Marshal(answer.StructuredContent)
		long <- string(text)
	}()
	for range 5 {
		if got := other.run(t, "return 1 + 1"); got != "2" {
			t.Errorf("another client: %s", got)
		}
	}
	if got := <-long; !strings.Contains(got, `"done"`) {
		t.Errorf("a run without a progress token: %s", got)
	}
	if got := one.run(t, load(handle)); !strings.Contains(got, "9007199254740991") {
		t.Errorf("after all that: %s", got)
	}

	// The end of a session is the end of its handles, and a revoked token opens
	// nothing.
	if err := one.session.Close(); err != nil {
		t.Error(err)
	}
	again := s.connect(t, token)
	if got := again.refuse(t, load(handle)); got != unknown {
		t.Errorf("in the next session: %s", got)
	}
	var entries []struct{ ID, Name string }
	decode(t, toolplane(t, dir, "token", "list", "--json").stdout, &entries)
	for _, e := range entries {
		if e.Name == "two" {
			toolplane(t, dir, "token", "revoke", e.ID)
		}
	}
	if _, err := other.execute(t.Context(), t, "return 1", 60); err == nil {
		t.Error("a revoked token still works")
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestAgentsShareOneHost: one browser for a server and two agents, and when the
// server is killed, one of the agents' servers takes its place.
func TestAgentsShareOneHost(t *testing.T) {
	dir := t.TempDir()
	address := freeAddress(t)
	writeConfig(t, dir, "[server]\nlisten = \""+address+"\"\n[plugins.issues]\nsource = \"builtin:issues\"\n[executor]\nmax_run_timeout = \"2m\"\n")
	file := dir + "/toolplane.toml"
	s := startServe(t, file)
	one, two := startAgentWith(t, file), startAgentWith(t, file)

	var handle string
	decode(t, []byte(one.run(t, `return await save_result("mine")`)), &handle)
	load := fmt.Sprintf("return await load_result(%q)", handle)
	if got := one.run(t, load); got != `"mine"` {
		t.Errorf("its own value: %s", got)
	}
	if got := two.refuse(t, load); !strings.HasPrefix(got, "ValueError/ResultStoreError") {
		t.Errorf("the other agent: %s", got)
	}
	if got := two.run(t, `return (await issues_list(count=3))["issues"][2]["number"]`); got == "null" {
		t.Errorf("a plugin's tool: %s", got)
	}
	all := processes(t)
	for _, a := range []*agent{one, two} {
		if started := descendants(all, a.cmd.Process.Pid); len(started) != 0 {
			t.Errorf("an agent that joined started %d processes: %q", len(started), started[0].args)
		}
	}
	browserOf(t, s.cmd.Process.Pid)

	done := one.startFailing(t)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	err := <-done
	if err == nil || !strings.Contains(err.Error(), "went away") || !strings.Contains(err.Error(), "Call again") {
		t.Errorf("the call under way: %v", err)
	}
	for _, a := range []*agent{one, two} {
		if got := a.run(t, "return 40 + 2"); got != "42" {
			t.Errorf("the next call: %s", got)
		}
	}
	if got := one.refuse(t, load); !strings.HasPrefix(got, "ValueError/ResultStoreError") {
		t.Errorf("a value of the host that's gone: %s", got)
	}
	res, err := http.Get("http://" + address + "/healthz") //nolint:gosec // our own
	if err != nil {
		t.Fatalf("nobody took the address: %v", err)
	}
	_ = res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	all = processes(t)
	browsers := 0
	for _, a := range []*agent{one, two} {
		if len(descendants(all, a.cmd.Process.Pid)) > 0 {
			browsers++
		}
	}
	if browsers != 1 {
		t.Errorf("%d of the agents' servers have a browser, want one", browsers)
	}
}

// startFailing begins a long run, waits until it runs, and returns how the call ends.
func (a *agent) startFailing(t *testing.T) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := a.execute(context.Background(), t, "import asyncio\nprint('it runs', flush=True)\nawait asyncio.sleep(60)", 90)
		done <- err
	}()
	limit := time.After(time.Minute)
	for {
		select {
		case text := <-a.progress:
			if strings.Contains(text, "it runs") {
				return done
			}
		case err := <-done:
			t.Fatalf("the run ended: %v", err)
		case <-limit:
			t.Fatal("the run doesn't begin")
		}
	}
}
