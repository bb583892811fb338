package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolplane/toolplane/host/capability"
)

// sharedCache is a compilation cache for all tests of this package: compiling the guests takes a second each.
var sharedCache string

func TestMain(m *testing.M) {
	// Incremental: a fraction of a second when nothing has changed.
	build := exec.Command("sh", "../../plugins/build.sh")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building the test guests with plugins/build.sh:", err)
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "toolplane-plugin-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sharedCache = filepath.Join(dir, "cache")
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
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
