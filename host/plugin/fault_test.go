package plugin

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/capability"
)

// TestFaults lets a guest do each thing that a guest shall not do. Each gets its error in time, and the next call works.
func TestFaults(t *testing.T) {
	r := newRuntime(t)
	const timeout = 5 * time.Second
	p := open(t, r, Spec{Timeout: timeout, MaxConcurrent: 1, MaxOutputBytes: 1 << 20, MemoryMB: 48})
	late := lateness(t)
	for _, tc := range []struct {
		name, tool, arguments string
		builtin               capability.Builtin
		typ, message          string // message: what it has to contain
		dropped               bool
	}{
		{"loop", "loop", `{}`, "TimeoutError", "PluginTimeoutError", "plugin:fault/loop ran longer than 5s and was stopped; ask for less at a time, or raise `timeout` in [plugins.fault]", true},
		{"sleep", "slow", `{"ms":60000}`, "TimeoutError", "PluginTimeoutError", "ran longer than 5s", true},
		{"trap", "trap", `{}`, "RuntimeError", "PluginError", "plugin:fault/trap failed: trapped: unreachable", true},
		{"panic", "panic", `{"message":"no such moon: Ünïcode"}`, "RuntimeError", "PluginError", "plugin:fault/panic failed: panic: no such moon: Ünïcode", true},
		{"exit 3", "exit", `{"code":3}`, "RuntimeError", "PluginError", "plugin:fault/exit ended itself with exit code 3", true},
		{"exit 0", "exit", `{"code":0}`, "RuntimeError", "PluginError", "ended itself with exit code 0 before it answered", true},
		{"exit with wazero's own code", "exit", `{"code":4026531839}`, "RuntimeError", "PluginError", "exit code", true},
		{"grow memory", "grow_memory", `{}`, "MemoryError", "PluginMemoryError", "needed more than the 48 MiB that plugin fault may use; ask for less at a time, or raise `memory_mb` in [plugins.fault]", true},
		{"grow kernel", "grow_kernel", `{}`, "MemoryError", "PluginMemoryError", "48 MiB", true},
		{"corrupt kernel", "corrupt_kernel", `{}`, "RuntimeError", "PluginError", "store_u64: the plugin wrote outside of its buffers", true},
		{"error code and message", "error_code", `{"code":7,"message":"the licence has run out"}`, "RuntimeError", "PluginError", "plugin:fault/error_code failed: the licence has run out (error code 7)", false},
		{"error message only", "error_code", `{"code":0,"message":"soft"}`, "RuntimeError", "PluginError", "failed: soft", false},
		{"negative error code", "error_code", `{"code":-1}`, "RuntimeError", "PluginError", "failed with error code -1 and no message", false},
		{"empty error", "empty_error", `{}`, "RuntimeError", "PluginError", "failed with error code 1 and no message", false},
		{"bad UTF-8", "bad_utf8", `{}`, "RuntimeError", "PluginError", "invalid UTF-8", false},
		{"bad JSON", "bad_json", `{}`, "RuntimeError", "PluginError", "isn't an MCP CallToolResult in JSON", false},
		{"nothing", "nothing", `{}`, "RuntimeError", "PluginError", "answered nothing", false},
		{"huge output", "huge_output", `{"bytes":2000000}`, "RuntimeError", "PluginError", "more than the 1048576 that plugin fault may; ask for less at a time, or raise `max_output_bytes` in [plugins.fault]", true},
		{"reported", "report", `{"message":"the moon is closed"}`, "RuntimeError", "PluginError", "the moon is closed", false},
		{"reported ValueError", "report", `{"kind":"ValueError","message":"no such moon"}`, "ValueError", "PluginError", "no such moon", false},
		{"reported LookupError", "report", `{"kind":"LookupError","message":"no such moon"}`, "LookupError", "PluginError", "no such moon", false},
		{"reported nonsense kind", "report", `{"kind":"KeyboardInterrupt","message":"no such moon"}`, "RuntimeError", "PluginError", "no such moon", false},
		{"reported without a message", "report", `{"message":""}`, "RuntimeError", "PluginError", "reported an error without saying which", false},
		{"unknown tool", "nonesuch", `{}`, "LookupError", "UnknownCapabilityError", "plugin:fault/nonesuch", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mustCall(t, p, "noop", `{}`)
			before := p.Stats()
			start := time.Now()
			value, err := call(t.Context(), p, tc.tool, tc.arguments)
			if took := time.Since(start); took > timeout+500*time.Millisecond+late() {
				t.Errorf("answered after %v", took)
			}
			if err == nil {
				t.Fatalf("answered %s", clip(value, 200))
			}
			if err.Builtin != tc.builtin || err.Type != tc.typ || !strings.Contains(err.Message, tc.message) {
				t.Errorf("got %s/%s: %s\nwant %s/%s: …%s…", err.Builtin, err.Type, err.Message, tc.builtin, tc.typ, tc.message)
			}
			if got := mustCall(t, p, "echo", `{"still":"here"}`); got != `{"still":"here"}` {
				t.Errorf("the next call answered %s", got)
			}
			if dropped := p.Stats().Dropped > before.Dropped; dropped != tc.dropped {
				t.Errorf("instance dropped: %v, want %v", dropped, tc.dropped)
			}
		})
	}
}

// TestCancelStopsACall cancels a call in a loop.
func TestCancelStopsACall(t *testing.T) {
	p := open(t, newRuntime(t), Spec{})
	ctx, cancel := context.WithCancel(t.Context())
	stop := time.AfterFunc(100*time.Millisecond, cancel)
	defer stop.Stop()
	late := lateness(t)
	start := time.Now()
	_, err := call(ctx, p, "loop", `{}`)
	if err == nil || err.Type != "CallCancelledError" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 600*time.Millisecond+late() {
		t.Errorf("answered after %v", took)
	}
}
