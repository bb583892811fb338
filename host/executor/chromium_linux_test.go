package executor

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

func testOptions(t *testing.T, base string) chromiumOptions {
	t.Helper()
	path, err := FindBrowser()
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return chromiumOptions{path: path, base: u, noSandbox: runsWithoutSandbox(), profileDir: shortTempDir(t), logger: slog.New(slog.DiscardHandler)}
}

func startForTest(t *testing.T, handler http.HandlerFunc) (*chromium, string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := startChromium(ctx, testOptions(t, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
		checkNothingLeft(t, c.profile.dir)
	})
	return c, server.URL
}

func checkNothingLeft(t *testing.T, profile string) {
	t.Helper()
	if pids := processesUsing(profile); len(pids) != 0 {
		t.Errorf("processes %v are left", pids)
	}
	if _, err := os.Stat(profile); !os.IsNotExist(err) {
		t.Errorf("the profile is left: %v", err)
	}
}

func TestChromiumOpensAndEvaluates(t *testing.T) {
	c, base := startForTest(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<script>globalThis.answer = async (x) => { if (x !== 42) throw new Error('no'); }</script>"))
	})
	ctx := t.Context()
	if err := c.open(ctx, base+"/page"); err != nil {
		t.Fatal(err)
	}
	if err := c.evaluate(ctx, "answer(42)"); err != nil {
		t.Error(err)
	}
	if err := c.evaluate(ctx, "answer('s3cret')"); err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "Error: no") {
		t.Errorf("a rejected promise gave %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := c.evaluate(short, "new Promise(() => {})"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a promise that never settles gave %v", err)
	}
	// The files of the browser are all in its profile.
	if entries, err := os.ReadDir(c.profile.dir); err != nil || len(entries) < 3 {
		t.Errorf("profile: %v, %v", entries, err)
	}
}

func TestChromiumCannotOpen(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	t.Run("missing", func(t *testing.T) {
		c, base := startForTest(t, http.NotFound)
		if err := c.open(ctx, base+"/executor/"); err == nil || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), "make web") {
			t.Errorf("a missing page gave %v", err)
		}
	})
	t.Run("another host", func(t *testing.T) {
		c, base := startForTest(t, http.NotFound)
		other := strings.Replace(base, "127.0.0.1", "localhost", 1)
		if err := c.open(ctx, other); err == nil || !strings.Contains(err.Error(), "ERR_NAME_NOT_RESOLVED") {
			t.Errorf("a page of another host gave %v", err)
		}
	})
}

func TestChromiumTellsWhyItIsGone(t *testing.T) {
	tests := []struct {
		name string
		kill func(t *testing.T, c *chromium)
		want string
	}{
		{"killed", func(t *testing.T, c *chromium) {
			if err := syscall.Kill(c.pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}, "signal: killed"},
		{"terminated", func(t *testing.T, c *chromium) {
			if err := syscall.Kill(c.pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}, "ended"},
		{"page killed", func(_ *testing.T, c *chromium) {
			for _, pid := range processesUsing(c.profile.dir) {
				cmdline, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
				if strings.Contains(string(cmdline), "--type=renderer") {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}, "crashed"},
		{"page closed", func(t *testing.T, c *chromium) {
			id := chromedp.FromContext(c.ctx).Target.TargetID
			if _, err := chromedp.CallBrowser(c.ctx, target.CloseTarget, target.CloseTargetParams{TargetID: id}); err != nil {
				t.Fatal(err)
			}
		}, "closed the executor page"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, base := startForTest(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write([]byte("hello"))
			})
			if err := c.open(t.Context(), base); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			tt.kill(t, c)
			select {
			case <-c.gone.Done():
			case <-time.After(5 * time.Second):
				t.Fatal("not noticed in 5 s")
			}
			t.Logf("noticed after %v: %v", time.Since(begin), context.Cause(c.gone))
			if !strings.Contains(context.Cause(c.gone).Error(), tt.want) {
				t.Errorf("reason %v doesn't say %q", context.Cause(c.gone), tt.want)
			}
			if err := c.evaluate(t.Context(), "1"); err == nil {
				t.Error("a call after the end succeeded")
			}
		})
	}
}

func TestChromiumStartGivesUp(t *testing.T) {
	t.Run("deadline", func(t *testing.T) {
		o := testOptions(t, "http://127.0.0.1:1")
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, cause)
		defer cancel()
		c, err := startChromium(ctx, o)
		if c != nil || !errors.Is(err, cause) {
			t.Errorf("got %v, %v", c, err)
		}
		checkEmpty(t, o.profileDir)
	})
	for name, tt := range map[string]struct{ script, want string }{
		"fails":      {"echo 'no display, no luck' >&2; exit 3", "no luck"},
		"no sandbox": {"echo 'FATAL: No usable sandbox! Update your kernel' >&2; exit 1", `no_sandbox = "always"`},
		"verbose":    {"seq 5000 >&2; echo last words >&2; exit 1", "last words"},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions(t, "http://127.0.0.1:1")
			o.path = filepath.Join(t.TempDir(), "browser")
			if err := os.WriteFile(o.path, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := startChromium(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), o.path) {
				t.Errorf("got %v, want an error that names the browser and says %q", err, tt.want)
			}
			if err != nil && len(err.Error()) > 1500 {
				t.Errorf("the error is %d bytes long", len(err.Error()))
			}
			checkEmpty(t, o.profileDir)
		})
	}
}

func checkEmpty(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("%s has %v, %v", dir, entries, err)
	}
}
