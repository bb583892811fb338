package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/executor"
	"github.com/toolplane/toolplane/host/result"
)

// connect joins an SDK client to a server over the SDK's in-memory transport.
func connect(t *testing.T, o Options, co *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	clientSide, serverSide := mcp.NewInMemoryTransports()
	server, err := New(o).mcp.Connect(t.Context(), serverSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, co).Connect(t.Context(), clientSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Wait()
	})
	return client
}

func TestCancellationStopsTheRun(t *testing.T) {
	o := testOptions(t)
	ended := make(chan error, 1)
	started := make(chan struct{})
	o.Runner = runnerFunc(func(ctx context.Context, _ executor.Request) *executor.Result {
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return &executor.Result{Value: json.RawMessage("null"), Error: &executor.RunError{Type: "RunCancelledError"}}
	})
	client := connect(t, o, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-started
		cancel()
	}()
	if _, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "x"}}); err == nil {
		t.Error("a cancelled call got an answer")
	}
	if err := <-ended; err == nil {
		t.Error("the run wasn't cancelled")
	}
}

type runnerFunc func(context.Context, executor.Request) *executor.Result

func (f runnerFunc) Run(ctx context.Context, r executor.Request) *executor.Result { return f(ctx, r) }

// TestRequest: what reaches the runner, and that output is asked for only where
// the client wants progress.
func TestRequest(t *testing.T) {
	o := testOptions(t)
	o.Subject = "someone"
	runner := fakeRunner{started: make(chan executor.Request, 1)}
	o.Runner = runner
	client := connect(t, o, nil)
	call := func(token any) executor.Request {
		t.Helper()
		params := &mcp.CallToolParams{Name: "execute_code", Arguments: json.RawMessage(`{"code":"ok","inputs":{"n":10000000000000000000000.0},"fresh":true,"timeout_seconds":0.0000001}`)}
		if token != nil {
			params.SetProgressToken(token)
		}
		if _, err := client.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		return <-runner.started
	}
	got := call(nil)
	if got.Code != "ok" || got.Scope != "test" || got.Subject != "someone" || !got.Fresh || got.Timeout != time.Millisecond || got.Filename == "" || got.RunID != "" {
		t.Errorf("%+v", got)
	}
	if string(got.Inputs["n"]) != "10000000000000000000000.0" {
		t.Errorf("the input became %s", got.Inputs["n"])
	}
	if got.OnOutput != nil {
		t.Error("output is asked for without a progress token")
	}
	if call("token").OnOutput == nil {
		t.Error("output isn't asked for, though there's a progress token")
	}
}

func TestPreviousIsBounded(t *testing.T) {
	o := testOptions(t)
	runner := fakeRunner{started: make(chan executor.Request, 1)}
	o.Runner = runner
	client := connect(t, o, nil)
	for _, c := range []struct{ size, want int }{{10, 0}, {maxPreviousBytes - 2, 12}, {maxPreviousBytes - 1, maxPreviousBytes}, {1, 0}} {
		value := strings.Repeat("x", c.size)
		if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "inputs", "inputs": map[string]any{"x": value}}}); err != nil {
			t.Fatal(err)
		}
		if got := len((<-runner.started).Previous); got != c.want {
			t.Errorf("before the run that returned %d bytes, _ had %d, want %d", c.size+2, got, c.want)
		}
	}
}

// TestAnswersFitTheirSchemas holds every structured answer of the golden
// sessions to the output schema that tools/list declares.
func TestAnswersFitTheirSchemas(t *testing.T) {
	o := testOptions(t)
	client := connect(t, o, nil)
	list, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*jsonschema.Resolved{}
	anything, err := (&jsonschema.Schema{}).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.OutputSchema == nil {
			continue // what's in the context of every agent is kept short
		}
		raw, err := json.Marshal(tool.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		if schemas[tool.Name], err = s.Resolve(nil); err != nil {
			t.Fatal(err)
		}
	}
	checked := map[string]int{}
	saved, err := o.Results.SaveFold(result.Owner{Scope: o.Scope}, json.RawMessage(`{"rows":[1,2]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tool, args string }{
		{"search_capabilities", `{}`},
		{"search_capabilities", `{"query":"zebra"}`},
		{"search_capabilities", `{"limit":1}`},
		{"get_capability_schemas", `{"names":["plugin:issues/list","plugin:list/x","nonsense"]}`},
		{"execute_code", `{"code":"numbers"}`},
		{"execute_code", `{"code":"fail"}`},
		{"execute_code", `{"code":"no browser"}`},
		{"execute_code", `{"code":"inputs","inputs":{"x":[` + strings.Repeat(`"0123456789",`, 2000) + `1]}}`},
		{"execute_code", `{"code":"inputs","inputs":{"x":{"folded":{"handle":"res_x","preview":1,"shape":{}}}}}`},
		{"result_query", `{"handle":"HANDLE"}`},
		{"result_query", `{"handle":"HANDLE","path":"rows","limit":1}`},
		{"reset_session", `{}`},
	} {
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: json.RawMessage(strings.ReplaceAll(c.args, "HANDLE", saved.Handle))})
		if err != nil {
			t.Fatal(err)
		}
		if res.StructuredContent == nil {
			t.Errorf("%s %s answers %v", c.tool, c.args, res.Content[0])
			continue
		}
		if schemas[c.tool] == nil {
			schemas[c.tool] = anything
		}
		if err := schemas[c.tool].Validate(res.StructuredContent); err != nil {
			t.Errorf("%s %s: %v", c.tool, c.args, err)
		}
		if len(res.Content) == 0 || res.Content[0].(*mcp.TextContent).Text == "" {
			t.Errorf("%s %s has no text form", c.tool, c.args)
		}
		checked[c.tool]++
	}
	if len(checked) != len(list.Tools) {
		t.Errorf("%d of %d tools were checked", len(checked), len(list.Tools))
	}
	if err := schemas["execute_code"].Validate(map[string]any{"ok": 1}); err == nil {
		t.Error("the output schema of execute_code refuses nothing")
	}
}

// TestHammer runs many calls of every tool at once over one connection.
func TestHammer(t *testing.T) {
	client := connect(t, testOptions(t), nil)
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			name, args := "execute_code", fmt.Sprintf(`{"code":"inputs","inputs":{"x":%d}}`, i)
			switch i % 3 {
			case 1:
				name, args = "search_capabilities", `{"query":"list"}`
			case 2:
				name, args = "get_capability_schemas", `{"names":["plugin:issues/get"]}`
			}
			res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
			if err != nil || res.IsError {
				t.Errorf("%s: %v %+v", name, err, res)
				return
			}
			if name == "execute_code" {
				if got := res.StructuredContent.(map[string]any)["value"]; got != float64(i) {
					t.Errorf("run %d got %v", i, got)
				}
			}
		})
	}
	wg.Wait()
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// TestEndOfInputWaitsForAnswers: requests that a shell pipes in are answered
// although the input ends right behind them.
func TestEndOfInputWaitsForAnswers(t *testing.T) {
	release := make(chan struct{})
	o := testOptions(t)
	o.Runner = runnerFunc(func(ctx context.Context, _ executor.Request) *executor.Result {
		res := &executor.Result{OK: true, Value: json.RawMessage("7"), Artifacts: []executor.Artifact{}}
		select {
		case <-release:
		case <-ctx.Done():
			res.OK = false
		}
		return res
	})
	input := initialize + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"x"}}}` + "\n"
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	s := New(o)
	go func() { done <- s.Serve(t.Context(), io.NopCloser(strings.NewReader(input)), outW) }()
	dec := json.NewDecoder(outR)
	for id := 1; id <= 2; id++ {
		var m struct {
			ID     int
			Result struct{ StructuredContent struct{ OK bool } }
		}
		if id == 2 {
			close(release)
		}
		if err := dec.Decode(&m); err != nil || m.ID != id || id == 2 && !m.Result.StructuredContent.OK {
			t.Fatalf("answer %d: %+v, %v", id, m, err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, outR) }()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestEndOfInputEndsEndlessRuns: a client that's gone doesn't keep a run for ever.
func TestEndOfInputEndsEndlessRuns(t *testing.T) {
	o := testOptions(t)
	o.Linger = 50 * time.Millisecond
	runner := fakeRunner{started: make(chan executor.Request, 1)}
	o.Runner = runner
	c := converse(t, New(o))
	c.send(initialize)
	c.receive()
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"wait"}}}`)
	<-runner.started
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	for c.out.Scan() { // the answer of the cancelled run may still come
	}
	if err := <-c.done; err != nil {
		t.Error(err)
	}
}

// TestContextEndsServing: the end of the process's context ends the runs and Serve.
func TestContextEndsServing(t *testing.T) {
	o := testOptions(t)
	runner := fakeRunner{started: make(chan executor.Request, 1)}
	o.Runner = runner
	ctx, cancel := context.WithCancel(t.Context())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	s := New(o)
	go func() { done <- s.Serve(ctx, inR, outW) }()
	go func() { _, _ = io.Copy(io.Discard, outR) }()
	for _, line := range []string{initialize, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"wait"}}}`} {
		if _, err := io.WriteString(inW, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-runner.started
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Serve goes on after its context has ended")
	}
}

// TestInitializeIsAnsweredAtOnce: no plugin is waited for before a tool needs one.
func TestInitializeIsAnsweredAtOnce(t *testing.T) {
	o := testOptions(t)
	loaded := make(chan struct{})
	o.Wait = func(ctx context.Context) []string {
		select {
		case <-loaded:
		case <-ctx.Done():
		}
		return nil
	}
	o.ListPatience = 10 * time.Millisecond
	client := connect(t, o, nil) // initialize
	if _, err := client.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_capabilities"})
		done <- err
	}()
	select {
	case err := <-done:
		t.Error(err, "the search didn't wait for the plugins")
	case <-time.After(20 * time.Millisecond):
	}
	close(loaded)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
