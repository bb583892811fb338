//go:build unix

package main

import (
	"syscall"
	"testing"
	"time"
)

func writeDescriptor(fd int, text string) { _, _ = syscall.Write(fd, []byte(text)) }

// TestSignals: the first one ends the context, the second one the process.
func TestSignals(t *testing.T) {
	exited := make(chan int, 1)
	ctx, stop := interruptible(func(code int) { exited <- code })
	defer stop()
	if interruption(ctx) != 0 {
		t.Error("interrupted before the signal")
	}
	raise := func(s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(syscall.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	raise(syscall.SIGTERM)
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the first signal doesn't end the context")
	}
	if got := interruption(ctx); got != int(syscall.SIGTERM) {
		t.Errorf("interruption %d", got)
	}
	raise(syscall.SIGINT)
	select {
	case code := <-exited:
		if code != 130 {
			t.Errorf("exit code %d, want 130", code)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the second signal doesn't end the process")
	}
}
