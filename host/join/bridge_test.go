package join

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/token"
)

// testAgent speaks to a bridge.
type testAgent struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	said  chan string
	done  chan error
}

func startBridge(t *testing.T, first Next, again func(ctx context.Context, last string, except []string) (Next, error)) *testAgent {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a := &testAgent{t: t, in: inW, lines: bufio.NewScanner(outR), said: make(chan string, 64), done: make(chan error, 1)}
	if again == nil {
		again = func(context.Context, string, []string) (Next, error) {
			return Next{}, errors.New("there is no other host")
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		a.done <- Bridge(ctx, BridgeOptions{
			In: inR, Out: outW, First: first, Again: again, Linger: 10 * time.Second, MaxMessageBytes: 1 << 16,
			Say: func(format string, args ...any) { a.said <- fmt.Sprintf(format, args...) },
		})
		_ = outW.Close()
	}()
	t.Cleanup(func() {
		cancel()
		_ = inW.Close()
		go func() { _, _ = io.Copy(io.Discard, outR) }()
		t.Logf("the bridge ended: %v", <-a.done)
		_ = inR.Close()
	})
	return a
}

func (a *testAgent) send(format string, args ...any) {
	a.t.Helper()
	if _, err := fmt.Fprintf(a.in, format+"\n", args...); err != nil {
		a.t.Fatal(err)
	}
}

func (a *testAgent) receive() string {
	a.t.Helper()
	if !a.lines.Scan() {
		a.t.Fatalf("no message: %v", a.lines.Err())
	}
	if !json.Valid(a.lines.Bytes()) {
		a.t.Fatalf("not a message: %s", a.lines.Bytes())
	}
	return a.lines.Text()
}

func (a *testAgent) expect(parts ...string) string {
	a.t.Helper()
	got := a.receive()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			a.t.Fatalf("got %s, want %s in it", got, part)
		}
	}
	return got
}

func (a *testAgent) initialize(version string) {
	a.t.Helper()
	a.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":%q,"capabilities":{"roots":{}},"clientInfo":{"name":"a","version":"1"}}}`, version)
	a.expect(`"id":"i"`, `"serverInfo"`)
	a.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (a *testAgent) call(id int, tool, more string) {
	a.t.Helper()
	a.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"n":%d}%s}}`, id, tool, id, more)
}

func (a *testAgent) end() {
	a.t.Helper()
	if err := a.in.Close(); err != nil {
		a.t.Fatal(err)
	}
	for a.lines.Scan() {
		a.t.Errorf("unexpected: %s", a.lines.Text())
	}
	err := <-a.done
	a.done <- err
	if err != nil {
		a.t.Errorf("Bridge: %v", err)
	}
}

func TestBridgePassesEverythingOn(t *testing.T) {
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			h := startTestHost(t)
			a := startBridge(t, Next{Host: h.Host}, nil)
			a.initialize(version)
			a.call(1, "echo", "")
			a.expect(`"id":1`, `{\"n\":1}`)
			a.send(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}`)
			a.expect(`"id":2`)
			a.call(3, "talk", `,"_meta":{"progressToken":"p"}`)
			for i := range 3 {
				a.expect("notifications/progress", fmt.Sprintf(`"progress":%d`, i), `"progressToken":"p"`)
				a.expect("notifications/message", fmt.Sprintf("log %d", i))
			}
			a.expect(`"id":3`, "talked")
			// The host's own request goes to the agent, and its answer back.
			a.call(4, "ask", "")
			var asked struct {
				ID     json.RawMessage
				Method string
			}
			if err := json.Unmarshal([]byte(a.receive()), &asked); err != nil || asked.Method != "roots/list" {
				t.Fatalf("%+v %v", asked, err)
			}
			a.send(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file:///x","name":"the root"}]}}`, asked.ID)
			a.expect(`"id":4`, "the root")
			a.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, asked.ID) // answered twice: nobody asked
			// Cancellation reaches the call, sent right behind it; others go on.
			a.call(5, "wait", "")
			a.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
			a.expect(`"id":5`) // which wait never does by itself
			// A call under way doesn't hold up the next one.
			a.call(6, "wait", "")
			for got := ""; got != `{"n":6}`; got = <-h.waiting { // 5 may or may not have begun
			}
			a.call(7, "echo", "")
			a.expect(`"id":7`)
			a.call(6, "echo", "")
			a.expect(`"id":6`, "under way")
			a.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}`)
			a.expect(`"id":6`)
			a.send("%s", strings.Repeat("x", 1<<17))
			a.expect(`"id":null`, "-32003")
			a.send(`[{"jsonrpc":"2.0","id":8,"method":"ping"}]`)
			a.expect(`"id":8`)
			a.call(9, "echo", "")
			a.expect(`"id":9`)
			a.end()
		})
	}
}

// TestBridgeLingers: the answer to what was asked before the end of the input still
// comes.
func TestBridgeLingers(t *testing.T) {
	h := startTestHost(t)
	a := startBridge(t, Next{Host: h.Host}, nil)
	a.initialize("2025-06-18")
	a.call(1, "slow", "")
	<-h.waiting
	if err := a.in.Close(); err != nil {
		t.Fatal(err)
	}
	h.release <- struct{}{}
	a.expect(`"id":1`, "slow")
	a.end()
}

// TestBridgeResumes: a stream that breaks is resumed where it was.
func TestBridgeResumes(t *testing.T) {
	h := startTestHost(t)
	a := startBridge(t, Next{Host: h.Host}, nil)
	a.initialize("2025-11-25")
	h.mu.Lock()
	h.cuts = 1
	h.mu.Unlock()
	a.call(1, "talk", `,"_meta":{"progressToken":"p"}`)
	for i := range 3 {
		a.expect("notifications/progress", fmt.Sprintf(`"progress":%d`, i))
	}
	a.expect(`"id":1`, "talked")
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cuts != 0 {
		t.Error("no stream was cut")
	}
}

// TestBridgeChangesHosts: what was under way fails, what wasn't seen is sent again,
// and the next host hears the handshake and the settings.
func TestBridgeChangesHosts(t *testing.T) {
	first, second := startTestHost(t), startTestHost(t)
	a := startBridge(t, Next{Host: first.Host}, func(_ context.Context, last string, _ []string) (Next, error) {
		if last != first.URL {
			t.Errorf("last was %s", last)
		}
		return Next{Host: second.Host}, nil
	})
	a.initialize("2025-06-18")
	a.send(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`)
	a.expect(`"id":1`)
	a.call(2, "wait", "")
	<-first.waiting
	first.end()
	a.expect(`"id":2`, "-32000", "went away", "Call again")
	a.call(3, "talk", `,"_meta":{"progressToken":"p"}`)
	for i := range 3 {
		a.expect("notifications/progress")
		a.expect("notifications/message", fmt.Sprintf("log %d", i))
	}
	a.expect(`"id":3`, "talked")
	if got := <-a.said; !strings.Contains(got, "is gone") {
		t.Error(got)
	}
	a.end()
}

// TestBridgeEndedSession: the host runs on, but the session there has ended: the call
// that finds out is made in a new one.
func TestBridgeEndedSession(t *testing.T) {
	h := startTestHost(t)
	a := startBridge(t, Next{Host: h.Host}, func(context.Context, string, []string) (Next, error) { return Next{Host: h.Host}, nil })
	a.initialize("2025-06-18")
	a.call(1, "echo", "")
	a.expect(`"id":1`)
	h.endSessions()
	a.call(2, "echo", "")
	a.expect(`"id":2`)
	a.end()
}

// TestBridgeFullHost: where the host has no room, the agent's initialize goes on to
// one in this process.
func TestBridgeFullHost(t *testing.T) {
	full := startTestHost(t)
	full.busy = true
	served := make(chan struct{})
	a := startBridge(t, Next{Host: full.Host}, func(_ context.Context, _ string, except []string) (Next, error) {
		if len(except) != 1 || except[0] != full.URL {
			t.Errorf("except %q", except)
		}
		return Next{Serve: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			defer close(served)
			s := mcp.NewServer(&mcp.Implementation{Name: "local", Version: "1"}, nil)
			err := s.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
			if ctx.Err() != nil {
				return nil
			}
			return err
		}}, nil
	})
	a.initialize("2025-06-18")
	a.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	a.expect(`"id":1`, `"result"`)
	a.end()
	<-served
}

// TestBridgeNobodyServes: without a host, each request is answered with an error, and
// the next one tries anew.
func TestBridgeNobodyServes(t *testing.T) {
	first, second := startTestHost(t), startTestHost(t)
	tries := 0
	a := startBridge(t, Next{Host: first.Host}, func(context.Context, string, []string) (Next, error) {
		if tries++; tries < 3 {
			return Next{}, errors.New("no host today")
		}
		return Next{Host: second.Host}, nil
	})
	a.initialize("2025-06-18")
	first.end()
	if got := <-a.said + <-a.said; !strings.Contains(got, "no host today") {
		t.Error(got)
	}
	a.call(1, "echo", "")
	a.expect(`"id":1`, "no Toolplane host can be joined or started")
	a.call(2, "echo", "")
	a.expect(`"id":2`, `{\"n\":2}`)
}

// TestCheck tells a host that's gone from one that can't be asked.
func TestCheck(t *testing.T) {
	h := startTestHost(t)
	if err := h.Check(t.Context()); err != nil {
		t.Error(err)
	}
	impostor := &Host{URL: h.URL, secret: token.Generate()}
	if err := impostor.Check(t.Context()); !errors.Is(err, ErrGone) {
		t.Errorf("another program: %v", err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := (&Host{URL: "http://" + silent.Addr().String(), secret: token.Generate()}).Check(ctx); err == nil || errors.Is(err, ErrGone) {
		t.Errorf("one that doesn't answer: %v", err)
	}
	h.end()
	if err := h.Check(t.Context()); !errors.Is(err, ErrGone) {
		t.Errorf("nobody: %v", err)
	}
}
