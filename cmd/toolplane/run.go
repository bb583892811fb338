package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/host"
	"github.com/toolplane/toolplane/host/executor"
	"github.com/toolplane/toolplane/host/jsonvalue"
)

// runScope is whose data the runs of one command are. The store ends with the
// process, so that a fixed name shares nothing.
const runScope = "run"

// Bounds of what is read: a Python file, and a file of values. The values have to
// fit into one message to the browser as well.
const (
	maxSnippetBytes = 4 << 20
	maxInputBytes   = 256 << 20
)

type runOptions struct {
	plugins []string
	inputs  []string
	fresh   bool
	timeout time.Duration
	json    bool
}

// snippetFile is a Python file that was read.
type snippetFile struct{ name, code string }

func (a *app) run() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run FILE... | -",
		Short: "Run Python files",
		Long: `Runs Python files, one after the other, in one process and one scope: like the
cells of a notebook they share their variables, functions, imports and open files,
and _ is the value that the previous successful run returned. A run that raises
keeps what it did; one that times out is rolled back. With --fresh each run has a
pristine interpreter; what one saves with save_result, the next can load by its
handle either way. "-" reads a file from standard input.

What a snippet prints goes to standard output as it comes, then its value as JSON.
Tracebacks go to standard error. With --json, standard output has one JSON object
for each run instead, on a line of its own:
  {"ok", "value", "stdout", "stderr", "error": {"type", "builtin", "message",
   "traceback"} or null, "artifacts", "duration_ms", "run_id", "executor",
   "session": "fresh", "new", "kept", "rolled_back", "lost" or "reset"}

Exit codes: 0 when every run succeeded, 1 when one failed, 2 when the command
can't be carried out as given, 128 + N when signal N ended it.`,
		Example: `  toolplane run report.py --input since='"2025-01-01"' --input limit=20
  toolplane run fetch.py aggregate.py --plugin issues=builtin:issues --json
  echo 'return sum(range(10))' | toolplane run -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(`no file was given; name a Python file, or "-" for standard input`)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.runFiles(c.Context(), o, args) },
	}
	flags := c.Flags()
	pluginFlag(flags, &o.plugins)
	flags.StringArrayVarP(&o.inputs, "input", "i", nil, `a value for every run, as NAME=JSON or NAME=@FILE; the snippet has it as inputs["NAME"] (repeatable)`)
	flags.BoolVar(&o.fresh, "fresh", false, "give each run a pristine interpreter, instead of the namespace of those before it")
	flags.DurationVar(&o.timeout, "timeout", 0, "time limit of each run, such as 90s (default: run_timeout of the configuration)")
	flags.BoolVar(&o.json, "json", false, "print one JSON object for each run")
	return c
}

func (a *app) runFiles(ctx context.Context, o runOptions, files []string) error {
	cfg, _, err := a.load()
	if err != nil {
		return err
	}
	if err := withPlugins(cfg, o.plugins); err != nil {
		return err
	}
	if o.timeout < 0 || o.timeout > cfg.Executor.MaxRunTimeout {
		return usage("--timeout must be between 0 and %s, the max_run_timeout of [executor], not %s", cfg.Executor.MaxRunTimeout, o.timeout)
	}
	inputs, err := a.parseInputs(ctx, o.inputs)
	if err != nil {
		return err
	}
	snippets, err := a.readSnippets(ctx, files)
	if err != nil {
		return err
	}
	status := a.status()
	status.say("starting the host…")
	defer status.clear()
	// A free port: the configured one belongs to "toolplane serve".
	h, err := a.open(ctx, cfg, "warn", host.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		status.clear()
		return err
	}
	defer a.close(h)

	failed := false
	var previous json.RawMessage
	for i, s := range snippets {
		if ctx.Err() != nil {
			break
		}
		p := &runPrinter{app: a, json: o.json, status: status, file: s.name, header: len(snippets) > 1, first: i == 0}
		res := a.runOne(ctx, h, p, executor.Request{
			Scope: runScope, Code: s.code, Filename: s.name, Inputs: inputs, Previous: previous, Fresh: o.fresh, Timeout: o.timeout,
		})
		if res.OK {
			previous = res.Value
		} else {
			failed = true
		}
		if err := p.result(res); err != nil {
			return fmt.Errorf("print the result of %s: %w", s.name, err)
		}
	}
	if failed {
		return &exitError{code: exitFailed}
	}
	return nil
}

func (a *app) runOne(ctx context.Context, h *host.Host, p *runPrinter, req executor.Request) *executor.Result {
	if h.Executor().Stats().Pages == 0 {
		p.status.say("starting the browser…")
	} else {
		p.status.say("running %s…", p.file)
	}
	if !p.json {
		req.OnOutput = p.output
	}
	return h.Run(ctx, req)
}

// parseInputs reads NAME=JSON and NAME=@FILE.
func (a *app) parseInputs(ctx context.Context, texts []string) (map[string]json.RawMessage, error) {
	inputs := make(map[string]json.RawMessage, len(texts))
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usage(`--input: %q isn't NAME=JSON, such as limit=20 or since='"2025-01-01"'`, text)
		}
		if _, twice := inputs[name]; twice {
			return nil, usage("--input: %q is given twice", name)
		}
		raw := []byte(value)
		if file, ok := strings.CutPrefix(value, "@"); ok {
			var err error
			if raw, err = a.readFile(ctx, file, maxInputBytes); err != nil {
				return nil, usage("--input %s: %w", name, err)
			}
		}
		if err := jsonvalue.Check(raw); err != nil {
			return nil, usage(`--input %s: %w; a text needs quotes of its own: %s='"…"'`, name, err, name)
		}
		inputs[name] = bytes.TrimSpace(raw)
	}
	return inputs, nil
}

func (a *app) readSnippets(ctx context.Context, files []string) ([]snippetFile, error) {
	out := make([]snippetFile, 0, len(files))
	stdinRead := false
	for _, name := range files {
		shown := name
		if name == "-" {
			if stdinRead {
				return nil, usage(`"-" is given twice, but standard input can be read only once`)
			}
			stdinRead = true
			shown = "<stdin>"
		}
		code, err := a.readFile(ctx, name, maxSnippetBytes)
		if err != nil {
			return nil, usage("the snippet can't be read: %w", err)
		}
		out = append(out, snippetFile{shown, string(code)})
	}
	return out, nil
}

// readFile reads a file, or standard input for "-", up to a limit. It returns
// when ctx ends, although the reading itself can't be interrupted.
func (a *app) readFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	source := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		source = f
	}
	type outcome struct {
		text []byte
		err  error
	}
	read := make(chan outcome, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(source, limit+1))
		read <- outcome{text, err}
	}()
	select {
	case o := <-read:
		if o.err == nil && int64(len(o.text)) > limit {
			return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
		}
		return o.text, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
