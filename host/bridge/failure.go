package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/toolplane/toolplane/host/capability"
)

// maxMessageBytes bounds a message that a provider wrote. It travels in an error
// frame and often ends in front of a model.
const maxMessageBytes = 16 << 10

// run calls a provider and survives it.
func (b *Bridge) run(ctx context.Context, p capability.Provider, inv capability.Invocation) (answer capability.Answer, err error) {
	defer func() {
		panicked := recover()
		if panicked == nil {
			return
		}
		// A panic's value may be made of arguments; the runtime's own texts aren't.
		what := fmt.Sprintf("%T", panicked)
		var fault runtime.Error
		if e, ok := panicked.(error); ok && errors.As(e, &fault) {
			what = fault.Error()
		}
		b.log.LogAttrs(ctx, slog.LevelError, "provider panicked", slog.String("run", inv.RunID),
			slog.String("capability", inv.Capability), slog.String("panic", what), slog.String("stack", string(debug.Stack())))
		answer, err = capability.Answer{}, capability.Errorf(capability.RuntimeError, "InternalError",
			"%s failed inside the host, which is a fault of the host and not of the call; its log has the details", inv.Capability)
	}()
	answer, err = p.Call(ctx, inv)
	var known *capability.Error
	if err != nil && ctx.Err() != nil && !errors.As(err, &known) {
		err = ctx.Err() // what the provider noticed is a consequence of it
	}
	return answer, err
}

// failureType is the type of a failure that its provider gave none.
func failureType(name string) string {
	if strings.HasPrefix(name, "mcp:") {
		return "UpstreamError"
	}
	return "PluginError"
}

// presentable turns any failure into one that can be raised: a known builtin, a
// type that can name a class, a message of valid text and bounded length.
func presentable(err error, name string) *capability.Error {
	e := *capability.AsError(err) // a copy: providers may share theirs
	if !e.Builtin.Valid() {
		e.Builtin = capability.RuntimeError
	}
	if !isClassName(e.Type) {
		e.Type = failureType(name)
	}
	if strings.TrimSpace(e.Message) == "" {
		e.Message = name + " failed, and gave no reason"
	}
	if n := len(e.Message); n > maxMessageBytes {
		e.Message = fmt.Sprintf("%s… (the message has %d bytes, of which this is the beginning)",
			strings.ToValidUTF8(cut(e.Message, maxMessageBytes), "\ufffd"), n)
	}
	e.Message = strings.ToValidUTF8(e.Message, "\ufffd")
	return &e
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// isClassName keeps to what every Python writes as a class name. The class is
// made with this name, so it must not be a text that a provider chose freely.
func isClassName(s string) bool {
	if s == "" || len(s) > 64 || s[0] < 'A' || s[0] > 'Z' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
