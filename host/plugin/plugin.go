package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"

	"github.com/toolplane/toolplane/host/capability"
)

// Plugin is one opened module and its pool of instances. It implements capability.Provider.
//
// It is safe for concurrent use. Each call has an instance to itself; at most Spec.MaxConcurrent exist, and a call waits
// for a free one within its own time limit. An instance serves one call after the other until a call traps, exits, runs
// out of time or memory, or answers too much: then it is dropped, and the next call gets a new one.
//
// A guest that passes its time limit where it can't be stopped, such as in a system call that blocks, keeps its instance
// and its place in the pool until it ends; its caller has been answered long before.
//
// What a plugin can make this process hold is bounded by MaxConcurrent times (MemoryMB, of which a quarter more may be
// reserved while memory grows, its Extism variables of at most a sixteenth of that or 1 MiB, and one answer), plus its
// code.
type Plugin struct {
	spec     Spec
	limit    timeLimit // of a call
	log      *slog.Logger
	client   *http.Client
	compiled *extism.CompiledPlugin
	cache    wazero.CompilationCache // of this plugin alone; nil without a cache folder
	onClosed func()

	caps     []capability.Capability
	problems []string
	tools    map[string]string // canonical name → the guest's own name

	slots   chan struct{} // a token for each instance that is in use
	waiting atomic.Int64
	stuck   atomic.Int64 // calls that were answered while their guest ran on
	calls   atomic.Uint64
	made    atomic.Uint64
	dropped atomic.Uint64

	mu      sync.Mutex
	idle    []*instance // last in, first out: the most recently used is the warmest
	running map[*flight]struct{}
	closed  bool
	gone    chan struct{} // closed when the last resource is freed
}

var _ capability.Provider = (*Plugin)(nil)

// flight is one use of an instance, from the wait for it until the guest has returned.
type flight struct {
	cancel    context.CancelFunc
	abandoned bool // guarded by Plugin.mu
}

const (
	// grace is how long a guest that is past its time limit may take to stop before its caller is answered anyway.
	grace = 100 * time.Millisecond
	// maxWaiting bounds the calls that wait for a free instance of one plugin.
	maxWaiting = 1024
)

func newPlugin(spec Spec, r *Runtime) *Plugin {
	return &Plugin{
		spec: spec, log: r.log.With("plugin", spec.Name), client: r.client,
		tools: map[string]string{}, slots: make(chan struct{}, spec.MaxConcurrent),
		running: map[*flight]struct{}{}, gone: make(chan struct{}),
		limit: timeLimit{spec.Timeout, fmt.Sprintf("ask for less at a time, or raise `timeout` in [plugins.%s]", spec.Name)},
	}
}

// ID returns "plugin:NAME".
func (p *Plugin) ID() string { return "plugin:" + p.spec.Name }

// Capabilities returns the plugin's tools, sorted by name. The caller must not change them.
func (p *Plugin) Capabilities() []capability.Capability { return slices.Clone(p.caps) }

// Problems says, in sentences for a person, what of the plugin was left out and why.
func (p *Plugin) Problems() []string { return slices.Clone(p.problems) }

// Call runs one tool and returns when ctx or the plugin's own time limit ends, plus 0.1 s, at the latest.
// The arguments must be a JSON value that jsonvalue.Check accepts and the tool's schema allows.
//
// Errors are of type *capability.Error: PluginError for whatever goes wrong in the guest, PluginTimeoutError,
// PluginMemoryError, PluginBusyError, PolicyError, UnknownCapabilityError, CallCancelledError.
func (p *Plugin) Call(ctx context.Context, inv capability.Invocation) (capability.Answer, error) {
	tool, ok := p.tools[inv.Capability]
	if !ok {
		return capability.Answer{}, capability.Errorf(capability.LookupError, "UnknownCapabilityError", "plugin %s has no tool %q", p.spec.Name, clip(inv.Capability, 200))
	}
	out, cerr := p.exec(ctx, &p.limit, inv.Capability, "call", callInput(tool, inv.Arguments))
	if cerr != nil {
		return capability.Answer{}, cerr
	}
	answer, cerr := parseAnswer(inv.Capability, out)
	if cerr != nil {
		return capability.Answer{}, cerr
	}
	return answer, nil
}

// exec calls an exported function of some instance and returns its output, in time whatever the guest does.
func (p *Plugin) exec(parent context.Context, limit *timeLimit, what, export string, input []byte) ([]byte, *capability.Error) {
	// Whoever leaves first must not cancel: the guest's goroutine does, when the guest has returned.
	ctx, cancel := context.WithTimeoutCause(parent, limit.limit, limit)
	c := &flight{cancel: cancel}
	if !p.enter(c) {
		cancel()
		return nil, because(errClosed, capability.RuntimeError, "PluginError", "%s can't run: plugin %s has been closed", what, p.spec.Name)
	}
	if cerr := p.acquire(ctx, what); cerr != nil {
		cancel()
		p.leave(c)
		return nil, cerr
	}
	type outcome struct {
		out  []byte
		cerr *capability.Error
	}
	done := make(chan outcome, 1)
	go func() {
		out, cerr := p.run(ctx, what, export, input)
		cancel()
		<-p.slots
		p.leave(c)
		done <- outcome{out, cerr}
	}()
	select {
	case o := <-done:
		return o.out, o.cerr
	case <-ctx.Done():
	}
	// A guest in a loop notices soon; one in code without a check may run on for as long as it likes.
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case o := <-done:
		return o.out, o.cerr
	case <-late.C:
	}
	if !p.abandon(c) { // it has ended this very moment
		o := <-done
		return o.out, o.cerr
	}
	p.log.Warn("a plugin runs on past its time limit: its instance is set aside", "capability", what)
	return nil, p.endedError(ctx, what)
}

// acquire waits for a place in the pool.
func (p *Plugin) acquire(ctx context.Context, what string) *capability.Error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	if p.waiting.Add(1) > maxWaiting {
		p.waiting.Add(-1)
		return capability.Errorf(capability.TimeoutError, "PluginBusyError", "%s can't run: %d calls are waiting for plugin %s already; make fewer calls at a time", what, maxWaiting, p.spec.Name)
	}
	defer p.waiting.Add(-1)
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return p.busyError(ctx, what)
	}
}

func (p *Plugin) enter(c *flight) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.calls.Add(1)
	p.running[c] = struct{}{}
	return true
}

func (p *Plugin) leave(c *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.running, c); c.abandoned {
		p.stuck.Add(-1)
	}
	p.freeIfUnused()
}

// abandon notes that nobody waits for the call any more, and reports whether it still runs.
func (p *Plugin) abandon(c *flight) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, runs := p.running[c]; !runs {
		return false
	}
	c.abandoned = true
	p.stuck.Add(1)
	return true
}

func (p *Plugin) takeIdle() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	inst := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return inst
}

// putBack keeps an instance for the next call, or drops it.
func (p *Plugin) putBack(inst *instance, reusable bool) {
	p.mu.Lock()
	if reusable && !p.closed {
		p.idle = append(p.idle, inst)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.dropped.Add(1)
	inst.close()
}

func (p *Plugin) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Close refuses new calls, waits for those that run until ctx ends, stops those that are left, and frees the plugin.
// It returns an error when a call couldn't be stopped: the plugin is then freed when that call ends by itself, because
// freeing code that runs would crash the process. Closing again waits again.
func (p *Plugin) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.freeIfUnused()
	p.mu.Unlock()
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	for c := range p.running {
		c.cancel()
	}
	p.mu.Unlock()
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-p.gone:
		return nil
	case <-late.C:
		p.mu.Lock()
		defer p.mu.Unlock()
		return fmt.Errorf("closing plugin %s: %d of its calls can't be stopped", p.spec.Name, len(p.running))
	}
}

// freeIfUnused frees everything once the plugin is closed and its last call has left. p.mu is held.
func (p *Plugin) freeIfUnused() {
	if !p.closed || len(p.running) > 0 {
		return
	}
	select {
	case <-p.gone:
		return
	default:
	}
	for _, inst := range p.idle {
		inst.close()
	}
	p.idle = nil
	err := p.compiled.Close(context.Background())
	if p.cache != nil {
		err = errors.Join(err, p.cache.Close(context.Background()))
	}
	if err != nil {
		p.log.Warn("closing a plugin", "error", err)
	}
	if p.onClosed != nil {
		p.onClosed()
	}
	close(p.gone)
}

// Stats are a plugin's counters at one moment.
type Stats struct {
	Calls   uint64 `json:"calls"`             // so far
	Running int    `json:"running"`           // now, those that wait for an instance included
	Waiting int    `json:"waiting"`           // now, for an instance
	Stuck   int    `json:"stuck"`             // guests that run on although their callers have been answered
	Idle    int    `json:"idle_instances"`    // ready for a call
	Made    uint64 `json:"instances_made"`    // so far
	Dropped uint64 `json:"instances_dropped"` // so far, after a failure
}

// Stats returns the plugin's counters.
func (p *Plugin) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{
		Calls: p.calls.Load(), Running: len(p.running), Waiting: int(p.waiting.Load()), Stuck: int(p.stuck.Load()),
		Idle: len(p.idle), Made: p.made.Load(), Dropped: p.dropped.Load(),
	}
}
