package plugin

import (
	"bytes"
	"context"
	"encoding/binary"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// bare makes a plugin of a module without asking it for its tools.
func bare(t *testing.T, r *Runtime, text wasmText, spec Spec) *Plugin {
	t.Helper()
	spec.Name, spec.Wasm = "bare", text.bytes()
	spec, err := spec.checked()
	if err != nil {
		t.Fatal(err)
	}
	m, err := parseModule(spec.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := m.prepared(spec.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlugin(spec, r)
	if err := r.compile(t.Context(), p, wasm); err != nil {
		t.Fatal(err)
	}
	r.register(p)
	return p
}

func constant(n int) []byte { return appendSigned([]byte{opI32Const}, int64(n)) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func times(n int, code []byte) []byte { return bytes.Repeat(code, n) }

func callOf(function int) []byte { return binary.AppendUvarint([]byte{opCall}, uint64(function)) }

// endless are modules whose "call" runs for a very long time, each in another way.
func endless() map[string]wasmText {
	fill := join(constant(0), constant(7), constant(15<<20), []byte{0xfc, 11, 0})
	copies := join(constant(0), constant(1<<20), constant(14<<20), []byte{0xfc, 10, 0, 0})
	// mem[0]++, which no optimizer can leave out.
	count := join(constant(0), constant(0), []byte{0x28, 2, 0}, constant(1), []byte{0x6a, 0x36, 2, 0})
	nested := servlet(codeReturn0, join(callOf(2), codeReturn0)) // f2 calls f3 twice, which calls f4 twice, …
	for f := 3; f < 60; f++ {
		nested.funcs = append(nested.funcs, wasmFunc{code: times(2, callOf(f))})
	}
	nested.funcs = append(nested.funcs, wasmFunc{code: []byte{0x01}})
	leaves := servlet(codeReturn0, join(times(2000, callOf(2)), codeReturn0))
	leaves.funcs = append(leaves.funcs, wasmFunc{code: times(2000, callOf(3))}, wasmFunc{code: times(20_000, count)})
	deadLoop := servlet(codeReturn0, join(callOf(2), codeReturn0)) // a loop that is never entered mustn't stand for the rest
	deadLoop.funcs = append(deadLoop.funcs, nested.funcs[2:]...)
	for i := range deadLoop.funcs {
		if i >= 2 {
			f := &deadLoop.funcs[i]
			f.code = join(constant(0), []byte{0x04, 0x40, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b}, f.code)
		}
	}
	memory := func(m wasmText) wasmText { m.memory = []uint64{256}; return m }
	random := servlet(codeReturn0, []byte{0x03, 0x40, 0x0c, 0, 0x0b, opI32Const, 0})
	indirect := servlet(codeReturn0, join([]byte{0x03, 0x40}, constant(0), []byte{opCallIndirect, 0, 0, 0x0c, 0, 0x0b}, codeReturn0))
	indirect.funcs = append(indirect.funcs, wasmFunc{code: []byte{0x01}})
	indirect.table = []byte{1, 0x70, 0, 1}
	indirect.elements = []byte{1, 0, opI32Const, 0, opEnd, 1, 2}
	// Type 0 is what the table's function is called by; its own is an equal one.
	return map[string]wasmText{
		"a loop":               random,
		"indirect calls":       indirect,
		"memory.fill":          memory(servlet(codeReturn0, join(times(3000, fill), codeReturn0))),
		"memory.copy":          memory(servlet(codeReturn0, join(times(3000, copies), codeReturn0))),
		"nested calls":         nested,
		"many large functions": memory(leaves),
		"loops never entered":  deadLoop,
	}
}

// TestMeteredCodeStops runs what never ends. Each is stopped in time, and the garbage collector isn't kept waiting.
func TestMeteredCodeStops(t *testing.T) {
	r := newRuntime(t)
	for name, text := range endless() {
		t.Run(name, func(t *testing.T) {
			p := bare(t, r, text, Spec{Timeout: 200 * time.Millisecond, MemoryMB: 32})
			late := lateness(t)
			var collecting sync.WaitGroup
			collecting.Go(func() {
				waitFor(t, "the guest to run", func() bool { return p.Stats().Running == 1 })
				start := time.Now()
				runtime.GC()
				if took := time.Since(start); took > 300*time.Millisecond+late() {
					t.Errorf("a garbage collection took %v while the guest ran", took)
				}
			})
			start := time.Now()
			_, err := p.exec(t.Context(), &p.limit, "call", "call", nil)
			if took := time.Since(start); took > 700*time.Millisecond+late() {
				t.Errorf("the caller was answered after %v", took)
			}
			if err == nil || err.Type != "PluginTimeoutError" {
				t.Errorf("got %v", err)
			}
			collecting.Wait()
			waitFor(t, "the guest to end", func() bool { return p.Stats().Running == 0 })
			if took := time.Since(start); took > time.Second+late() {
				t.Errorf("the guest ran on for %v", took)
			}
		})
	}
}

// everything is a module that uses what metering has to renumber: an import, globals, a table, element segments of
// several kinds, references to functions, a start function, locals, and bulk operations. f(n) is to be the same before
// and after.
func everything() wasmText {
	return wasmText{
		imports: [][2]string{{"env", "nothing"}},
		memory:  []uint64{1},
		table:   []byte{1, 0x70, 0, 8},
		globals: []byte{2, 0x7f, 1, opI32Const, 5, opEnd, 0x70, 0, opRefFunc, 3, opEnd},
		elements: join([]byte{4},
			[]byte{0, opI32Const, 0, opEnd, 1, 3}, // active, by index
			[]byte{1, 0, 1, 4},                    // passive, by index
			[]byte{3, 0, 1, 3},                    // declarative
			[]byte{5, 0x70, 2, opRefFunc, 4, opEnd, 0xd0, 0x70, opEnd}), // passive, by expression
		start: 5,
		funcs: []wasmFunc{
			{export: "f", params: 1, result: true, locals: []byte{2, 2, 0x7f, 1, 0x7e}, code: join(
				callOf(0),
				// local 1 counts down from n; local 2 adds up g(i) through the table.
				[]byte{opLocalGet, 0, 0x21, 1},
				[]byte{0x03, 0x40, opLocalGet, 2, opLocalGet, 1}, constant(0), []byte{opCallIndirect, 4, 0, 0x6a, 0x21, 2},
				[]byte{opLocalGet, 1}, constant(1), []byte{0x6b, opLocalTee, 1}, constant(0), []byte{0x4a, 0x0d, 0, opEnd},
				// Fill, copy and read back memory.
				constant(100), constant(3), constant(8), []byte{0xfc, 11, 0},
				constant(200), constant(96), constant(16), []byte{0xfc, 10, 0, 0},
				[]byte{opLocalGet, 2}, constant(204), []byte{0x28, 2, 0, 0x6a}, // i32.load
				[]byte{opGlobalGet, 0, 0x6a},
				[]byte{0x02, 0x7f}, constant(40), []byte{opLocalGet, 0, 0x0e, 1, 0, 0, opEnd, 0x6a})}, // br_table
			{export: "unused", result: true, code: join([]byte{opRefFunc, 3, 0x1a, 0xd0, 0x70, 0x1a, 0x43, 0, 0, 0, 0, 0x1a, 0x44, 0, 0, 0, 0, 0, 0, 0, 0, 0x1a, 0x42, 0x7f, 0x1a}, codeReturn0)},
			// g(i) = i < 2 ? i : g(i-1) + g(i-2), by direct calls.
			{params: 1, result: true, code: join([]byte{opLocalGet, 0}, constant(2), []byte{0x48, 0x04, 0x7f, opLocalGet, 0, 0x05, opLocalGet, 0}, constant(1), []byte{0x6b}, callOf(3),
				[]byte{opLocalGet, 0}, constant(2), []byte{0x6b}, callOf(3), []byte{0x6a, opEnd})},
			{params: 1, result: true, code: []byte{opLocalGet, 0}},
			{code: join([]byte{opGlobalGet, 0}, constant(37), []byte{0x6a, opGlobalSet, 0})}, // the start function
		},
	}
}

func TestMeteredModuleDoesTheSame(t *testing.T) {
	wasm := everything().bytes()
	m, err := parseModule(wasm)
	if err != nil {
		t.Fatal(err)
	}
	metered, err := m.metered(wasm)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	results := map[string][]uint64{}
	for name, module := range map[string][]byte{"plain": wasm, "metered": metered} {
		rt := wazero.NewRuntime(ctx)
		defer rt.Close(ctx) //nolint:errcheck // of a test
		nothing := func(context.Context) {}
		if _, err := rt.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(nothing).Export("nothing").Instantiate(ctx); err != nil {
			t.Fatal(err)
		}
		checks := 0
		if _, err := rt.NewHostModuleBuilder(meterNamespace).NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) { checks++ }), nil, nil).Export(meterFunction).Instantiate(ctx); err != nil {
			t.Fatal(err)
		}
		inst, err := rt.Instantiate(ctx, module)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for n := range uint64(26) {
			res, err := inst.ExportedFunction("f").Call(ctx, n)
			if err != nil {
				t.Fatalf("%s: f(%d): %v", name, n, err)
			}
			results[name] = append(results[name], res[0])
		}
		if name == "metered" && checks == 0 {
			t.Error("the metered module never asked the host")
		}
	}
	for n := range results["plain"] {
		if results["plain"][n] != results["metered"][n] {
			t.Errorf("f(%d) is %d, metered %d", n, results["plain"][n], results["metered"][n])
		}
	}
	// f(5) = 1+1+2+3+5, the 0x03030303 from memory, the global after the start function, and 40.
	if want := uint64(12 + 0x03030303 + 42 + 40); results["plain"][5] != want {
		t.Errorf("f(5) is %d, want %d", results["plain"][5], want)
	}
}

// TestMeterCannotBeReset refuses a module that would use the counter, which is one past its own globals.
func TestMeterCannotBeReset(t *testing.T) {
	for name, code := range map[string][]byte{
		"set": join(constant(1<<30), []byte{opGlobalSet, 0}, codeReturn0),
		"get": {opGlobalGet, 0},
	} {
		wasm := servlet(codeReturn0, code).bytes()
		m, err := parseModule(wasm)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.metered(wasm); err == nil || !strings.Contains(err.Error(), "a global that the module doesn't have") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzMetered holds metering to keep valid modules valid.
func FuzzMetered(f *testing.F) {
	f.Add(everything().bytes())
	for _, text := range endless() {
		if wasm := text.bytes(); len(wasm) < 10_000 {
			f.Add(wasm)
		}
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := parseModule(wasm)
		if err != nil {
			return
		}
		metered, meterErr := m.metered(wasm)
		rt := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
		defer rt.Close(t.Context()) //nolint:errcheck // of a test
		if _, err := rt.CompileModule(t.Context(), wasm); err != nil {
			return
		}
		if meterErr != nil {
			t.Fatalf("a valid module can't be metered: %v", meterErr)
		}
		if _, err := rt.CompileModule(t.Context(), metered); err != nil {
			t.Fatalf("a valid module isn't valid any more: %v", err)
		}
	})
}
