package plugin

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/toolplane/toolplane/host/capability"
)

// maxMessageBytes bounds what of a guest's words goes into an error.
const maxMessageBytes = 8 << 10

var errClosed = errors.New("the plugin is closed")

// timeLimit is the cause with which a call's context ends when the limit is the plugin's own.
type timeLimit struct {
	limit time.Duration
	way   string // out of it
}

func (t *timeLimit) Error() string { return "the time limit of " + t.limit.String() }

// pluginErrorf makes the error of a plugin that failed.
func pluginErrorf(format string, a ...any) *capability.Error {
	return capability.Errorf(capability.RuntimeError, "PluginError", format, a...)
}

// because makes an error with a cause that isn't part of its message.
func because(cause error, b capability.Builtin, typ, format string, a ...any) *capability.Error {
	e := capability.Errorf(b, typ, format, a...)
	e.Cause = cause
	return e
}

// clip makes a guest's words fit to be shown: valid UTF-8, and not longer than n bytes and a mark.
func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// endedError is the error of a call whose context ended: by the plugin's own limit, the caller's, or a cancellation.
func (p *Plugin) endedError(ctx context.Context, what string) *capability.Error {
	var own *timeLimit
	switch {
	case p.isClosed() && errors.Is(ctx.Err(), context.Canceled):
		return pluginErrorf("%s was stopped: %w", what, errClosed)
	case errors.As(context.Cause(ctx), &own):
		return because(context.DeadlineExceeded, capability.TimeoutError, "PluginTimeoutError", "%s ran longer than %s and was stopped; %s", what, own.limit, own.way)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return because(ctx.Err(), capability.TimeoutError, "PluginTimeoutError", "%s was stopped at the caller's time limit", what)
	}
	return because(ctx.Err(), capability.RuntimeError, "CallCancelledError", "%s was cancelled", what)
}

// busyError is the error of a call that found no free instance in its time.
func (p *Plugin) busyError(ctx context.Context, what string) *capability.Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return p.endedError(ctx, what)
	}
	if stuck := int(p.stuck.Load()); stuck == p.spec.MaxConcurrent {
		return capability.Errorf(capability.TimeoutError, "PluginBusyError",
			"%s can't run: all %d instances of plugin %s are in calls that passed their time limit and can't be interrupted; wait for them to end, or restart Toolplane", what, stuck, p.spec.Name)
	}
	return capability.Errorf(capability.TimeoutError, "PluginBusyError",
		"%s didn't start in time: all %d instances of plugin %s were busy; make fewer calls at a time, or raise `max_concurrent` in [plugins.%s]", what, p.spec.MaxConcurrent, p.spec.Name, p.spec.Name)
}

func (p *Plugin) memoryError(what string, cause error) *capability.Error {
	return because(cause, capability.MemoryError, "PluginMemoryError",
		"%s needed more than the %d MiB that plugin %s may use; ask for less at a time, or raise `memory_mb` in [plugins.%s]", what, p.spec.MemoryMB, p.spec.Name, p.spec.Name)
}

func (p *Plugin) outputError(what string, n int) *capability.Error {
	return pluginErrorf("%s answered %d bytes, more than the %d that plugin %s may; ask for less at a time, or raise `max_output_bytes` in [plugins.%s]",
		what, n, p.spec.MaxOutputBytes, p.spec.Name, p.spec.Name)
}

// failure says what became of a call that go-sdk reported an error for. words is what the guest said on its way out.
func (p *Plugin) failure(ctx context.Context, what string, err error, refusedMemory bool, words string) *capability.Error {
	var policy *policyError
	if errors.As(err, &policy) {
		return policy.capabilityError(what)
	}
	if ctx.Err() != nil {
		return p.endedError(ctx, what)
	}
	if refusedMemory {
		return p.memoryError(what, err)
	}
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		if words != "" {
			words = ": " + words
		}
		return because(err, capability.RuntimeError, "PluginError", "%s ended itself with exit code %d%s", what, exit.ExitCode(), words)
	}
	text, _, _ := strings.Cut(err.Error(), "\nwasm stack trace:")
	text = clip(strings.TrimSuffix(text, " (recovered by wazero)"), maxMessageBytes)
	if trap, ok := strings.CutPrefix(text, "wasm error: "); ok {
		text = "trapped: " + trap
	}
	switch {
	case words != "" && text == "trapped: unreachable": // how compilers end a program that has said why
		text = words
	case words != "":
		text += ": " + words
	}
	return because(err, capability.RuntimeError, "PluginError", "%s failed: %s", what, text)
}

// codeError is the error of a call that returned an error code, with the message that the guest left for it, if any.
func codeError(what string, code uint32, message string) *capability.Error {
	if message = strings.TrimSpace(message); message == "" {
		return pluginErrorf("%s failed with error code %d and no message", what, int32(code))
	}
	if code == 0 {
		return pluginErrorf("%s failed: %s", what, clip(message, maxMessageBytes))
	}
	return pluginErrorf("%s failed: %s (error code %d)", what, clip(message, maxMessageBytes), int32(code))
}

// lastWords finds in what a dying guest printed the part that says why: Go's "panic: …" and "fatal error: …", the line
// after Rust's "… panicked at", else the last line.
func lastWords(printed string) string {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	found := strings.TrimSpace(lines[len(lines)-1])
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			found = line
			break
		}
		if strings.Contains(line, " panicked at ") && i+1 < len(lines) {
			found = "panic: " + strings.TrimSpace(lines[i+1])
			break
		}
	}
	return clip(found, 1000)
}
