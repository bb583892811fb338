package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolplane/toolplane/host/capability"
)

// sharedCache is the compilation cache of all tests of this package, kept between runs: compiling a guest takes a second,
// and half a minute under the race detector.
const sharedCache = "../../.cache/wazero-test"

func TestMain(m *testing.M) {
	// Incremental: a fraction of a second when nothing has changed.
	build := exec.Command("sh", "../../plugins/build.sh")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building the test guests with plugins/build.sh:", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

var guests = map[string]func() ([]byte, error){}

func init() {
	for _, name := range []string{"fault", "issues"} {
		guests[name] = sync.OnceValues(func() ([]byte, error) { return os.ReadFile("../../plugins/dist/" + name + ".wasm") })
	}
}

func guest(t testing.TB, name string) []byte {
	t.Helper()
	b, err := guests[name]()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newRuntime(t testing.TB) *Runtime {
	t.Helper()
	r, err := NewRuntime(t.Context(), Options{CacheDir: sharedCache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Errorf("closing the runtime: %v", err)
		}
	})
	return r
}

// open opens a guest under the spec's name, "fault" by default.
func open(t testing.TB, r *Runtime, spec Spec) *Plugin {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "fault"
	}
	if spec.Wasm == nil {
		spec.Wasm = guest(t, spec.Name)
	}
	p, err := r.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func call(ctx context.Context, p *Plugin, tool, arguments string) (string, *capability.Error) {
	answer, err := p.Call(ctx, capability.Invocation{Capability: p.ID() + "/" + tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		var e *capability.Error
		if !errors.As(err, &e) {
			panic(fmt.Sprintf("Call returned a %T, not a *capability.Error: %v", err, err))
		}
		return "", e
	}
	return string(answer.Value), nil
}

func mustCall(t testing.TB, p *Plugin, tool, arguments string) string {
	t.Helper()
	value, err := call(t.Context(), p, tool, arguments)
	if err != nil {
		t.Fatalf("%s(%s): %v", tool, clip(arguments, 200), err)
	}
	return value
}

// lateness measures how late this process gets to run on the machine as it is, and returns by how much a measured time
// may exceed what it should be.
func lateness(t *testing.T) func() time.Duration {
	t.Helper()
	const tick = 20 * time.Millisecond
	var worst atomic.Int64
	done := make(chan struct{})
	var measuring sync.WaitGroup
	measuring.Go(func() {
		for {
			start := time.Now()
			select {
			case <-done:
				return
			case <-time.After(tick):
			}
			if late := int64(time.Since(start) - tick); late > worst.Load() {
				worst.Store(late)
			}
		}
	})
	t.Cleanup(func() {
		close(done)
		measuring.Wait()
	})
	return func() time.Duration { return 3 * time.Duration(worst.Load()) }
}
