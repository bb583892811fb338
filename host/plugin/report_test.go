package plugin

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
)

func TestInspect(t *testing.T) {
	r := newRuntime(t)
	rep, err := r.Inspect(t.Context(), guest(t, "fault"))
	if err != nil {
		t.Fatal(err)
	}
	if rep.Shape != ShapeMCP || rep.Bytes != len(guest(t, "fault")) || len(rep.SHA256) != 64 || rep.Memory.Min < 1<<20 || len(rep.Problems) > 0 {
		t.Errorf("got %+v", rep)
	}
	if i := slices.IndexFunc(rep.Exports, func(f Function) bool { return f.Name == "call" }); i < 0 || rep.Exports[i].String() != "call() -> i32" {
		t.Errorf("exports %v", rep.Exports)
	}
	if i := slices.IndexFunc(rep.Imports, func(f Function) bool { return f.Name == "http_request" }); i < 0 || rep.Imports[i].String() != "extism:host/env.http_request(i64, i64) -> i64" {
		t.Errorf("imports %v", rep.Imports)
	}
	if i := slices.IndexFunc(rep.Asks, func(a Ask) bool { return a.What == "HTTP requests" }); i < 0 || rep.Asks[i].Grant != `allowed_hosts = ["…"]` {
		t.Errorf("asks %v", rep.Asks)
	}
	if len(rep.Tools) < 20 || !slices.ContainsFunc(rep.Tools, func(c capability.Capability) bool { return c.Name == "echo" }) {
		t.Errorf("tools %v", rep.Tools)
	}
	if text, err := json.Marshal(rep); err != nil || !strings.Contains(string(text), `"shape":"mcp"`) {
		t.Errorf("as JSON: %s, %v", text, err)
	}
	if len(r.open) > 0 {
		t.Error("the inspected module is still open")
	}
}

func TestInspectModulesThatCannotRun(t *testing.T) {
	r := newRuntime(t)
	for name, tc := range map[string]struct {
		module  wasmText
		shape   Shape
		problem string
	}{
		"plain":           {wasmText{funcs: []wasmFunc{{export: "count_vowels", result: true, code: codeReturn0}}}, ShapePlain, "doesn't export the functions describe and call"},
		"hyper-mcp":       {wasmText{funcs: []wasmFunc{{export: "list_tools", result: true, code: codeReturn0}, {export: "call_tool", result: true, code: codeReturn0}}}, ShapeHyperMCP, "hyper-mcp v2"},
		"describe traps":  {servlet(codeTrap, codeReturn0), ShapeMCP, "can't describe its tools"},
		"unknown imports": {wasmText{imports: [][2]string{{"moon", "phase"}}, funcs: servlet(codeReturn0, codeReturn0).funcs}, ShapeMCP, "moon.phase"},
		"imports memory":  {wasmText{otherKinds: []byte{1, 'm', 1, 'n', kindMemory, 0, 1}, funcs: servlet(codeReturn0, codeReturn0).funcs}, ShapeMCP, "m.n (not a function)"},
	} {
		t.Run(name, func(t *testing.T) {
			rep, err := r.Inspect(t.Context(), tc.module.bytes())
			if err != nil {
				t.Fatal(err)
			}
			if rep.Shape != tc.shape || len(rep.Problems) != 1 || !strings.Contains(rep.Problems[0], tc.problem) {
				t.Errorf("shape %s, problems %q", rep.Shape, rep.Problems)
			}
		})
	}
	if _, err := r.Inspect(t.Context(), []byte("PK\x03\x04")); err == nil || !strings.Contains(err.Error(), "isn't a WebAssembly module") {
		t.Errorf("got %v", err)
	}
}
