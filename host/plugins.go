package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/demo"
	"github.com/toolplane/toolplane/host/plugin"
)

const (
	// openTimeout bounds the loading of one plugin. Compiling a large module
	// takes seconds, and describing its tools has a limit of its own.
	openTimeout = 2 * time.Minute
	// parallelLoads bounds how many plugins are compiled at once: compiling
	// takes a core and much memory each.
	parallelLoads = 2
	// maxModuleBytes bounds a plugin's file.
	maxModuleBytes = 256 << 20
)

// States of a plugin.
const (
	PluginLoading = "loading"
	PluginReady   = "ready"
	PluginFailed  = "failed"
)

// PluginState says how one plugin is.
type PluginState struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// Tools are the canonical names that it added.
	Tools []string `json:"tools,omitempty"`
	// Problems are tools that were left out, and why.
	Problems []string `json:"problems,omitempty"`
	// Error is why it failed, and what to do.
	Error string `json:"error,omitempty"`
	// LoadMS is how long loading took, in milliseconds.
	LoadMS float64 `json:"load_ms"`
}

// provider is what a loaded plugin is to this package.
type provider interface {
	capability.Provider
	Capabilities() []capability.Capability
	Problems() []string
}

// opener opens plugins with a runtime.
func opener(runtime *plugin.Runtime) func(context.Context, plugin.Spec) (provider, error) {
	return func(ctx context.Context, s plugin.Spec) (provider, error) {
		p, err := runtime.Open(ctx, s)
		if err != nil {
			return nil, err // not p: a nil *Plugin isn't a nil provider
		}
		return p, nil
	}
}

type pluginSetOptions struct {
	open     func(context.Context, plugin.Spec) (provider, error)
	close    func(context.Context) error
	registry *capability.Registry
	logger   *slog.Logger
}

// pluginSet loads plugins in the background and knows how each of them is.
type pluginSet struct {
	o      pluginSetOptions
	ctx    context.Context
	cancel context.CancelFunc
	loads  sync.WaitGroup
	slots  chan struct{}

	mu       sync.Mutex
	items    map[string]*pluginItem
	disabled map[string]bool
}

type pluginItem struct {
	done chan struct{} // closed when state is no longer "loading"

	// Written before done is closed, read after.
	state PluginState
}

func newPluginSet(o pluginSetOptions) *pluginSet {
	s := &pluginSet{o: o, slots: make(chan struct{}, parallelLoads), items: map[string]*pluginItem{}, disabled: map[string]bool{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// load begins to load the enabled plugins and returns at once.
func (s *pluginSet) load(plugins map[string]config.Plugin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, p := range plugins {
		if !p.Enabled {
			s.disabled[name] = true
			continue
		}
		item := &pluginItem{done: make(chan struct{})}
		s.items[name] = item
		s.loads.Go(func() {
			defer close(item.done)
			select {
			case s.slots <- struct{}{}:
				defer func() { <-s.slots }()
			case <-s.ctx.Done():
			}
			item.state = s.loadOne(name, p)
		})
	}
}

func (s *pluginSet) loadOne(name string, p config.Plugin) PluginState {
	begin := time.Now()
	state := PluginState{Name: name, State: PluginFailed}
	opened, err := s.open(name, p)
	if err == nil {
		err = s.o.registry.Put(opened, opened.Capabilities())
		// What the registry refuses is a problem of single tools; the others are in.
		state.State = PluginReady
		for _, c := range opened.Capabilities() {
			if _, _, missing := s.o.registry.Lookup(c.Name); missing == nil {
				state.Tools = append(state.Tools, c.Name)
			}
		}
		state.Problems = slices.Clone(opened.Problems())
		for _, p := range s.o.registry.Problems() {
			if p.Name == opened.ID() || strings.HasPrefix(p.Name, opened.ID()+"/") {
				state.Problems = append(state.Problems, p.String())
			}
		}
		var leftOut *capability.ProblemsError
		if err != nil && !errors.As(err, &leftOut) {
			state.Problems = append(state.Problems, err.Error())
		}
	} else {
		state.Error = strings.TrimPrefix(err.Error(), "plugin "+name+": ")
	}
	state.LoadMS = float64(time.Since(begin).Microseconds()) / 1000
	switch {
	case state.State == PluginReady:
		s.o.logger.Info("plugin loaded", "plugin", name, "tools", len(state.Tools), "ms", state.LoadMS)
		for _, problem := range state.Problems {
			s.o.logger.Warn("plugin has a problem", "plugin", name, "problem", problem)
		}
	case s.ctx.Err() == nil:
		s.o.logger.Error("plugin isn't available", "plugin", name, "error", state.Error)
	}
	return state
}

func (s *pluginSet) open(name string, p config.Plugin) (opened provider, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, openTimeout)
	defer cancel()
	// A library that panics over a strange module must not end the host.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("plugin %s: loading it panicked: %v", name, r)
		}
	}()
	spec, err := PluginSpec(name, p)
	if err != nil {
		return nil, err
	}
	return s.o.open(ctx, spec)
}

// settled reports whether no plugin is being loaded.
func (s *pluginSet) settled() bool {
	for _, item := range s.all() {
		if !item.settled() {
			return false
		}
	}
	return true
}

// wait waits until no plugin is being loaded, or ctx ends.
func (s *pluginSet) wait(ctx context.Context) {
	for _, item := range s.all() {
		select {
		case <-item.done:
		case <-ctx.Done():
			return
		}
	}
}

func (s *pluginSet) all() map[string]*pluginItem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.items)
}

func (s *pluginSet) states() []PluginState {
	items := s.all()
	out := make([]PluginState, 0, len(items))
	for _, name := range slices.Sorted(maps.Keys(items)) {
		if items[name].settled() {
			out = append(out, items[name].state)
		} else {
			out = append(out, PluginState{Name: name, State: PluginLoading})
		}
	}
	return out
}

// find returns the plugin of that name, and whether the configuration turns it off.
func (s *pluginSet) find(name string) (item *pluginItem, disabled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[name], s.disabled[name]
}

// end gives up what is being loaded and closes every plugin.
func (s *pluginSet) end(ctx context.Context) error {
	s.cancel()
	loaded := make(chan struct{})
	go func() {
		s.loads.Wait()
		close(loaded)
	}()
	select {
	case <-loaded:
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("plugins are still being loaded: %w", context.Cause(ctx)), s.o.close(ctx))
	}
	return s.o.close(ctx)
}

func (i *pluginItem) settled() bool {
	select {
	case <-i.done:
		return true
	default:
		return false
	}
}

// PluginSpec reads a plugin's module and turns its configuration into what the
// runtime wants.
func PluginSpec(name string, p config.Plugin) (plugin.Spec, error) {
	wasm, err := ReadModule(p.Source)
	if err != nil {
		return plugin.Spec{}, fmt.Errorf("plugin %s: %w", name, err)
	}
	return plugin.Spec{
		Name:           name,
		Wasm:           wasm,
		AllowedHosts:   p.AllowedHosts,
		AllowedPaths:   p.AllowedPaths,
		Config:         p.Config,
		Env:            p.Env,
		MemoryMB:       p.MemoryMB,
		Timeout:        p.Timeout,
		MaxOutputBytes: int64(p.MaxOutputBytes),
		MaxConcurrent:  p.MaxConcurrent,
		SkipTools:      p.SkipTools,
	}, nil
}

// ReadModule reads the module of a source: a file, or "builtin:NAME".
func ReadModule(source string) ([]byte, error) {
	if name, ok := strings.CutPrefix(source, config.BuiltinPrefix); ok {
		return demo.Plugin(name)
	}
	info, err := os.Stat(source)
	switch {
	case err != nil:
		return nil, fmt.Errorf("its module can't be read: %w; check the plugin's source", err)
	case info.IsDir():
		return nil, fmt.Errorf("its source %s is a folder: name the .wasm file", source)
	case info.Size() > maxModuleBytes:
		return nil, fmt.Errorf("its module %s has %d bytes, and the limit is %d", source, info.Size(), maxModuleBytes)
	}
	wasm, err := os.ReadFile(source)
	if err != nil {
		return nil, fmt.Errorf("its module can't be read: %w; check the plugin's source", err)
	}
	return wasm, nil
}
