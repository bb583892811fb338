package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/executor"
)

func executeTool(o Options) *mcp.Tool {
	return &mcp.Tool{
		Name:        "execute_code",
		Title:       "Execute Python code",
		Description: executeDescription(o),
		InputSchema: json.RawMessage(fmt.Sprintf(`{
			"type": "object",
			"properties": {
				"code": {"type": "string", "description": "Python source. Top-level await and return work."},
				"inputs": {"type": "object", "description": "JSON values that the snippet finds as inputs[\"name\"]."},
				"fresh": {"type": "boolean", "default": false, "description": "Asks for a pristine interpreter. Every run has one in this version."},
				"timeout_seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": %s, "description": "Time limit of this run. Default %s."}
			},
			"required": ["code"],
			"additionalProperties": false
		}`, seconds(o.MaxRunTimeout), seconds(o.RunTimeout))),
		OutputSchema: json.RawMessage(executeSchema),
	}
}

func executeDescription(o Options) string {
	var b strings.Builder
	b.WriteString("Runs a Python snippet in a sandbox (pyodide: standard library, no network, no files of this machine) and answers with the JSON value that it returns.\n")
	b.WriteString("- Call capabilities with await, as search_capabilities shows: `await issues_list(count=10)`, or `await call_tool(\"plugin:issues/list\", {\"count\": 10})`. " +
		"Calls at the same time: `await asyncio.gather(...)`. Failures are Python exceptions: ValueError, PermissionError, LookupError, TimeoutError, MemoryError, RuntimeError.\n")
	b.WriteString("- `return VALUE`, or end with an expression, to answer. Filter, join and count in the snippet; return only what you need to read.\n")
	if o.Store {
		b.WriteString("- Keep large data on the host: `handle = await save_result(value)`, and in a later run `value = await load_result(handle)`.\n")
	} else {
		b.WriteString("- save_result is turned off on this server.\n")
	}
	b.WriteString("- Each run has a fresh interpreter. `_` is what the previous successful run returned (up to 1 MiB), `inputs[\"name\"]` what you pass in.\n")
	fmt.Fprintf(&b, "- Time limit %s s, up to %s s with timeout_seconds.", seconds(o.RunTimeout), seconds(o.MaxRunTimeout))
	return b.String()
}

// seconds writes a duration in seconds, as JSON and people write them.
func seconds(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", d.Seconds()), "0"), ".")
}

func (s *Server) execute(ctx context.Context, req *mcp.CallToolRequest, args arguments) (*answer, error) {
	if err := args.only("code", "inputs", "fresh", "timeout_seconds"); err != nil {
		return nil, err
	}
	run := executor.Request{Scope: s.o.Scope, Subject: s.o.Subject, Filename: "snippet.py"}
	if !args.has("code") {
		return nil, errors.New("code is missing: give the Python source to run")
	}
	for _, err := range []error{
		args.get("code", &run.Code, "a text: the Python source to run"),
		args.get("inputs", &run.Inputs, `an object, such as {"limit": 10}`),
		args.get("fresh", &run.Fresh, "true or false"),
		s.timeout(args, &run.Timeout),
	} {
		if err != nil {
			return nil, err
		}
	}
	if token := req.Params.GetProgressToken(); token != nil {
		run.OnOutput = progress(ctx, req.Session, token)
	}
	s.mu.Lock()
	run.Previous = s.previous
	s.mu.Unlock()

	res := s.o.Runner.Run(ctx, run)
	if res.OK {
		s.mu.Lock()
		s.previous = nil
		if len(res.Value) <= maxPreviousBytes {
			s.previous = res.Value
		}
		s.mu.Unlock()
	}
	a, err := s.outcome(res)
	if err == nil && res.Error != nil && (res.Error.Type == "NameError" || res.Error.Type == "UnknownCapabilityError") {
		// The name may be that of a plugin that isn't there.
		a.text = strings.Join(append([]string{a.text}, s.o.Wait(ctx)...), "\n\n")
	}
	return a, err
}

func (s *Server) timeout(args arguments, into *time.Duration) error {
	want := fmt.Sprintf("a number of seconds above 0, at most %s", seconds(s.o.MaxRunTimeout))
	var n float64
	if err := args.get("timeout_seconds", &n, want); err != nil {
		return err
	}
	if !args.has("timeout_seconds") {
		return nil
	}
	// Compared as seconds: a huge number would overflow a duration.
	if n <= 0 || n > s.o.MaxRunTimeout.Seconds() {
		return fmt.Errorf("timeout_seconds must be %s, not %s", want, args["timeout_seconds"])
	}
	*into = max(time.Duration(n*float64(time.Second)), time.Millisecond)
	return nil
}

// progress sends what a run prints, as it prints it. A failure to do so is not
// the run's: the client is gone, and the end of its session ends the run.
func progress(ctx context.Context, session *mcp.ServerSession, token any) func(stream, text string) {
	sent := 0
	return func(_, text string) {
		sent += len(text)
		_ = session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(sent), Message: text})
	}
}
