package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// Runtime opens plugins and closes them. It is safe for concurrent use.
type Runtime struct {
	log      *slog.Logger
	cacheDir string
	client   *http.Client

	mu     sync.Mutex
	closed bool
	open   map[*Plugin]struct{}
}

// NewRuntime returns a Runtime. The caller closes it.
//
// It sets go-sdk's log level for the whole process, by what o.Logger takes, and removes EXTISM_ENABLE_WASI_OUTPUT from
// the process's environment, with which go-sdk would connect guests to the process's standard output.
func NewRuntime(ctx context.Context, o Options) (*Runtime, error) {
	r := &Runtime{log: o.Logger, client: newHTTPClient(), open: map[*Plugin]struct{}{}}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if err := os.Unsetenv("EXTISM_ENABLE_WASI_OUTPUT"); err != nil {
		return nil, fmt.Errorf("starting the plugin runtime: %w", err)
	}
	level := extism.LogLevelInfo
	if r.log.Enabled(ctx, slog.LevelDebug) {
		level = extism.LogLevelDebug
	}
	extism.SetLogLevel(level)
	if o.CacheDir != "" {
		if err := prepareCacheDir(o.CacheDir); err != nil {
			r.log.Warn("plugins are compiled anew at each start", "reason", err)
		} else {
			r.cacheDir = o.CacheDir
		}
	}
	return r, nil
}

// prepareCacheDir makes the folder, and refuses one that others may write to: what lies in it is run.
func prepareCacheDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the compilation cache can't be made: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("the compilation cache can't be used: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("the compilation cache %s can be written by others: make it your own with `chmod go-w`", dir)
	}
	return nil
}

// Close closes every plugin that is still open, at the same time; see Plugin.Close. Nothing can be opened afterwards.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	open := slices.Collect(maps.Keys(r.open))
	r.mu.Unlock()
	errs := make([]error, len(open))
	var all sync.WaitGroup
	for i, p := range open {
		all.Go(func() { errs[i] = p.Close(ctx) })
	}
	all.Wait()
	r.client.CloseIdleConnections()
	return errors.Join(errs...)
}

// Open compiles a module, asks it for its tools, and returns it ready to be called. The caller closes it, or the
// Runtime does. ctx, and 10 s, bound the asking; compiling a module for the first time takes seconds and isn't
// interrupted.
//
// The error says what is wrong with the module or the Spec, and names the way out.
func (r *Runtime) Open(ctx context.Context, spec Spec) (*Plugin, error) {
	p, err := r.start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", clip(spec.Name, 64), err)
	}
	return p, nil
}

func (r *Runtime) start(ctx context.Context, spec Spec) (*Plugin, error) {
	spec, err := spec.checked()
	if err != nil {
		return nil, err
	}
	if len(spec.Wasm) > maxModuleBytes {
		return nil, fmt.Errorf("the module has %d bytes, more than the %d that are compiled", len(spec.Wasm), maxModuleBytes)
	}
	m, err := parseModule(spec.Wasm)
	if err != nil {
		return nil, err
	}
	if err := runnable(m, spec); err != nil {
		return nil, err
	}
	wasm, err := m.prepared(spec.Wasm)
	if err != nil {
		return nil, err
	}
	spec.Wasm = nil
	p := newPlugin(spec, r)
	if err := r.compile(ctx, p, wasm); err != nil {
		return nil, fmt.Errorf("the module can't be compiled: %w", err)
	}
	if !r.register(p) {
		_ = p.Close(ctx)
		return nil, errors.New("the plugin runtime has been closed")
	}
	if err := p.describe(ctx); err != nil {
		// A describe that can't be interrupted is left to itself: Close would wait for it.
		expired, cancel := context.WithCancel(ctx)
		cancel()
		_ = p.Close(expired)
		return nil, err
	}
	return p, nil
}

func (r *Runtime) register(p *Plugin) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.open[p] = struct{}{}
	p.onClosed = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, p)
	}
	return true
}

// describeTimeout bounds the asking for tools, whatever the time limit of a call: it includes the guest's start.
const describeTimeout = 10 * time.Second

// describe asks the guest for its tools.
func (p *Plugin) describe(ctx context.Context) error {
	limit := &timeLimit{describeTimeout, "describing tools must not wait for anything"}
	out, cerr := p.exec(ctx, limit, "describe", "describe", nil)
	if cerr != nil {
		return fmt.Errorf("it can't describe its tools: %w", cerr)
	}
	caps, problems, err := parseDescribe(p.ID(), out, p.spec.SkipTools)
	if err != nil {
		return err
	}
	p.caps, p.problems = caps, problems
	for _, c := range caps {
		p.tools[c.Name] = c.Name[len(p.ID())+1:]
	}
	return nil
}

// compile fills in p.compiled. The code of each plugin lives in a cache object of its own over the shared folder, so
// that closing a plugin frees its code.
func (r *Runtime) compile(ctx context.Context, p *Plugin, wasm []byte) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the compiler failed: %v", v)
		}
	}()
	ctx = experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
	if r.cacheDir != "" {
		if p.cache, err = wazero.NewCompilationCacheWithDir(r.cacheDir); err != nil {
			r.log.Warn("the compilation cache can't be used", "reason", err)
			p.cache = nil
		}
	}
	if p.compiled, err = newCompiled(ctx, p, wasm); err == nil || p.cache == nil {
		return err
	}
	// A damaged file in the cache fails the compilation, for good. Without the cache we see whose fault it is.
	broken := p.cache
	p.cache = nil
	var again error
	if p.compiled, again = newCompiled(ctx, p, wasm); again == nil {
		r.log.Warn("the compilation cache was damaged and has been emptied", "reason", err)
		emptyCache(r.cacheDir)
	}
	return errors.Join(again, broken.Close(ctx))
}

func newCompiled(ctx context.Context, p *Plugin, wasm []byte) (*extism.CompiledPlugin, error) {
	config := wazero.NewRuntimeConfig() // without its own checks of the time: see meter.go
	if p.cache != nil {
		config = config.WithCompilationCache(p.cache)
	}
	manifest := extism.Manifest{
		Wasm: []extism.Wasm{extism.WasmData{Data: wasm, Name: "main"}},
		// Each field is set: go-sdk takes a zero for "none at all". The pages are left at WebAssembly's own limit,
		// because the cap is held by each instance's budget, which covers all of its memories together and, unlike a
		// limit here, lets us see that it was reached.
		Memory: &extism.ManifestMemory{
			MaxPages:             maxWasmPages,
			MaxHttpResponseBytes: maxHTTPResponse,
			MaxVarBytes:          p.maxVarBytes(),
		},
		Config:       p.spec.Config,
		AllowedHosts: p.spec.AllowedHosts,
		AllowedPaths: p.spec.AllowedPaths,
	}
	return extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{RuntimeConfig: config, EnableWasi: true}, hostFunctions())
}

const (
	maxWasmPages   = 65536
	maxModuleBytes = 128 << 20 // compiling takes ten times as much
)

// maxVarBytes bounds what an instance keeps in Extism variables, which is on top of its memory.
func (p *Plugin) maxVarBytes() int64 { return max(1<<20, int64(p.spec.MemoryMB)<<20/16) }

// prepared returns the module as it is compiled: with some imports redirected, and metered.
func (m *module) prepared(wasm []byte) ([]byte, error) {
	wasm = m.redirectImports(wasm, redirectImport)
	wasm, err := m.metered(wasm)
	if err != nil {
		return nil, fmt.Errorf("the module can't be prepared: %w", err)
	}
	return wasm, nil
}

// emptyCache removes compiled modules, and nothing else that may lie there.
func emptyCache(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	for _, file := range files {
		if name := filepath.Base(file); len(name) == 64 {
			_ = os.Remove(file)
		}
	}
}
