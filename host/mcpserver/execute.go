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
		OutputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"ok": {"type": "boolean"},
				"value": {"description": "What the snippet returned; null if it failed."},
				"stdout": {"type": "string"},
				"stderr": {"type": "string"},
				"error": {
					"anyOf": [
						{"type": "null"},
						{
							"type": "object",
							"properties": {
								"type": {"type": "string", "description": "Class of the exception."},
								"builtin": {"type": "string", "description": "Python builtin that it derives from."},
								"message": {"type": "string"},
								"traceback": {"type": "string"}
							},
							"required": ["type", "builtin", "message", "traceback"]
						}
					]
				},
				"artifacts": {"type": "array", "items": {"type": "object"}},
				"duration_ms": {"type": "number"},
				"run_id": {"type": "string"},
				"executor": {"type": "string"},
				"output_truncated": {"type": "boolean", "description": "Output above the limit was cut."},
				"tampered": {"type": "boolean", "description": "The snippet attacked its sandbox."}
			},
			"required": ["ok", "value", "stdout", "stderr", "error", "artifacts", "duration_ms", "run_id", "executor"]
		}`),
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
	structured, err := res.JSON()
	if err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	text := resultText(res)
	if res.Error != nil && (res.Error.Type == "NameError" || res.Error.Type == "UnknownCapabilityError") {
		// The name may be that of a plugin that isn't there.
		text = strings.Join(append([]string{text}, s.o.Wait(ctx)...), "\n\n")
	}
	return &answer{structured: structured, text: text, failed: !res.OK}, nil
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

// resultText is a result for a reader: the value first, then what else there is.
func resultText(res *executor.Result) string {
	var parts []string
	if res.OK {
		parts = append(parts, string(res.Value))
	} else if e := res.Error; e != nil {
		if trace := strings.TrimSpace(e.Traceback); trace != "" {
			parts = append(parts, trace)
			if !strings.Contains(trace, e.Message) {
				parts = append(parts, e.Type+": "+e.Message)
			}
		} else {
			parts = append(parts, e.Type+": "+e.Message)
		}
	}
	if res.Stdout != "" {
		parts = append(parts, "stdout:\n"+strings.TrimSuffix(res.Stdout, "\n"))
	}
	if res.Stderr != "" {
		parts = append(parts, "stderr:\n"+strings.TrimSuffix(res.Stderr, "\n"))
	}
	if res.OutputTruncated {
		parts = append(parts, "(the output was cut at its limit: print less, or save it with save_result)")
	}
	return strings.Join(parts, "\n\n")
}
