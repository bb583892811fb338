package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// childVar makes this test binary do something else than testing: see TestMain.
const childVar = "TOOLPLANE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVar) == "stdout" {
		_ = os.Unsetenv(childVar) // its own child is to be an ordinary one
		os.Exit(stdoutChild())
	}
	goleak.VerifyTestMain(m)
}

// safeBuffer can be read while a command still writes.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// testApp is a command line in an empty folder, with nothing of the user's own.
type testApp struct {
	*app
	out, err *safeBuffer
	dir      string
}

func newTestApp(t *testing.T) *testApp {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "HOME"} {
		t.Setenv(name, filepath.Join(dir, "user"))
	}
	for _, name := range []string{"TOOLPLANE_CONFIG", "TOOLPLANE_BROWSER", "TOOLPLANE_TOKEN"} {
		t.Setenv(name, "")
	}
	a := &testApp{out: &safeBuffer{}, err: &safeBuffer{}, dir: dir}
	a.app = &app{
		stdin: strings.NewReader(""), stdout: a.out, stderr: a.err, getenv: os.Getenv,
		page: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page\n") }),
	}
	return a
}

// do runs a command line in a fresh process, as far as the app is concerned.
func (a *testApp) do(t *testing.T, args ...string) int {
	t.Helper()
	a.out, a.err = &safeBuffer{}, &safeBuffer{}
	fresh := *a.app
	fresh.stdout, fresh.stderr = a.out, a.err
	return fresh.main(t.Context(), args)
}

func (a *testApp) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestUsage: what can't be done as given ends with code 2, says why and what would
// be right, and prints nothing to stdout.
func TestUsage(t *testing.T) {
	a := newTestApp(t)
	a.write(t, "s.py", "return 1")
	a.write(t, "bad.toml", "[server]\nlisten = 1\n")
	a.write(t, "large.py", strings.Repeat("#", maxSnippetBytes+1))
	for _, c := range []struct {
		args string
		want string
	}{
		{"dmeo", "toolplane: unknown command \"dmeo\" for \"toolplane\"; did you mean demo?\n"},
		{"zebra", "toolplane: unknown command \"zebra\" for \"toolplane\"; there are: config, demo, doctor, init, plugin, run, serve, token, version\n"},
		{"serve mpc", "toolplane: unknown command \"mpc\" for \"toolplane serve\"; did you mean mcp?\nSee: toolplane serve --help\n"},
		{"plugin call2", "toolplane: unknown command \"call2\" for \"toolplane plugin\"; did you mean call?\n"},
		{"config zebra", "toolplane: unknown command \"zebra\" for \"toolplane config\"; there are: check\n"},
		{"run", "toolplane: no file was given; name a Python file, or \"-\" for standard input\nSee: toolplane run --help\n"},
		{"run --zebra", "toolplane: unknown flag: --zebra\nSee: toolplane run --help\n"},
		{"run s.py --timeout soon", "toolplane: invalid argument \"soon\" for \"--timeout\" flag"},
		{"run s.py --timeout 11m", "toolplane: --timeout must be between 0 and 10m0s, the max_run_timeout of [executor], not 11m0s\n"},
		{"run s.py --timeout -1s", "toolplane: --timeout must be between 0 and 10m0s"},
		{"run nope.py", "toolplane: the snippet can't be read: open nope.py: no such file or directory\n"},
		{"run large.py", "toolplane: the snippet can't be read: large.py has more than 4194304 bytes\n"},
		{"run - -", "toolplane: \"-\" is given twice, but standard input can be read only once\n"},
		{"run s.py --input n", "toolplane: --input: \"n\" isn't NAME=JSON, such as limit=20"},
		{"run s.py --input =1", "toolplane: --input: \"=1\" isn't NAME=JSON"},
		{"run s.py --input n=1 --input n=2", "toolplane: --input: \"n\" is given twice\n"},
		{"run s.py --input n=abc", "a text needs quotes of its own: n='\"…\"'\n"},
		{"run s.py --input n=1e400", "toolplane: --input n: "},
		{"run s.py --input n=@nope.json", "toolplane: --input n: open nope.json"},
		{"run s.py --plugin x", "toolplane: --plugin: \"x\" has no =: write NAME=SOURCE"},
		{"run s.py --config nope.toml", "toolplane: the configuration can't be used:\nthe file that --config names can't be read: open nope.toml"},
		{"run s.py --config bad.toml", "toolplane: the configuration can't be used:\nbad.toml:2: server.listen: must be text, not the number 1\n"},
		{"run s.py --log-level loud", "toolplane: --log-level: \"loud\" isn't a level; there are debug, info, warn, error\n"},
		{"serve --listen 0.0.0.0:0", "toolplane: server.listen: other machines could reach \"0.0.0.0:0\""},
		{"serve --listen nonsense", "toolplane: server.listen: \"nonsense\" isn't an address and port"},
		{"serve mcp x", "toolplane: toolplane serve mcp takes no arguments, but there is \"x\"\n"},
		{"init x", "toolplane: toolplane init takes no arguments"},
		{"plugin inspect", "toolplane: toolplane plugin inspect needs the plugin's file; it got 0 arguments\n"},
		{"plugin inspect nope.wasm", "toolplane: \"nope.wasm\" is neither a file, nor a plugin of the configuration, nor \"builtin:NAME\"\n"},
		{"plugin inspect builtin:zebra", "toolplane: builtin:zebra: there's no builtin plugin \"zebra\"; there are: issues\n"},
		{"plugin call s.py", "toolplane: toolplane plugin call needs the plugin's file and the tool's name; it got 1 arguments\n"},
		{"plugin call s.py x --args @nope.json", "toolplane: --args: open nope.json"},
		{"plugin call s.py x --allow-path data", "toolplane: --allow-path: \"data\" isn't [ro:]FOLDER=/PATH"},
		{"plugin call s.py x --set a", "toolplane: --set: \"a\" isn't NAME=VALUE\n"},
	} {
		t.Run(c.args, func(t *testing.T) {
			code := a.do(t, strings.Fields(c.args)...)
			if code != exitUsage || a.out.String() != "" || !strings.Contains(a.err.String(), c.want) {
				t.Errorf("exit code %d\nstdout: %s\nstderr: %s\nwant %q", code, a.out, a.err, c.want)
			}
		})
	}
}

// TestHelp: every command explains itself, with an example unless it takes nothing.
func TestHelp(t *testing.T) {
	a := newTestApp(t)
	var paths [][]string
	var collect func(path []string)
	collect = func(path []string) {
		paths = append(paths, path)
		c, _, err := a.root().Find(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				collect(append(path[:len(path):len(path)], sub.Name()))
			}
		}
	}
	collect(nil)
	if len(paths) < 13 {
		t.Errorf("only %d commands", len(paths))
	}
	for _, path := range paths {
		if code := a.do(t, append(path, "--help")...); code != exitOK || !strings.Contains(a.out.String(), "Usage:") || a.err.String() != "" {
			t.Errorf("%q: exit code %d\n%s%s", path, code, a.out, a.err)
		}
		c, _, _ := a.root().Find(path)
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%q: short help %q", path, c.Short)
		}
		if c.HasAvailableSubCommands() && c.Name() != "serve" || c.Name() == "version" || c.Name() == "demo" {
			continue
		}
		if c.Example == "" || c.Long == "" {
			t.Errorf("%q has no example or no long help", path)
		}
	}
	if code := a.do(t); code != exitOK || !strings.Contains(a.out.String(), "toolplane demo") {
		t.Errorf("no arguments: exit code %d\n%s", code, a.out)
	}
}

func TestInit(t *testing.T) {
	a := newTestApp(t)
	if code := a.do(t, "init"); code != exitOK || !strings.Contains(a.out.String(), "Wrote toolplane.toml. See what it means with: toolplane config check\n") {
		t.Fatalf("exit code %d\n%s%s", code, a.out, a.err)
	}
	info, err := os.Stat("toolplane.toml")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	a.write(t, "toolplane.toml", "# mine\n")
	if code := a.do(t, "init"); code != exitFailed || !strings.Contains(a.err.String(), "toolplane.toml is there already and is left alone; choose another place with --path") {
		t.Errorf("exit code %d\n%s", code, a.err)
	}
	if text, err := os.ReadFile("toolplane.toml"); err != nil || string(text) != "# mine\n" {
		t.Errorf("the file is now %q, %v", text, err)
	}
	if code := a.do(t, "init", "--path", "new/folder/t.toml"); code != exitOK || !strings.Contains(a.out.String(), "--config new/folder/t.toml") {
		t.Errorf("exit code %d\n%s%s", code, a.out, a.err)
	}
	written, err := os.ReadFile("new/folder/t.toml")
	if err != nil {
		t.Fatal(err)
	}
	if code := a.do(t, "init", "--print"); code != exitOK || a.out.String() != string(written) {
		t.Error("--print prints something else than what's written")
	}
}

func TestVersion(t *testing.T) {
	a := newTestApp(t)
	if code := a.do(t, "version"); code != exitOK || !strings.HasPrefix(a.out.String(), "toolplane ") || !strings.Contains(a.out.String(), "pyodide") || !strings.Contains(a.out.String(), "go1.") {
		t.Errorf("exit code %d\n%s", code, a.out)
	}
	if code := a.do(t, "version", "--json"); code != exitOK || !strings.Contains(a.out.String(), `"go": "go1.`) {
		t.Errorf("exit code %d\n%s", code, a.out)
	}
	if got := (versionInfo{Commit: "0123456789abcdef"}).named().Version; got != "devel-0123456789ab" {
		t.Error(got)
	}
}

// run starts a command that goes on until its context ends.
func (a *testApp) start(ctx context.Context, args ...string) (done chan int) {
	a.out, a.err = &safeBuffer{}, &safeBuffer{}
	fresh := *a.app
	fresh.stdout, fresh.stderr = a.out, a.err
	done = make(chan int, 1)
	go func() { done <- fresh.main(ctx, args) }()
	return done
}
