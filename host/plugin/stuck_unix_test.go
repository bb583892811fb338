//go:build unix

package plugin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// blockedRead opens a plugin that may read a folder with a named pipe in it, on which a read blocks in the operating
// system, where nothing stops it. release ends the reads that are blocked at that moment, and never blocks itself.
func blockedRead(t *testing.T, spec Spec) (p *Plugin, release func()) {
	t.Helper()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	spec.AllowedPaths = map[string]string{dir: "/data"}
	p = open(t, newRuntime(t), spec)
	return p, func() {
		if w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // else nobody reads
			_ = w.Close()
		}
	}
}

const readPipe = `{"key":"/data/pipe"}`

// TestStuckGuest lets guests block where they can't be stopped. Their callers are answered, their places aren't given
// away, and when there are none left, calls are refused with the reason.
func TestStuckGuest(t *testing.T) {
	p, release := blockedRead(t, Spec{Timeout: time.Second, MaxConcurrent: 2})
	late := lateness(t)
	for stuck := 1; stuck <= 2; stuck++ {
		start := time.Now()
		_, err := call(t.Context(), p, "read_file", readPipe)
		if took := time.Since(start); took > 1500*time.Millisecond+late() {
			t.Errorf("the caller was answered after %v", took)
		}
		if err == nil || err.Type != "PluginTimeoutError" {
			t.Fatalf("got %v", err)
		}
		if s := p.Stats(); s.Stuck != stuck || s.Running != stuck {
			t.Fatalf("%d guests should be stuck: %+v", stuck, s)
		}
		if stuck == 1 {
			if got := mustCall(t, p, "echo", `{"other":"calls go on"}`); got != `{"other":"calls go on"}` {
				t.Errorf("got %s", got)
			}
		}
	}
	start := time.Now()
	_, err := call(t.Context(), p, "noop", `{}`)
	if err == nil || err.Type != "PluginBusyError" || !strings.Contains(err.Message, "all 2 instances of plugin fault are in calls that passed their time limit and can't be interrupted") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 1500*time.Millisecond+late() {
		t.Errorf("the refusal took %v", took)
	}
	waitFor(t, "the guests to end", func() bool {
		release()
		return p.Stats().Stuck == 0
	})
	mustCall(t, p, "noop", `{}`)
}

// TestCloseWithAStuckGuest can't free what is in use, says so in time, and frees it later.
func TestCloseWithAStuckGuest(t *testing.T) {
	p, release := blockedRead(t, Spec{Timeout: time.Second})
	if _, err := call(t.Context(), p, "read_file", readPipe); err == nil || err.Type != "PluginTimeoutError" {
		t.Fatalf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 of its calls can't be stopped") {
		t.Errorf("got %v", err)
	}
	waitFor(t, "the guest to end", func() bool {
		release()
		return p.Stats().Running == 0
	})
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("the second Close should have waited: %v", err)
	}
}
