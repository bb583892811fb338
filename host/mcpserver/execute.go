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

func executeTool(o Options, catalog string) *mcp.Tool {
	return &mcp.Tool{
		Name:        "execute_code",
		Title:       "Execute Python code",
		Description: executeDescription(o, catalog),
		InputSchema: json.RawMessage(fmt.Sprintf(`{
			"type": "object",
			"properties": {
				"code": {"type": "string", "description": "top-level await and return work"},
				"inputs": {"type": "object"},
				"fresh": {"type": "boolean", "default": false, "description": %s},
				"timeout_seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": %s, "default": %s}
			},
			"required": ["code"],
			"additionalProperties": false
		}`, jsonString(o.freshMeans()), seconds(o.MaxRunTimeout), seconds(o.RunTimeout))),
		OutputSchema: json.RawMessage(executeSchema),
	}
}

func (o Options) freshMeans() string {
	if o.Session == nil {
		return "no effect: every run is"
	}
	return "apart from the session"
}

func executeDescription(o Options, catalog string) string {
	var b strings.Builder
	b.WriteString("Runs a Python snippet in a sandbox (pyodide: standard library, no packages, no network, no files) and answers with the JSON value that it returns or ends with.\n")
	b.WriteString("- Call capabilities as search_capabilities shows: `await issues_list(count=10)` or `await call_tool(\"plugin:issues/list\", {\"count\": 10})`; " +
		"many at once with `await asyncio.gather(*calls)`. Failures raise ValueError, LookupError, PermissionError, TimeoutError, MemoryError, RuntimeError.\n")
	b.WriteString("- Filter, join and count here; return only what you need to read.")
	if o.Fold.Enabled && o.Results != nil {
		fmt.Fprintf(&b, " Over %s it comes folded: preview, shape, and a handle for result_query.", sizeText(o.Fold.threshold()))
	}
	b.WriteByte('\n')
	if o.Store {
		b.WriteString("- `h = await save_result(value)` keeps a value; later `await load_result(h)`, any handle. An argument {\"$result\": h, \"path\": \"/rows\"} passes it on unseen.\n")
	} else {
		b.WriteString("- save_result is turned off on this server.\n")
	}
	if o.Session == nil {
		b.WriteString("- No session: each run is fresh. `_` is the last run's value (up to 1 MiB), `inputs[\"name\"]` what you pass.\n")
	} else {
		b.WriteString("- Variables stay for your next runs, until reset_session; a run that times out is rolled back. `_` is the last run's value, `inputs[\"name\"]` what you pass.\n")
	}
	fmt.Fprintf(&b, "- Time limit %s s, at most %s s.", seconds(o.RunTimeout), seconds(o.MaxRunTimeout))
	b.WriteString(catalog)
	return b.String()
}

// seconds writes a duration in seconds, as JSON and people write them.
func seconds(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", d.Seconds()), "0"), ".")
}

func (s *Server) execute(ctx context.Context, req *mcp.CallToolRequest, args arguments) (*answer, error) {
	if args.has("packages") {
		return nil, errors.New("packages can't be installed yet on this server: a snippet has Python's standard library and the capabilities")
	}
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
	run.OnOutput = s.output(ctx, req)
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
