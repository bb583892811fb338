package executor

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStartFailures(t *testing.T) {
	tests := []struct {
		mode, want string
		change     func(*Options)
	}{
		{mode: "no script", want: "script did not start"},
		{mode: "throws", want: "can't use [token]"},
		{mode: "unable", want: "no WebAssembly"},
		{mode: "leaves", want: "closed its connection"},
		{mode: "silent", want: "start_timeout", change: func(o *Options) { o.Headless.StartTimeout = 3 * time.Second }},
		{mode: "can't", want: "can't run Python"},
		{mode: "ok", want: "not a URL", change: func(o *Options) { o.Headless.BaseURL = "nowhere" }},
		{mode: "ok", want: "/no/such/browser", change: func(o *Options) { o.Headless.Browser = "/no/such/browser" }},
		{mode: "ok", want: "ERR_CONNECTION_REFUSED", change: func(o *Options) { o.Headless.BaseURL = closedServer() }},
	}
	for _, tt := range tests {
		t.Run(tt.mode+" "+tt.want, func(t *testing.T) {
			f := newFakeHost(t, tt.mode, tt.change)
			res := f.Run(t.Context(), Request{Code: "ok"})
			if res.OK || res.Error.Type != TypeBrowser || res.Error.Builtin != "RuntimeError" || !strings.Contains(res.Error.Message, tt.want) {
				t.Errorf("got %+v, want %q", res.Error, tt.want)
			}
		})
	}
}

func closedServer() string {
	server := httptest.NewServer(nil)
	server.Close()
	return server.URL
}

func TestPauseAfterRepeatedFailures(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho out of luck >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	f := newFakeHost(t, "ok", func(o *Options) { o.Headless.Browser = broken })
	h := f.pages.(*Headless)
	for i, want := range []string{"out of luck", "out of luck", "failed 2 times in a row"} {
		if res := f.Run(t.Context(), Request{Code: "ok"}); res.OK || !strings.Contains(res.Error.Message, want) || !strings.Contains(res.Error.Message, "out of luck") {
			t.Errorf("run %d got %+v, want %q", i, res.Error, want)
		}
	}
	for failures, want := range map[int]time.Duration{2: time.Second, 3: 2 * time.Second, 6: 16 * time.Second, 7: 30 * time.Second, 1000: 30 * time.Second} {
		h.mu.Lock()
		h.failures = failures - 1
		h.mu.Unlock()
		h.over(new(attempt), context.Canceled)
		h.mu.Lock()
		got := time.Until(h.notBefore)
		h.mu.Unlock()
		if got > want || got < want-time.Second {
			t.Errorf("after %d failures the pause is %v, want %v", failures, got, want)
		}
	}
	// Repaired, it works as soon as the pause is over, and nothing is remembered.
	h.mu.Lock()
	h.notBefore, h.o.Browser = time.Time{}, ""
	h.mu.Unlock()
	if res := f.Run(t.Context(), Request{Code: "ok"}); !res.OK {
		t.Error(res.Error)
	}
	if h.failures != 0 {
		t.Errorf("%d failures are remembered", h.failures)
	}
}

func TestRunGivesUpWaitingForTheStart(t *testing.T) {
	f := newFakeHost(t, "silent", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if res := f.Run(ctx, Request{Code: "ok"}); res.OK || res.Error.Type != TypeCancelled || time.Since(begin) > time.Second {
		t.Errorf("got %+v after %v", res.Error, time.Since(begin))
	}
	// Close, in the cleanup, ends the start that is still under way.
}
