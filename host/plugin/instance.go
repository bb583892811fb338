package plugin

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/toolplane/toolplane/host/capability"
)

// instance is one instantiation of a plugin's module, with a memory of its own. Everything in it belongs to the
// goroutine that runs the current call.
type instance struct {
	p      *Plugin
	guest  *extism.Plugin
	memory budget
	closed bool // the guest ended itself, or was ended with its call

	stdout, stderr prints
	logged         int // bytes of this call's log
	buffers        buffers
	http           httpState
	vars           map[string][]byte

	ctx context.Context // of the current call
}

type instanceKey struct{}

// newInstance instantiates the plugin's module. The guest's own initialization runs with the first call.
func (p *Plugin) newInstance(ctx context.Context) (*instance, error) {
	inst := &instance{
		p:      p,
		memory: budget{limit: uint64(p.spec.MemoryMB) << 20},
		stdout: prints{log: p.log, stream: "stdout"},
		stderr: prints{log: p.log, stream: "stderr"},
		ctx:    ctx,
	}
	config := wazero.NewModuleConfig().
		WithStdout(&inst.stdout).WithStderr(&inst.stderr).
		WithSysWalltime().WithSysNanotime().WithNanosleep(inst.sleep).
		WithRandSource(inst)
	for name, value := range p.spec.Env {
		config = config.WithEnv(name, value)
	}
	ctx = experimental.WithMemoryAllocator(ctx, &inst.memory)
	// A start function runs here already. go-sdk wants to see a plugin when it calls our check of the time.
	ctx = context.WithValue(context.WithValue(ctx, instanceKey{}, inst), extism.PluginCtxKey("plugin"), &extism.Plugin{})
	ctx = experimental.WithCloseNotifier(ctx, experimental.CloseNotifyFunc(func(context.Context, uint32) { inst.closed = true }))
	guest, err := p.compiled.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: config})
	if err != nil {
		return nil, err
	}
	guest.SetLogger(func(extism.LogLevel, string) {}) // go-sdk's own words; the guest's come through log_info and so on
	inst.guest = guest
	return inst, nil
}

// run calls an exported function on an idle or a new instance, which it puts back if it is as good as new. It returns
// when the guest does, which may be after ctx ends. It never panics.
func (p *Plugin) run(ctx context.Context, what, export string, input []byte) (out []byte, cerr *capability.Error) {
	var inst *instance
	reusable := false
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("running a plugin panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			out, cerr, reusable = nil, pluginErrorf("%s failed: %s", what, clip(fmt.Sprint(v), 1000)), false
		}
		if inst != nil {
			p.putBack(inst, reusable)
		}
	}()
	if inst = p.takeIdle(); inst == nil {
		made, err := p.newInstance(ctx)
		if err != nil {
			return nil, p.failure(ctx, what, err, false, "")
		}
		inst = made
		p.made.Add(1)
	}
	out, cerr = inst.call(ctx, what, export, input)
	// After a refusal to grow, and after the end of its context, an instance is in doubt even if it answered.
	reusable = !inst.closed && !inst.memory.refused() && ctx.Err() == nil && !fatal(cerr)
	return out, cerr
}

// fatal reports whether an error leaves the instance unusable. An error code and an unreadable answer don't.
func fatal(e *capability.Error) bool {
	var clean *cleanFailure
	return e != nil && !errors.As(e.Cause, &clean)
}

// cleanFailure marks the cause of errors after which the guest had returned in good order.
type cleanFailure struct{ error }

// call runs an exported function. Afterwards the instance may be unusable.
func (inst *instance) call(ctx context.Context, what, export string, input []byte) ([]byte, *capability.Error) {
	p := inst.p
	if !kernelFits(inst.guest.Memory(), &inst.memory, len(input)) {
		e := p.memoryError(what, nil)
		e.Message = fmt.Sprintf("the arguments of %s are %d bytes long: %s", what, len(input), e.Message)
		return nil, e
	}
	inst.begin(ctx)
	code, out, err := inst.guest.CallWithContext(context.WithValue(ctx, instanceKey{}, inst), export, input)
	inst.stdout.flush() // a last line without an end
	inst.stderr.flush()
	switch {
	case err != nil && code == 0 || err != nil && err.Error() == inst.guest.GetError(), err == nil && code != 0:
		if inst.memory.refused() {
			return nil, p.memoryError(what, err)
		}
		message := ""
		if err != nil {
			message = err.Error()
		}
		e := codeError(what, code, message)
		e.Cause = &cleanFailure{errors.New(message)}
		return nil, e
	case err != nil:
		return nil, p.failure(ctx, what, err, inst.memory.refused(), inst.lastWords())
	case inst.memory.kernelRefused:
		return nil, p.memoryError(what, nil)
	case int64(len(out)) > p.spec.MaxOutputBytes:
		return nil, p.outputError(what, len(out))
	case inst.closed && len(out) == 0:
		return nil, pluginErrorf("%s ended itself with exit code 0 before it answered", what)
	}
	return out, nil
}

func (inst *instance) begin(ctx context.Context) {
	inst.ctx = ctx
	inst.stdout.begin()
	inst.stderr.begin()
	inst.logged = 0
	inst.buffers.begin()
	inst.http = httpState{}
}

// lastWords is what a guest that died said: the error that it set, or what it printed.
func (inst *instance) lastWords() string {
	if set := inst.guest.GetError(); set != "" {
		return clip(set, maxMessageBytes)
	}
	if len(bytes.TrimSpace(inst.stderr.kept)) > 0 {
		return lastWords(string(inst.stderr.kept))
	}
	return ""
}

// sleep is the guest's clock_nanosleep: wazero's own isn't interrupted by the end of a call.
func (inst *instance) sleep(ns int64) {
	t := time.NewTimer(time.Duration(ns))
	defer t.Stop()
	select {
	case <-t.C:
	case <-inst.ctx.Done():
	}
}

// Read is where the guest's random_get reads from. A guest that asks for gigabytes of it is ended with its call.
func (inst *instance) Read(b []byte) (int, error) {
	if err := inst.ctx.Err(); err != nil {
		return 0, err
	}
	return rand.Read(b)
}

// log takes what the guest logs through Extism.
func (inst *instance) log(level extism.LogLevel, text string) {
	if inst.logged > maxPrintedPerCall {
		return
	}
	inst.logged += len(text) + 1
	to := slog.LevelDebug
	switch level {
	case extism.LogLevelInfo:
		to = slog.LevelInfo
	case extism.LogLevelWarn:
		to = slog.LevelWarn
	case extism.LogLevelError:
		to = slog.LevelError
	}
	inst.p.log.Log(context.Background(), to, "plugin logged", "text", clip(text, maxPrintedLine))
	if inst.logged > maxPrintedPerCall {
		inst.p.log.Warn("plugin logs too much: the rest of this call's is dropped")
	}
}

// close frees the instance. The guest must have returned.
func (inst *instance) close() {
	if err := inst.guest.CloseWithContext(context.Background()); err != nil {
		inst.p.log.Debug("closing an instance", "error", err)
	}
}
