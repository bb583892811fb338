package plugin

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/capability"
)

// waitFor polls a counter that another goroutine is about to change.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited for too long: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestRunawayGuest lets a guest run in code without a loop or a call for seconds, were it not metered. It must neither
// pass its time nor keep the garbage collector, and with it the process, from going on.
func TestRunawayGuest(t *testing.T) {
	p := open(t, newRuntime(t), Spec{Timeout: 300 * time.Millisecond})
	mustCall(t, p, "noop", `{}`)
	late := lateness(t)
	var collecting sync.WaitGroup
	collecting.Go(func() {
		waitFor(t, "the guest to run", func() bool { return p.Stats().Running == 1 })
		start := time.Now()
		runtime.GC()
		if took := time.Since(start); took > 300*time.Millisecond+late() {
			t.Errorf("a garbage collection took %v while a guest ran", took)
		}
	})
	start := time.Now()
	_, err := call(t.Context(), p, "runaway", `{"bytes":33554432}`)
	if took := time.Since(start); took > 800*time.Millisecond+late() {
		t.Errorf("the caller was answered after %v", took)
	}
	if err == nil || err.Type != "PluginTimeoutError" {
		t.Fatalf("got %v", err)
	}
	collecting.Wait()
	waitFor(t, "the guest to end", func() bool { return p.Stats().Stuck == 0 })
	mustCall(t, p, "noop", `{}`)
}

func TestBusy(t *testing.T) {
	p := open(t, newRuntime(t), Spec{MaxConcurrent: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := call(ctx, p, "loop", `{}`); err == nil {
			t.Error("a loop was answered")
		}
	})
	waitFor(t, "the first call to start", func() bool { return p.Stats().Running == 1 })
	short, cancelShort := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancelShort()
	_, err := call(short, p, "noop", `{}`)
	if err == nil || err.Builtin != capability.TimeoutError || err.Type != "PluginBusyError" || !strings.Contains(err.Message, "all 1 instances of plugin fault were busy; make fewer calls at a time, or raise `max_concurrent` in [plugins.fault]") {
		t.Errorf("got %v", err)
	}
	// One that waits long enough gets its turn.
	if got := mustCall(t, p, "echo", `{}`); got != `{}` {
		t.Errorf("got %s", got)
	}
	first.Wait()
}

func TestWaitingIsBounded(t *testing.T) {
	p := open(t, newRuntime(t), Spec{Timeout: 5 * time.Second, MaxConcurrent: 1})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _, _ = call(ctx, p, "loop", `{}`) })
	waitFor(t, "the first call to start", func() bool { return p.Stats().Running == 1 })
	for range maxWaiting {
		all.Go(func() { _, _ = call(ctx, p, "noop", `{}`) })
	}
	waitFor(t, "all to wait", func() bool { return p.Stats().Waiting == maxWaiting })
	_, err := call(ctx, p, "noop", `{}`)
	if err == nil || err.Type != "PluginBusyError" || !strings.Contains(err.Message, "1024 calls are waiting") {
		t.Errorf("got %v", err)
	}
	cancel()
	all.Wait()
}

func TestInstancesAreReused(t *testing.T) {
	p := open(t, newRuntime(t), Spec{MaxConcurrent: 3})
	for want := 2; want < 5; want++ { // describe doesn't count
		if got := mustCall(t, p, "count", `{}`); got != fmt.Sprint(want-1) {
			t.Errorf("call %d of the instance says %s", want-1, got)
		}
	}
	if s := p.Stats(); s.Made != 1 || s.Idle != 1 || s.Calls != 4 {
		t.Errorf("one caller at a time needed %+v", s)
	}
}

func TestCallsAfterClose(t *testing.T) {
	p := open(t, newRuntime(t), Spec{})
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := call(t.Context(), p, "noop", `{}`)
	if err == nil || err.Type != "PluginError" || !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
}

// TestCloseStopsCalls closes a plugin with a call in a loop. The call ends with an error, and Close without one.
func TestCloseStopsCalls(t *testing.T) {
	p := open(t, newRuntime(t), Spec{})
	var looping sync.WaitGroup
	looping.Go(func() {
		if _, err := call(context.Background(), p, "loop", `{}`); err == nil || !errors.Is(err, errClosed) {
			t.Errorf("got %v", err)
		}
	})
	waitFor(t, "the call to start", func() bool { return p.Stats().Running == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
	looping.Wait()
}

// TestCloseLetsCallsFinish closes a plugin with a call that takes a moment.
func TestCloseLetsCallsFinish(t *testing.T) {
	p := open(t, newRuntime(t), Spec{})
	var slow sync.WaitGroup
	slow.Go(func() {
		if _, err := call(context.Background(), p, "slow", `{"ms":200}`); err != nil {
			t.Errorf("got %v", err)
		}
	})
	waitFor(t, "the call to start", func() bool { return p.Stats().Running == 1 })
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	slow.Wait()
}
