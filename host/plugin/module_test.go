package plugin

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

func TestParseModuleRefuses(t *testing.T) {
	good := servlet(codeReturn0, codeReturn0).bytes()
	for name, tc := range map[string]struct {
		wasm []byte
		want string
	}{
		"empty":             {nil, "isn't a WebAssembly module"},
		"text":              {[]byte("(module)"), "isn't a WebAssembly module"},
		"component":         {[]byte("\x00asm\x0d\x00\x01\x00"), "component"},
		"version":           {[]byte("\x00asm\x02\x00\x00\x00"), "version 2"},
		"cut section":       {good[:len(good)-3], "damaged"},
		"section too long":  {append(slices.Clone(good[:8]), sectionImport, 0xff, 0x01), "damaged"},
		"lying count":       {append(slices.Clone(good[:8]), sectionImport, 1, 0x7f), "damaged"},
		"endless LEB":       {append(slices.Clone(good[:8]), sectionImport, 11, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), "out of range"},
		"name not UTF-8":    {wasmText{imports: [][2]string{{"\xff", "f"}}}.bytes(), "UTF-8"},
		"unknown import":    {wasmText{otherKinds: []byte{1, 'm', 1, 'n', 9, 0}}.bytes(), "unknown kind 9"},
		"64-bit memory":     {append(slices.Clone(good[:8]), sectionMemory, 3, 1, 4, 1), "64-bit"},
		"garbage-collected": {append(slices.Clone(good[:8]), sectionType, 2, 1, 0x4e), "type form 0x4e"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseModule(tc.wasm); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestParseModuleReadsGuest(t *testing.T) {
	m, err := parseModule(guest(t, "fault"))
	if err != nil {
		t.Fatal(err)
	}
	f, ok := m.exportedFunc("call")
	if got := f.function("", "call").String(); !ok || got != "call() -> i32" {
		t.Errorf("call is %s", got)
	}
	if m.shape() != ShapeMCP || len(m.unknownImports()) > 0 || m.memory.minPages < 10 {
		t.Errorf("shape %s, unknown imports %q, memory %+v", m.shape(), m.unknownImports(), m.memory)
	}
}

func TestRedirectImports(t *testing.T) {
	text := servlet(codeReturn0, codeReturn0)
	text.imports = [][2]string{{"a", "keep"}, {"a", "move"}, {"b", "move"}}
	text.memory = []uint64{1}
	wasm := text.bytes()
	m, err := parseModule(wasm)
	if err != nil {
		t.Fatal(err)
	}
	moved := m.redirectImports(wasm, func(module, name string) (string, bool) {
		return strings.Repeat("long", 100), module == "a" && name == "move"
	})
	compiled, err := wazero.NewRuntime(t.Context()).CompileModule(t.Context(), moved)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		got = append(got, module[:1]+"."+name)
	}
	if want := []string{"a.keep", "l.move", "b.move"}; !slices.Equal(got, want) {
		t.Errorf("imports %q, want %q", got, want)
	}
	if len(compiled.ExportedFunctions()) != 2 {
		t.Errorf("exports %v", compiled.ExportedFunctions())
	}
	same := m.redirectImports(wasm, func(string, string) (string, bool) { return "", false })
	if !bytes.Equal(same, wasm) {
		t.Error("a module with nothing to redirect was changed")
	}
}

func FuzzParseModule(f *testing.F) {
	f.Add(servlet(codeReturn0, codeLoop).bytes())
	f.Add(wasmText{imports: [][2]string{{"extism:host/env", "http_request"}}, memory: []uint64{1, 2}, start: 1, funcs: []wasmFunc{{code: codeTrap}}}.bytes())
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := parseModule(wasm)
		if err != nil {
			return
		}
		for _, e := range m.exports {
			m.funcType(e.index)
		}
		m.shape()
		m.asks()
		again, err := parseModule(m.redirectImports(wasm, redirectImport))
		if err != nil {
			t.Fatalf("the module can't be read after its imports were redirected: %v", err)
		}
		if len(again.imports) != len(m.imports) || len(again.exports) != len(m.exports) {
			t.Fatalf("redirecting changed %d imports to %d, %d exports to %d", len(m.imports), len(again.imports), len(m.exports), len(again.exports))
		}
	})
}
