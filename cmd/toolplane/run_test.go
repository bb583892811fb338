package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/executor"
)

// TestRunPrinter: what a person sees of runs.
func TestRunPrinter(t *testing.T) {
	ok := func(value, stdout, stderr string) *executor.Result {
		return &executor.Result{OK: true, Value: json.RawMessage(value), Stdout: stdout, Stderr: stderr, Artifacts: []executor.Artifact{}, RunID: "run_1"}
	}
	failed := func(e executor.RunError, stdout string) *executor.Result {
		return &executor.Result{Value: json.RawMessage("null"), Stdout: stdout, Error: &e, Artifacts: []executor.Artifact{}}
	}
	cases := []struct {
		name        string
		header      bool
		live        []string // what came as output, on stdout
		res         *executor.Result
		stdout, err string
	}{
		{"value", false, nil, ok(`{"a":[1,2.50]}`, "", ""), "{\n  \"a\": [\n    1,\n    2.50\n  ]\n}\n", ""},
		{"nothing", false, nil, ok(`null`, "", ""), "", ""},
		{"output that came live", false, []string{"one\n", "two"}, ok(`1`, "one\ntwo", ""), "one\ntwo\n1\n", ""},
		{"output that came late", false, []string{"one\n"}, ok(`1`, "one\ntwo\n", "careful\n"), "one\ntwo\n1\n", "careful\n"},
		{"output that didn't come", false, nil, ok(`1`, "x\n", ""), "x\n1\n", ""},
		{"header", true, nil, ok(`1`, "", ""), "==> f.py <==\n1\n", ""},
		{"error", false, nil, failed(executor.RunError{Type: "ZeroDivisionError", Message: "division by zero", Traceback: "Traceback …\nZeroDivisionError: division by zero\n"}, "x"), "x\n", "Traceback …\nZeroDivisionError: division by zero\n"},
		{"error without traceback", false, nil, failed(executor.RunError{Type: "BrowserError", Message: "no browser"}, ""), "", "BrowserError: no browser\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := newTestApp(t)
			p := &runPrinter{app: a.app, status: &status{}, file: "f.py", header: c.header, first: true}
			for _, text := range c.live {
				p.output("stdout", text)
			}
			if err := p.result(c.res); err != nil {
				t.Fatal(err)
			}
			if a.out.String() != c.stdout || a.err.String() != c.err {
				t.Errorf("stdout %q, want %q\nstderr %q, want %q", a.out, c.stdout, a.err, c.err)
			}
		})
	}
}

func TestRunPrinterJSON(t *testing.T) {
	a := newTestApp(t)
	p := &runPrinter{app: a.app, json: true, status: &status{}, file: "f.py", header: true}
	if err := p.result(&executor.Result{OK: true, Value: json.RawMessage(`[9007199254740993, 1.0, "<"]`), Artifacts: []executor.Artifact{}, RunID: "run_1", Executor: "headless"}); err != nil {
		t.Fatal(err)
	}
	line := a.out.String()
	if strings.Count(line, "\n") != 1 || !strings.Contains(line, "9007199254740993") || !strings.Contains(line, "1.0") || !strings.Contains(line, `"<"`) {
		t.Errorf("%s", line)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ok", "value", "stdout", "stderr", "error", "artifacts", "duration_ms", "run_id", "executor"} {
		if _, there := fields[name]; !there {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestRunWithoutBrowser goes through the whole command: each run fails, is
// printed, and the exit code says so.
func TestRunWithoutBrowser(t *testing.T) {
	a := newTestApp(t)
	a.write(t, "toolplane.toml", "[executor]\nheadless = false\n")
	a.write(t, "a.py", "return 1")
	a.write(t, "in.json", ` {"x": 1} `)
	a.stdin = strings.NewReader("return 2")
	if code := a.do(t, "run", "a.py", "-", "--json", "-i", "n=@in.json"); code != exitFailed {
		t.Errorf("exit code %d\n%s", code, a.err)
	}
	lines := strings.Split(strings.TrimSpace(a.out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines\n%s%s", len(lines), a.out, a.err)
	}
	for _, line := range lines {
		var res executor.Result
		if err := json.Unmarshal([]byte(line), &res); err != nil || res.OK || res.Error.Type != executor.TypeBrowser {
			t.Errorf("%v: %s", err, line)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 3257361: "3,257,361", -1234: "-1,234", -123: "-123"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// TestDemoPrinter holds what the demonstration has to show.
func TestDemoPrinter(t *testing.T) {
	a := newTestApp(t)
	p := &demoPrinter{app: a.app}
	p.summary(&demoReport{StayedBytes: 3257361, ReachedBytes: 894, Steps: []demoStep{{"start the host", 1.6}}})
	for _, want := range []string{"3,257,361 bytes stayed on the host", "894 bytes reached the caller, in both results together (1/3643 of it)", "2 ms  start the host", "toolplane init", "toolplane run", "toolplane serve mcp"} {
		if !strings.Contains(a.out.String(), want) {
			t.Errorf("no %q in\n%s", want, a.out)
		}
	}
	if strings.Contains(a.out.String(), "\x1b[") {
		t.Error("colors, though it's no terminal")
	}
}

func TestColorsOnlyOnATerminal(t *testing.T) {
	a := newTestApp(t)
	if a.palette(a.out).on || isTerminal(a.out) {
		t.Error("a buffer is taken for a terminal")
	}
	if got := (palette{}).red("x") + (palette{on: true}).red("x") + (palette{on: true}).red(""); got != "x\x1b[31mx\x1b[0m" {
		t.Errorf("%q", got)
	}
	var s status
	s.say("x")
	s.clear()
	out := &safeBuffer{}
	s.out = out
	s.say("one %d", 1)
	s.clear()
	s.clear()
	if out.String() != "\r\x1b[Kone 1\r\x1b[K" {
		t.Errorf("%q", out)
	}
}

func TestPlain(t *testing.T) {
	if got := plain("a\x1b[31mb\tc\nd\u202ee\u0085é🔥"); got != "a�[31mb\tc\nd�e�é🔥" {
		t.Errorf("%q", got)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestUnwritten: an answer that couldn't be written isn't a success.
func TestUnwritten(t *testing.T) {
	a := newTestApp(t)
	a.stdout = fullDisk{}
	if code := a.main(t.Context(), []string{"version"}); code != exitFailed || a.err.String() != "toolplane: write to standard output: no space left on device\n" {
		t.Errorf("exit code %d\n%s", code, a.err)
	}
}
