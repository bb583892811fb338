package plugin

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
)

// BenchmarkNoop compares a call through the pool (deadline, watchdog, limits, reading the answer) with bare calls of
// go-sdk: "raw" on the same compiled module, and "stock" as go-sdk alone would run it under a time limit.
func BenchmarkNoop(b *testing.B) {
	benchmarkCall(b, "noop", func(int) string { return `{}` }, []int{0})
}

// BenchmarkEcho sends text to a guest and back, where bytes cross the border 8 at a time.
func BenchmarkEcho(b *testing.B) {
	benchmarkCall(b, "echo", func(n int) string { return `{"pad":"` + strings.Repeat("x", n) + `"}` }, []int{64 << 10, 1 << 20})
}

func benchmarkCall(b *testing.B, tool string, arguments func(n int) string, sizes []int) {
	p := open(b, newRuntime(b), Spec{})
	inst, err := p.newInstance(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer inst.close()
	compiled, err := extism.NewCompiledPlugin(b.Context(), extism.Manifest{
		Wasm: []extism.Wasm{extism.WasmData{Data: guest(b, "fault")}}, Timeout: 30_000, Config: p.spec.Config,
	}, extism.PluginConfig{EnableWasi: true}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer compiled.Close(context.Background()) //nolint:errcheck // of a benchmark
	stock, err := compiled.Instance(b.Context(), extism.PluginInstanceConfig{ModuleConfig: wazero.NewModuleConfig().WithSysWalltime().WithSysNanotime()})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range sizes {
		args := arguments(n)
		input := callInput(tool, []byte(args))
		run := func(name string, f func() error) {
			if n > 0 {
				name = fmt.Sprintf("%s/%dKiB", name, n>>10)
			}
			b.Run(name, func(b *testing.B) {
				b.SetBytes(int64(len(args) * min(1, n)))
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("stock", func() error {
			_, _, err := stock.CallWithContext(b.Context(), "call", input)
			return err
		})
		run("raw", func() error {
			inst.begin(b.Context())
			_, _, err := inst.guest.CallWithContext(context.WithValue(b.Context(), instanceKey{}, inst), "call", input)
			return err
		})
		run("pool", func() error {
			if _, err := call(b.Context(), p, tool, args); err != nil {
				return err
			}
			return nil
		})
	}
}

// BenchmarkOpen is the start of a plugin of 4 MB whose code is in the compilation cache, its description included.
func BenchmarkOpen(b *testing.B) {
	r := newRuntime(b)
	open(b, r, Spec{Name: "issues"}) // into the cache
	for b.Loop() {
		if err := open(b, r, Spec{Name: "issues"}).Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIssues is what the demo moves.
func BenchmarkIssues(b *testing.B) {
	p := open(b, newRuntime(b), Spec{Name: "issues", Timeout: time.Minute})
	for b.Loop() {
		b.SetBytes(int64(len(mustCall(b, p, "list", `{"count":5000}`))))
	}
}
