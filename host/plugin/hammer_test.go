package plugin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestHammer mixes calls that go wrong in every way with calls that must get back exactly what they sent, over 8
// workers and two plugins with fewer instances than that.
func TestHammer(t *testing.T) {
	const timeout = 3 * time.Second
	r := newRuntime(t)
	plugins := []*Plugin{
		open(t, r, Spec{Name: "fault", Timeout: timeout, MaxConcurrent: 3, MemoryMB: 24}),
		open(t, r, Spec{Name: "other", Wasm: guest(t, "fault"), Timeout: timeout, MaxConcurrent: 2, MemoryMB: 24}),
	}
	faults := []struct{ tool, arguments, typ string }{
		{"trap", `{}`, "PluginError"},
		{"panic", `{"message":"x"}`, "PluginError"},
		{"exit", `{"code":1}`, "PluginError"},
		{"bad_json", `{}`, "PluginError"},
		{"bad_utf8", `{}`, "PluginError"},
		{"empty_error", `{}`, "PluginError"},
		{"error_code", `{"code":3,"message":"m"}`, "PluginError"},
		{"grow_memory", `{}`, "PluginMemoryError"},
		{"grow_kernel", `{}`, "PluginMemoryError"},
		{"corrupt_kernel", `{}`, "PluginError"},
		{"http_get", `{"url":"https://example.com"}`, "PolicyError"},
	}
	calls := 40
	if testing.Short() {
		calls = 15
	}
	late := lateness(t)
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			dice := rand.New(rand.NewPCG(1, uint64(worker)))
			for i := range calls {
				p := plugins[dice.IntN(len(plugins))]
				start := time.Now()
				switch dice.IntN(10) {
				case 0, 1:
					f := faults[dice.IntN(len(faults))]
					if _, err := call(t.Context(), p, f.tool, f.arguments); err == nil || err.Type != f.typ && err.Type != "PluginBusyError" && err.Type != "PluginTimeoutError" {
						t.Errorf("%s: got %v, want a %s", f.tool, err, f.typ)
					}
				case 2:
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
					if _, err := call(ctx, p, "loop", `{}`); err == nil || err.Type != "PluginTimeoutError" && err.Type != "PluginBusyError" {
						t.Errorf("loop: got %v", err)
					}
					cancel()
				default:
					want := fmt.Sprintf(`{"worker":%d,"call":%d,"pad":%q}`, worker, i, strings.Repeat("x", dice.IntN(20000)))
					got, err := call(t.Context(), p, "echo", want)
					if err != nil && err.Type != "PluginBusyError" && err.Type != "PluginTimeoutError" || err == nil && got != want {
						t.Errorf("echo: got %s, %v", clip(got, 100), err)
					}
				}
				if took := time.Since(start); took > timeout+500*time.Millisecond+late() {
					t.Errorf("a call was answered after %v", took)
				}
			}
		})
	}
	workers.Wait()
	for _, p := range plugins {
		mustCall(t, p, "noop", `{}`)
		if s := p.Stats(); s.Running != 0 || s.Waiting != 0 || s.Stuck != 0 || s.Idle > p.spec.MaxConcurrent {
			t.Errorf("afterwards: %+v", s)
		}
	}
}

// TestHammerOpenAndClose opens, calls and closes plugins of one runtime at the same time.
func TestHammerOpenAndClose(t *testing.T) {
	r := newRuntime(t)
	var workers sync.WaitGroup
	for worker := range 3 {
		workers.Go(func() {
			for i := range 3 {
				p, err := r.Open(t.Context(), Spec{Name: fmt.Sprintf("p%d", worker), Wasm: guest(t, "fault")})
				if err != nil {
					t.Error(err)
					return
				}
				var calls sync.WaitGroup
				for range 3 {
					calls.Go(func() {
						if _, err := call(context.Background(), p, "echo", `{"a":1}`); err != nil && !strings.Contains(err.Message, "closed") {
							t.Errorf("got %v", err)
						}
					})
				}
				if i%2 == 0 {
					calls.Wait()
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
				calls.Wait()
			}
		})
	}
	workers.Wait()
}
