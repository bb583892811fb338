package main

import (
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigCheck(t *testing.T) {
	a := newTestApp(t)
	if code := a.do(t, "config", "check"); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, a.out, a.err)
	}
	for _, want := range []string{
		"Configuration: built-in defaults; no file was found.\n", "looked before at toolplane.toml: not there", "listens on 127.0.0.1:7350, reachable from this machine only",
		"A run has 30s (at most 10m when it asks), 10000 calls and 10 MiB of output", "share a namespace of at most 512 MiB; 8 such sessions are kept, each until nobody has used it for 30m", "save_result keeps 64 values of at most 8 MiB, 32 MiB in all, for 1h",
		"An answer above 16 KiB reaches",
		"There's no plugin", "Every setting has its default",
	} {
		if !strings.Contains(a.out.String(), want) {
			t.Errorf("no %q in\n%s", want, a.out)
		}
	}

	a.write(t, "toolplane.toml", `
[server]
listen = "0.0.0.0:7351"
allow_remote = true
[results]
enabled = false
[session]
enabled = false
[plugins.gone]
source = "gone.wasm"
allowed_hosts = ["api.example.org"]
env = { TOKEN = "hunter2" }
[plugins.off]
source = "builtin:issues"
enabled = false
[mcp]
expose = ["plugin:nothing/*"]
`)
	if code := a.do(t, "config", "check"); code != exitFailed {
		t.Errorf("exit code %d though a plugin is broken", code)
	}
	for _, want := range []string{
		"Configuration: toolplane.toml (from the current folder)\n", "Warning: toolplane.toml:3: server.listen: other machines can reach 0.0.0.0:7351",
		"from other machines too, without encryption", "save_result is turned off.", "sessions are turned off.", "Answers reach an agent whole", "Plugin off is turned off.",
		"may reach api.example.org and use no folder; 64 MiB, 30s a call", "listen = \"0.0.0.0:7351\"", "line 3\n", `env = { "TOKEN" = … }`,
		`no capability fits "plugin:nothing/*"`, "fold.enabled: answers can't be folded without the result store", "broken gone: its module can't be read: ",
	} {
		if !strings.Contains(a.out.String(), want) {
			t.Errorf("no %q in\n%s", want, a.out)
		}
	}
	if strings.Contains(a.out.String()+a.err.String(), "hunter2") {
		t.Error("a plugin's variable is shown")
	}
	if strings.Contains(a.out.String(), "max_in_flight") {
		t.Error("defaults are shown without --all")
	}

	if code := a.do(t, "config", "check", "--all", "--no-plugins"); code != exitOK || !strings.Contains(a.out.String(), "max_in_flight = 64") || !strings.Contains(a.out.String(), "Allowed: 1 to 4096 calls.") {
		t.Errorf("exit code %d\n%s%s", code, a.out, a.err)
	}
}

func TestConfigCheckJSON(t *testing.T) {
	a := newTestApp(t)
	a.write(t, "toolplane.toml", "[results]\nmax_entries = 5\n")
	if code := a.do(t, "config", "check", "--json"); code != exitOK {
		t.Fatalf("exit code %d\n%s", code, a.err)
	}
	var report configReport
	if err := json.Unmarshal([]byte(a.out.String()), &report); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, row := range report.Settings {
		if row.Line == 2 && row.Key == "max_entries" && row.Value == "5" {
			lines++
		}
	}
	if !report.OK || report.Path != "toolplane.toml" || lines != 1 || report.Plugins == nil {
		t.Errorf("%+v", report)
	}

	a.write(t, "toolplane.toml", "[results]\nmax_entries = 0\nmax_size = 1\n")
	if code := a.do(t, "config", "check", "--json"); code != exitFailed || a.err.String() != "" {
		t.Errorf("exit code %d\n%s", code, a.err)
	}
	report = configReport{}
	if err := json.Unmarshal([]byte(a.out.String()), &report); err != nil {
		t.Fatal(err)
	}
	if report.OK || len(report.Problems) != 2 || !strings.HasPrefix(report.Problems[1], "toolplane.toml:3: results.max_size: unknown setting") {
		t.Errorf("%+v", report)
	}
	if code := a.do(t, "config", "check"); code != exitFailed || !strings.Contains(a.err.String(), "toolplane.toml:2: results.max_entries") || a.out.String() != "" {
		t.Errorf("exit code %d\n%s%s", code, a.out, a.err)
	}
}

// TestConfigCheckOpensNothing: it neither listens on the configured port nor
// looks who does.
func TestConfigCheckOpensNothing(t *testing.T) {
	a := newTestApp(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected := make(chan struct{})
	go func() {
		defer close(connected)
		if c, err := l.Accept(); err == nil {
			t.Error("config check connected")
			_ = c.Close()
		}
	}()
	a.write(t, "toolplane.toml", "[server]\nlisten = \""+l.Addr().String()+"\"\n")
	if code := a.do(t, "config", "check"); code != exitOK {
		t.Errorf("exit code %d\n%s", code, a.err)
	}
	_ = l.Close()
	<-connected
}

func TestDoctor(t *testing.T) {
	a := newTestApp(t)
	a.write(t, "toolplane.toml", "[server]\nlisten = \"127.0.0.1:0\"\n[executor]\nbrowser = \"./no-browser\"\n[plugins.gone]\nsource = \"gone.wasm\"\n")
	if code := a.do(t, "doctor", "--no-run"); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"ok       configuration: toolplane.toml", "broken   browser: ", "no-browser", "broken   plugin gone: ", "ok       port: 127.0.0.1:0 is free", "to fix it: "} {
		if !strings.Contains(a.out.String(), want) {
			t.Errorf("no %q in\n%s", want, a.out)
		}
	}
	if code := a.do(t, "doctor", "--no-run", "--json"); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	var report doctorReport
	if err := json.Unmarshal([]byte(a.out.String()), &report); err != nil {
		t.Fatal(err)
	}
	if report.OK || report.Versions.Go == "" || len(report.Checks) < 6 {
		t.Errorf("%+v", report)
	}
	// A configuration that can't be used is one broken check; the others go on.
	a.write(t, "toolplane.toml", "nonsense")
	if code := a.do(t, "doctor", "--no-run"); code != exitFailed || !strings.Contains(a.out.String(), "broken   configuration: toolplane.toml:1: this isn't TOML") || !strings.Contains(a.out.String(), "compilation cache") {
		t.Errorf("exit code %d\n%s", code, a.out)
	}
}

func TestPluginCommandsOnBadModules(t *testing.T) {
	a := newTestApp(t)
	a.write(t, "bad.wasm", "this isn't a module")
	for _, args := range [][]string{{"plugin", "inspect", "bad.wasm"}, {"plugin", "call", "bad.wasm", "x"}} {
		if code := a.do(t, args...); code != exitFailed || a.out.String() != "" || !strings.HasPrefix(a.err.String(), "toolplane: ") {
			t.Errorf("%q: exit code %d\n%s%s", args, code, a.out, a.err)
		}
	}
	a.write(t, "toolplane.toml", "[plugins.mine]\nsource = \"bad.wasm\"\n")
	if code := a.do(t, "plugin", "inspect", "mine"); code != exitFailed || strings.Contains(a.err.String(), "neither a file") {
		t.Errorf("a plugin of the configuration isn't found: exit code %d\n%s", code, a.err)
	}
}

func TestNameOf(t *testing.T) {
	for file, want := range map[string]string{
		"x/count_vowels.wasm": "count_vowels", "a b.c.wasm": "a_b_c", ".wasm": "plugin", "…": "plugin", filepath.Join("x", strings.Repeat("y", 80)): strings.Repeat("y", 64),
	} {
		if got := nameOf(file); got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}
