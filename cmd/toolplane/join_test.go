package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// testAgent is an agent with a "toolplane serve mcp" of its own.
type testAgent struct {
	t      *testing.T
	in     *io.PipeWriter
	lines  *bufio.Scanner
	stderr *safeBuffer
	stop   context.CancelCauseFunc
	done   chan int
	next   int
}

func (a *testApp) agent(t *testing.T, flags ...string) *testAgent {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	g := &testAgent{t: t, in: inW, lines: bufio.NewScanner(outR), stderr: &safeBuffer{}, done: make(chan int, 1)}
	g.lines.Buffer(nil, 1<<20)
	ctx, stop := context.WithCancelCause(context.Background())
	g.stop = stop
	fresh := *a.app
	fresh.stdin, fresh.stdout, fresh.stderr = inR, outW, g.stderr
	go func() {
		g.done <- fresh.main(ctx, append([]string{"serve", "mcp"}, flags...))
		_ = outW.Close()
		_ = inR.Close()
	}()
	t.Cleanup(func() {
		_ = inW.Close()
		stop(nil)
		go func() { _, _ = io.Copy(io.Discard, outR) }()
		<-g.done
	})
	return g
}

func (g *testAgent) send(format string, a ...any) {
	g.t.Helper()
	if _, err := fmt.Fprintf(g.in, format+"\n", a...); err != nil {
		g.t.Fatalf("%v\n%s", err, g.stderr)
	}
}

// receive returns the next message that isn't a notification.
func (g *testAgent) receive() string {
	g.t.Helper()
	for g.lines.Scan() {
		var m struct{ ID json.RawMessage }
		if err := json.Unmarshal(g.lines.Bytes(), &m); err != nil {
			g.t.Fatalf("not a message: %s", g.lines.Bytes())
		}
		if m.ID != nil {
			return g.lines.Text()
		}
	}
	g.t.Fatalf("no answer: %v\n%s", g.lines.Err(), g.stderr)
	return ""
}

// ask sends a request and returns its answer.
func (g *testAgent) ask(method, params string) string {
	g.t.Helper()
	g.next++
	g.send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, g.next, method, params)
	got := g.receive()
	if !strings.Contains(got, fmt.Sprintf(`"id":%d`, g.next)) {
		g.t.Fatalf("the answer to request %d is %s", g.next, got)
	}
	return got
}

func (g *testAgent) initialize() {
	g.t.Helper()
	got := g.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}`)
	if !strings.Contains(got, `"serverInfo"`) {
		g.t.Fatalf("initialize: %s\n%s", got, g.stderr)
	}
	g.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// end closes the agent's side and waits for its server to end well.
func (g *testAgent) end() {
	g.t.Helper()
	if err := g.in.Close(); err != nil {
		g.t.Fatal(err)
	}
	for g.lines.Scan() {
		g.t.Errorf("unexpected: %s", g.lines.Bytes())
	}
	code := <-g.done
	g.done <- code
	if code != exitOK {
		g.t.Errorf("exit code %d\n%s", code, g.stderr)
	}
}

const noBrowser = "[executor]\nheadless = false\n"

// freeAddress is one that nothing listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func offers(t *testing.T, a *testApp) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(a.dir, "user", "toolplane", "hosts", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func sessions(t *testing.T, g *testAgent) {
	t.Helper()
	if got := g.ask("tools/list", "{}"); !strings.Contains(got, "execute_code") {
		t.Errorf("tools/list: %s", got)
	}
	if got := g.ask("tools/call", `{"name":"get_capability_schemas","arguments":{"names":["toolplane:results/save"]}}`); !strings.Contains(got, `"content"`) {
		t.Errorf("schemas: %s", got)
	}
}

// TestJoin: one host for "serve" and the agents that come after it, by a file that
// only the user can read and that goes with the host.
func TestJoin(t *testing.T) {
	a := newTestApp(t)
	address := freeAddress(t)
	a.write(t, "toolplane.toml", "[server]\nlisten = \""+address+"\"\n"+noBrowser)
	ctx, stop := context.WithCancelCause(t.Context())
	done := a.start(ctx, "serve")
	served := a.out
	waitFor(t, served, regexp.MustCompile(`Press (Ctrl)`))
	names := offers(t, a)
	if len(names) != 1 {
		t.Fatalf("%d files of hosts", len(names))
	}
	if info, err := os.Stat(names[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	first, second := a.agent(t), a.agent(t)
	for _, g := range []*testAgent{first, second} {
		g.initialize()
		sessions(t, g)
		if got := g.stderr.String(); got != "toolplane: joined the host at http://"+address+"\n" {
			t.Errorf("stderr: %s", got)
		}
	}
	// What isn't the protocol is refused, and harms nothing.
	first.send("garbage")
	if got := first.receive(); !strings.Contains(got, "-32700") {
		t.Errorf("garbage: %s", got)
	}
	first.send("")
	if got := first.ask("zebra/list", "{}"); !strings.Contains(got, `"error"`) {
		t.Errorf("an unknown method: %s", got)
	}
	if got := first.ask("tools/call", "null"); !strings.Contains(got, `"error"`) {
		t.Errorf("null params: %s", got)
	}
	sessions(t, first)
	// Another configuration is another host.
	a.write(t, "other.toml", "[server]\nlisten = \""+address+"\"\n[results]\nmax_entries = 7\n"+noBrowser)
	third := a.agent(t, "--config", "other.toml")
	third.initialize()
	if !strings.Contains(third.stderr.String(), "another program uses "+address+": serving at http://127.0.0.1:") {
		t.Errorf("stderr: %s", third.stderr)
	}
	alone := a.agent(t, "--standalone")
	alone.initialize()
	if !strings.Contains(alone.stderr.String(), "another program uses") || strings.Contains(alone.stderr.String(), "joined") {
		t.Errorf("stderr: %s", alone.stderr)
	}
	if len(offers(t, a)) != 2 {
		t.Errorf("%d files of hosts, want those of the two configurations", len(offers(t, a)))
	}
	for _, g := range []*testAgent{first, second, third, alone} {
		g.end()
	}
	stop(interrupted{syscall.SIGTERM})
	if code := <-done; code != exitOK {
		t.Errorf("exit code %d\n%s", code, a.err)
	}
	if left := offers(t, a); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestTakeOver: when the host goes, calls under way fail with an error that says
// so, and the next ones work: one agent's server takes the address, the other joins
// it.
func TestTakeOver(t *testing.T) {
	a := newTestApp(t)
	address := freeAddress(t)
	a.write(t, "toolplane.toml", "[server]\nlisten = \""+address+"\"\n"+noBrowser)
	ctx, stop := context.WithCancelCause(t.Context())
	done := a.start(ctx, "serve")
	waitFor(t, a.out, regexp.MustCompile(`Press (Ctrl)`))
	first, second := a.agent(t), a.agent(t)
	for _, g := range []*testAgent{first, second} {
		g.initialize()
		sessions(t, g)
	}
	stop(interrupted{syscall.SIGTERM})
	if code := <-done; code != exitOK {
		t.Errorf("exit code %d\n%s", code, a.err)
	}
	waitFor(t, first.stderr, regexp.MustCompile(`(serving|joined the host) at http://`+regexp.QuoteMeta(address)+`(?: in its place)?\n(?s:.*)$`))
	for _, g := range []*testAgent{first, second} {
		sessions(t, g)
		if got := g.stderr.String(); !strings.Contains(got, "the host at http://"+address+" is gone") {
			t.Errorf("stderr: %s", got)
		}
	}
	all := first.stderr.String() + second.stderr.String()
	if strings.Count(all, "serving at http://"+address+" in its place") != 1 || strings.Count(all, "joined the host at http://"+address) != 3 {
		t.Errorf("want one that serves and one that joins:\n%s", all)
	}
	// And once more: the one that took over ends.
	owner, joiner := first, second
	if strings.Contains(second.stderr.String(), "in its place") {
		owner, joiner = second, first
	}
	owner.end()
	sessions(t, joiner)
	waitFor(t, joiner.stderr, regexp.MustCompile(`(serving) at http://`+regexp.QuoteMeta(address)+` in its place`))
	if len(offers(t, a)) != 1 {
		t.Errorf("%d files of hosts", len(offers(t, a)))
	}
	joiner.end()
	if left := offers(t, a); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestStaleHost: word of a host that died is passed over and taken away, and one
// that something else listens at is told nothing.
func TestStaleHost(t *testing.T) {
	a := newTestApp(t)
	a.write(t, "toolplane.toml", "[server]\nlisten = \"127.0.0.1:0\"\n"+noBrowser)
	g := a.agent(t)
	g.initialize()
	names := offers(t, a)
	if len(names) != 1 {
		t.Fatalf("%d files of hosts", len(names))
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	g.end()
	var seen safeBuffer
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	impostor := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.Write(&seen)
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, strings.Repeat("0", 64))
	})}
	go func() { _ = impostor.Serve(l) }()
	defer func() { _ = impostor.Close() }()
	var said struct{ URL, Token string }
	if err := json.Unmarshal(text, &said); err != nil {
		t.Fatal(err)
	}
	stale := func(name, url string) {
		changed := strings.ReplaceAll(string(text), said.URL, url)
		if err := os.WriteFile(strings.TrimSuffix(names[0], ".json")+name+".json", []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stale("dead", said.URL)
	stale("taken", "http://"+l.Addr().String())
	stale("garbage", "gopher://x")
	next := a.agent(t)
	next.initialize()
	if strings.Contains(next.stderr.String(), "joined") {
		t.Errorf("stderr: %s", next.stderr)
	}
	if strings.Contains(seen.String(), said.Token) || !strings.Contains(seen.String(), "POST /join") {
		t.Errorf("the impostor was told: %s", seen.String())
	}
	if left := offers(t, a); len(left) != 2 { // its own, and the one that can't be understood
		t.Errorf("%q", left)
	}
	next.end()
}

// TestManyAtOnce: agents that start at the same moment end up with one host.
func TestManyAtOnce(t *testing.T) {
	a := newTestApp(t)
	a.write(t, "toolplane.toml", "[server]\nlisten = \""+freeAddress(t)+"\"\n"+noBrowser)
	var agents []*testAgent
	for range 6 {
		agents = append(agents, a.agent(t))
	}
	joined := 0
	for _, g := range agents {
		g.initialize()
		sessions(t, g)
		joined += strings.Count(g.stderr.String(), "joined the host")
	}
	if joined != 5 || len(offers(t, a)) != 1 {
		t.Errorf("%d joined, %d hosts", joined, len(offers(t, a)))
	}
}

// TestServeWithToken: TOOLPLANE_TOKEN opens /mcp, and a bad one is refused at once.
func TestServeWithToken(t *testing.T) {
	a := newTestApp(t)
	const secret = "a-token-from-the-environment-of-32-or-more"
	a.write(t, "toolplane.toml", "[server]\nlisten = \"127.0.0.1:0\"\n"+noBrowser)
	t.Setenv("TOOLPLANE_TOKEN", "short")
	if code := a.do(t, "serve"); code != exitUsage || !strings.Contains(a.err.String(), "TOOLPLANE_TOKEN: a token must have 32 to 512 characters, this one has 5") {
		t.Errorf("exit code %d\n%s", code, a.err)
	}
	t.Setenv("TOOLPLANE_TOKEN", secret)
	ctx, stop := context.WithCancelCause(t.Context())
	done := a.start(ctx, "serve", "--log-level", "debug")
	url := waitFor(t, a.out, regexp.MustCompile(`Agents: (http://\S+/mcp)`))
	for presented, want := range map[string]int{secret: http.StatusOK, "wrong": http.StatusUnauthorized} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + presented}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", presented, res.StatusCode, want)
		}
	}
	stop(interrupted{syscall.SIGTERM})
	<-done
	http.DefaultClient.CloseIdleConnections()
	if strings.Contains(a.err.String()+a.out.String(), secret) {
		t.Error("the token was printed")
	}
}
