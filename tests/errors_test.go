package tests

import (
	"fmt"
	"strings"
	"testing"
)

// catching wraps a snippet body: what did `except BUILTIN` catch, and how does it look from Python?
func catching(builtin, body string) string {
	return fmt.Sprintf(`
import traceback
try:
    %s
except %s as e:
    return {"type": type(e).__name__, "tool": isinstance(e, ToolError), "message": str(e), "traceback": traceback.format_exc()}
return "nothing was raised"
`, strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n    "), builtin)
}

// TestErrorContract provokes what the host can raise and catches it by its builtin in a real browser.
func TestErrorContract(t *testing.T) {
	cases := []struct {
		name, body, builtin, typ string
		message                  []string // parts of the message: what was wrong and the way out
	}{
		{"unknown handle", `await load_result("res_AAAAAAAAAAAAAAAAAAAAAA")`, "ValueError", "ResultStoreError", []string{"save the value again"}},
		{"malformed handle", `await load_result("nonsense")`, "ValueError", "ResultStoreError", nil},
		{"value over the cap", `await save_result("x" * (9 << 20))`, "ValueError", "ResultStoreError", []string{"8 MiB", "smaller"}},
		{"NaN", `await save_result({"rows": [1, float("nan")]})`, "ValueError", "ResultStoreError", []string{"value.rows[1]", "nan", "None"}},
		{"infinity", `await save_result([1e400])`, "ValueError", "ResultStoreError", []string{"value[0]", "inf"}},
		{"lone surrogate", `await save_result({"a": "\ud800"})`, "ValueError", "ResultStoreError", []string{"value.a", "surrogate"}},
		{"integer key", `await save_result({1: 2})`, "ValueError", "ResultStoreError", []string{"value", "int", "str"}},
		{"set", `await save_result({"s": {1, 2}})`, "ValueError", "ResultStoreError", []string{"value.s", "set", "sorted("}},
		{"nested lists", "v = []\nfor _i in range(5000): v = [v]\nawait save_result(v)", "ValueError", "ResultStoreError", []string{"levels", "flatten"}},
		{"cycle", "v = []\nv.append(v)\nawait save_result(v)", "ValueError", "ResultStoreError", []string{"value[0]"}},
		{"wrong argument type", `await issues_list(count="many")`, "ValueError", "InvalidArgumentsError", []string{"count", "integer"}},
		{"unknown argument", `await issues_list(cuont=1)`, "ValueError", "InvalidArgumentsError", []string{"cuont", "count"}},
		{"NaN as argument", `await call_tool("plugin:fault/echo", {"x": float("nan")})`, "ValueError", "InvalidArgumentsError", []string{"arguments.x", "nan"}},
		{"unknown capability", `await call_tool("plugin:issues/lst")`, "LookupError", "UnknownCapabilityError", []string{"plugin:issues/list"}},
		{"host not allowed", `await fault.http_get(url="http://example.com/")`, "PermissionError", "PolicyError", []string{"[plugins.fault]", "allowed_hosts", "example.com"}},
		{"plugin trap", `await fault.trap()`, "RuntimeError", "PluginError", []string{"fault"}},
		{"plugin exit", `await fault.exit()`, "RuntimeError", "PluginError", []string{"fault"}},
		{"plugin error code", `await fault.error_code()`, "RuntimeError", "PluginError", []string{"fault"}},
		{"plugin bad UTF-8", `await fault.bad_utf8()`, "RuntimeError", "PluginError", []string{"UTF-8"}},
		{"plugin bad JSON", `await fault.bad_json()`, "RuntimeError", "PluginError", []string{"JSON"}},
		{"plugin memory", `await fault.grow_memory()`, "MemoryError", "PluginMemoryError", []string{"memory_mb"}},
		{"plugin output", `await fault.huge_output(bytes=(16 << 20) + 1)`, "RuntimeError", "PluginError", []string{"max_output_bytes"}},
		{"issue not found", `await issues.get(id=2**60)`, "LookupError", "", []string{"1152921504606846976"}},
	}
	var snippets []snippet
	for _, c := range cases {
		snippets = append(snippets, snippet{strings.ReplaceAll(c.name, " ", "_"), catching(c.builtin, c.body)})
	}
	for i, r := range run(t, snippets, "--fresh", issuesPlugin, faultPlugin(t)) {
		c := cases[i]
		t.Run(c.name, func(t *testing.T) {
			if !r.OK {
				t.Fatalf("except %s didn't catch it: %+v", c.builtin, r.Error)
			}
			var got struct {
				Type, Message, Traceback string
				Tool                     bool
			}
			decode(t, r.Value, &got)
			if !got.Tool || c.typ != "" && got.Type != c.typ {
				t.Errorf("raised %s (a ToolError: %t), want %s: %s", got.Type, got.Tool, c.typ, got.Message)
			}
			for _, part := range c.message {
				if !strings.Contains(got.Message, part) {
					t.Errorf("the message lacks %q: %s", part, got.Message)
				}
			}
			assertUserFramesOnly(t, got.Traceback)
		})
	}
}

// TestPluginTimeout has a limit of its own, so it needs a config file.
func TestPluginTimeout(t *testing.T) {
	dir := t.TempDir()
	writeConfig(t, dir, "[plugins.fault]\nsource = "+quoted(t, "../plugins/dist/fault.wasm")+"\ntimeout = \"500ms\"\n")
	results := run(t, []snippet{
		{"loop", catching("TimeoutError", `await fault.loop()`)},
		{"next", `return await fault.echo(x=1)`},
	}, "--fresh", "--config", dir+"/toolplane.toml")
	var got struct{ Type, Message string }
	decode(t, results[0].Value, &got)
	if got.Type != "PluginTimeoutError" || !strings.Contains(got.Message, "500ms") || !strings.Contains(got.Message, "timeout") {
		t.Errorf("the loop ended with %s: %s", got.Type, got.Message)
	}
	if string(results[1].Value) != `{"x":1}` {
		t.Errorf("the call after the loop: %s %+v", results[1].Value, results[1].Error)
	}
}

// TestUncaughtErrors looks at the result object of runs that fail.
func TestUncaughtErrors(t *testing.T) {
	cases := []struct{ name, code, typ, builtin, in string }{
		{"host error", "x = 1\nawait load_result('res_AAAAAAAAAAAAAAAAAAAAAA')\n", "ResultStoreError", "ValueError", "line 2"},
		{"KeyError", "d = {}\n\nreturn d['a']\n", "KeyError", "LookupError", "line 3"},
		{"syntax", "x = (1,\n", "SyntaxError", "RuntimeError", "line 1"},
		{"division in a function", "def f():\n    return 1 / 0\nf()\n", "ZeroDivisionError", "RuntimeError", "line 2, in f"},
		{"not awaited", "issues_list(count=1)\n", "UnawaitedToolCallError", "RuntimeError", "issues_list"},
		{"not awaited, returned", "return [issues_list(count=1)]\n", "UnawaitedToolCallError", "RuntimeError", "issues_list"},
		{"exit", "import sys\nsys.exit(3)\n", "SystemExit", "RuntimeError", "line 2"},
		{"returned set", "return {'a': {1}}\n", "", "ValueError", "value.a"},
	}
	var snippets []snippet
	for _, c := range cases {
		snippets = append(snippets, snippet{strings.ReplaceAll(c.name, " ", "_"), c.code})
	}
	for i, r := range run(t, snippets, "--fresh", issuesPlugin) {
		c := cases[i]
		t.Run(c.name, func(t *testing.T) {
			if r.OK || r.Error == nil {
				t.Fatalf("it passed: %s", r.Value)
			}
			if c.typ != "" && r.Error.Type != c.typ || r.Error.Builtin != c.builtin {
				t.Errorf("%s/%s, want %s/%s", r.Error.Type, r.Error.Builtin, c.typ, c.builtin)
			}
			if !strings.Contains(r.Error.Traceback+r.Error.Message, c.in) {
				t.Errorf("neither traceback nor message has %q:\n%s\n%s", c.in, r.Error.Traceback, r.Error.Message)
			}
			assertUserFramesOnly(t, r.Error.Traceback)
		})
	}
}

// assertUserFramesOnly fails when a traceback shows a line of the sandbox's own plumbing.
func assertUserFramesOnly(t *testing.T, traceback string) {
	t.Helper()
	for line := range strings.Lines(traceback) {
		if strings.Contains(line, `File "`) && (strings.Contains(line, "_toolplane") || strings.Contains(line, "pyodide") || strings.Contains(line, "asyncio")) {
			t.Errorf("plumbing shows in the traceback: %s\n%s", line, traceback)
			return
		}
	}
}
