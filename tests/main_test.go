package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// binary is the real toolplane binary, built once for all tests of this package.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "toolplane-tests-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		for _, built := range []string{"../web/dist/executor/index.html", "../host/demo/plugins/issues.wasm", "../plugins/dist/fault.wasm"} {
			if _, err := os.Stat(built); err != nil {
				fmt.Fprintf(os.Stderr, "%v\nthe end-to-end tests need the built runtime and plugins: run `make web plugins`, or `make test` for everything\n", err)
				return 1
			}
		}
		binary = filepath.Join(dir, "toolplane")
		// Hosts and tokens of these tests alone: nothing of the user's own is joined.
		if err := os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		build := exec.Command("go", "build", "-o", binary, "../cmd/toolplane")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "go build:", err)
			return 1
		}
		return m.Run()
	}())
}

// runResult is one line of `toolplane run --json`, as documented for users.
type runResult struct {
	OK     bool            `json:"ok"`
	Value  json.RawMessage `json:"value"`
	Stdout string          `json:"stdout"`
	Stderr string          `json:"stderr"`
	Error  *struct {
		Type, Builtin, Message, Traceback string
	} `json:"error"`
	Artifacts  []json.RawMessage `json:"artifacts"`
	DurationMS float64           `json:"duration_ms"`
	RunID      string            `json:"run_id"`
	Executor   string            `json:"executor"`
	Tampered   bool              `json:"tampered"`
	line       []byte
}

// output is what one call of the binary did.
type output struct {
	stdout, stderr []byte
	code           int
}

// toolplane runs the binary with args in dir and waits for it, two minutes at most.
func toolplane(t *testing.T, dir string, args ...string) output {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TOOLPLANE_CONFIG=", "NO_COLOR=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("toolplane %q: %v, %v\nstderr: %s", args, err, ctx.Err(), stderr.Bytes())
	}
	return output{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()}
}

// snippet is one Python file of a call of `toolplane run`.
type snippet struct{ name, code string }

// run writes the snippets to files and runs them, in order, in one process and scope.
func run(t *testing.T, snippets []snippet, flags ...string) []runResult {
	t.Helper()
	dir := t.TempDir()
	args := append([]string{"run", "--json"}, flags...)
	for i, s := range snippets {
		file := fmt.Sprintf("%02d_%s.py", i, s.name)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(s.code), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	out := toolplane(t, dir, args...)
	var results []runResult
	for line := range bytes.Lines(out.stdout) {
		r := runResult{line: bytes.TrimSpace(line)}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("a line of stdout isn't one JSON object: %v\n%s", err, line)
		}
		results = append(results, r)
	}
	if len(results) != len(snippets) {
		t.Fatalf("%d results for %d snippets, exit code %d\nstdout: %s\nstderr: %s", len(results), len(snippets), out.code, out.stdout, out.stderr)
	}
	failed := false
	for _, r := range results {
		failed = failed || !r.OK
	}
	if want := map[bool]int{false: 0, true: 1}[failed]; out.code != want {
		t.Errorf("exit code %d, want %d\nstderr: %s", out.code, want, out.stderr)
	}
	return results
}

// faultPlugin is the flag that adds the test guest.
func faultPlugin(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../plugins/dist/fault.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return "--plugin=fault=" + path
}

const issuesPlugin = "--plugin=issues=builtin:issues"
