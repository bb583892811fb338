package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/executor"
	"github.com/toolplane/toolplane/host/plugin"
)

// missingPlugin names a file that isn't there.
func missingPlugin(t *testing.T) config.Plugin {
	t.Helper()
	return config.DefaultPlugin(filepath.Join(t.TempDir(), "missing.wasm"))
}

// filePlugin names a file that's there, for openers that don't look into it.
func filePlugin(t *testing.T) config.Plugin {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.wasm")
	if err := os.WriteFile(path, []byte("module"), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.DefaultPlugin(path)
}

type fakePlugin struct {
	name     string
	problems []string
}

func (p fakePlugin) ID() string { return "plugin:" + p.name }

func (p fakePlugin) Call(context.Context, capability.Invocation) (capability.Answer, error) {
	return capability.Answer{Value: json.RawMessage(`"` + p.name + `"`)}, nil
}

func (p fakePlugin) Capabilities() []capability.Capability {
	return []capability.Capability{
		{Name: p.ID() + "/do"},
		{Name: p.ID() + "/broken", InputSchema: json.RawMessage(`{"type":"nonsense"}`)},
	}
}

func (p fakePlugin) Problems() []string { return p.problems }

// gatedOpener opens plugins by name when they are let through.
type gatedOpener struct{ gates map[string]chan error }

func (g gatedOpener) open(ctx context.Context, s plugin.Spec) (provider, error) {
	if s.Name == "panics" {
		panic("strange module")
	}
	select {
	case err := <-g.gates[s.Name]:
		if err != nil {
			return nil, err
		}
		return fakePlugin{s.Name, []string{"the tool x has no name"}}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func testSet(t *testing.T, gates map[string]chan error, plugins map[string]config.Plugin) (*pluginSet, *logBuffer) {
	t.Helper()
	logs := &logBuffer{}
	s := newPluginSet(pluginSetOptions{
		open: gatedOpener{gates}.open, close: func(context.Context) error { return nil },
		registry: capability.NewRegistry(), logger: logs.logger(),
	})
	s.load(plugins)
	t.Cleanup(func() {
		if err := s.end(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, logs
}

func call(ctx context.Context, s *pluginSet, name string) (json.RawMessage, *capability.Error) {
	d := dispatcher{bridge: bridge.New(bridge.Options{Registry: s.o.registry}), plugins: s}
	return d.Dispatch(ctx, executor.Origin{Scope: "test"}, name, json.RawMessage(`{}`))
}

// TestPluginsLoadInTheBackground: a call waits for its own plugin and for no
// other one, and a plugin that fails takes nobody else with it.
func TestPluginsLoadInTheBackground(t *testing.T) {
	gates := map[string]chan error{"a": make(chan error), "b": make(chan error)}
	off := filePlugin(t)
	off.Enabled = false
	s, logs := testSet(t, gates, map[string]config.Plugin{
		"a": filePlugin(t), "b": filePlugin(t), "missing": missingPlugin(t), "panics": filePlugin(t), "off": off,
	})
	if s.settled() {
		t.Error("settled, though two plugins wait")
	}
	type answer struct {
		value json.RawMessage
		err   *capability.Error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := call(t.Context(), s, "plugin:a/do")
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		t.Fatalf("the call didn't wait for its plugin: %s %v", a.value, a.err)
	case <-time.After(20 * time.Millisecond):
	}
	gates["a"] <- nil
	if a := <-answers; string(a.value) != `"a"` || a.err != nil {
		t.Errorf("the call that waited: %s %v", a.value, a.err)
	}
	gates["b"] <- errors.New("plugin b: it's broken: build it again")
	s.wait(t.Context())
	if !s.settled() {
		t.Error("not settled after the wait")
	}

	states := map[string]PluginState{}
	for _, p := range s.states() {
		states[p.Name] = p
	}
	if len(states) != 4 {
		t.Errorf("states of %d plugins, want 4", len(states))
	}
	a := states["a"]
	if a.State != PluginReady || len(a.Tools) != 1 || a.Tools[0] != "plugin:a/do" || len(a.Problems) != 2 ||
		a.Problems[0] != "the tool x has no name" || !strings.HasPrefix(a.Problems[1], "plugin:a/broken: its input schema") {
		t.Errorf("%+v", a)
	}
	for name, want := range map[string]string{"b": "it's broken: build it again", "missing": "its module can't be read: ", "panics": "loading it panicked: strange module"} {
		if p := states[name]; p.State != PluginFailed || !strings.HasPrefix(p.Error, want) {
			t.Errorf("%+v, want %q", p, want)
		}
		_, err := call(t.Context(), s, "plugin:"+name+"/do")
		if err == nil || err.Type != "PluginError" || err.Builtin != capability.RuntimeError || !strings.HasPrefix(err.Message, "the plugin "+name+" isn't available: "+want) {
			t.Errorf("a call of %s: %v", name, err)
		}
		if !strings.Contains(logs.String(), "plugin="+name) {
			t.Errorf("the log doesn't tell of %s", name)
		}
	}
	for name, want := range map[string]string{"plugin:off/do": "the plugin off is turned off: set enabled = true in [plugins.off]", "plugin:other/do": "unknown capability", "nonsense": "unknown capability"} {
		if _, err := call(t.Context(), s, name); err == nil || err.Builtin != capability.LookupError || !strings.HasPrefix(err.Message, want) {
			t.Errorf("a call of %s: %v, want %q", name, err, want)
		}
	}
}

func TestCallGivesUpWithItsContext(t *testing.T) {
	s, _ := testSet(t, map[string]chan error{"a": make(chan error)}, map[string]config.Plugin{"a": filePlugin(t)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := call(ctx, s, "plugin:a/do"); err == nil || err.Builtin != capability.RuntimeError {
		t.Errorf("%v", err)
	}
	s.wait(ctx) // returns at once
	if got := s.states(); len(got) != 1 || got[0].State != PluginLoading {
		t.Errorf("%+v", got)
	}
}

// TestEndIsBounded: a plugin that can't be interrupted doesn't keep the host.
func TestEndIsBounded(t *testing.T) {
	stuck, closed := make(chan struct{}), false
	s := newPluginSet(pluginSetOptions{
		open:     func(context.Context, plugin.Spec) (provider, error) { <-stuck; return fakePlugin{name: "a"}, nil },
		close:    func(context.Context) error { closed = true; return nil },
		registry: capability.NewRegistry(), logger: (&logBuffer{}).logger(),
	})
	s.load(map[string]config.Plugin{"a": filePlugin(t)})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.end(ctx); err == nil || !strings.Contains(err.Error(), "still being loaded") || !closed {
		t.Errorf("%v, closed: %t", err, closed)
	}
	close(stuck)
	s.loads.Wait()
}

func TestReadModule(t *testing.T) {
	dir := t.TempDir()
	for source, want := range map[string]string{
		dir:                              "is a folder: name the .wasm file",
		filepath.Join(dir, "nope.wasm"):  "its module can't be read: ",
		config.BuiltinPrefix + "zebra":   `there's no builtin plugin "zebra"; there are: issues`,
		config.BuiltinPrefix + "../demo": "there's no builtin plugin",
	} {
		if _, err := ReadModule(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
	p := filePlugin(t)
	p.AllowedHosts = []string{"a"}
	p.AllowedPaths = map[string]string{"/b": "/c"}
	p.Env, p.Config = map[string]string{"D": "e"}, map[string]string{"f": "g"}
	p.SkipTools = []string{"h"}
	s, err := PluginSpec("x", p)
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "x" || string(s.Wasm) != "module" || len(s.AllowedHosts) != 1 || len(s.AllowedPaths) != 1 || len(s.Env) != 1 || len(s.Config) != 1 || len(s.SkipTools) != 1 ||
		s.MemoryMB != 64 || s.Timeout != 30*time.Second || s.MaxOutputBytes != 16<<20 || s.MaxConcurrent != 4 {
		t.Errorf("%+v", s)
	}
}
