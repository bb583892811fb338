package executor

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/capability"
)

//go:embed testdata/page.html
var pageHTML string

// fakeHost serves an executor with a page that speaks the protocol and runs no
// Python, in a real browser.
type fakeHost struct {
	*Executor
	log      *lockedBuffer
	temp     string      // where the profiles are
	calls    chan string // arguments of dispatched calls
	requests *lockedBuffer
}

func newFakeHost(t *testing.T, mode string, change func(*Options)) *fakeHost {
	t.Helper()
	f := &fakeHost{log: new(lockedBuffer), temp: shortTempDir(t), calls: make(chan string, 10), requests: new(lockedBuffer)}
	t.Setenv("TMPDIR", f.temp)
	var hub http.Handler
	mux := http.NewServeMux()
	mux.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) { hub.ServeHTTP(w, r) })
	mux.HandleFunc("/executor/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, strings.ReplaceAll(pageHTML, "{{MODE}}", mode))
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintln(f.requests, r.Method, r.URL, r.Header)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	o := Options{
		Headless: HeadlessOptions{BaseURL: server.URL + "/", StartTimeout: testTimeout},
		Logger:   slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Hub: HubOptions{Dispatcher: DispatcherFunc(func(_ context.Context, _ Origin, _ string, args json.RawMessage) (json.RawMessage, *capability.Error) {
			f.calls <- string(args)
			return json.RawMessage("1"), nil
		})},
	}
	if change != nil {
		change(&o)
	}
	f.Executor = New(o)
	hub = f.Hub()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		if err := f.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		checkEmpty(t, f.temp)
		if pids := processesUsing(f.temp); len(pids) != 0 {
			t.Errorf("processes %v are left", pids)
		}
		if t.Failed() {
			t.Logf("log:\n%s", f.log)
		}
	})
	return f
}

// profile is the one profile directory that there is when the browser before is
// cleaned up.
func (f *fakeHost) profile(t *testing.T) string {
	t.Helper()
	eventually(t, func() bool { return len(f.profiles(t)) == 1 }, "there isn't one profile")
	return f.profiles(t)[0]
}

// nextCall waits for a dispatched call and returns its arguments.
func (f *fakeHost) nextCall(t *testing.T) string {
	t.Helper()
	select {
	case call := <-f.calls:
		return call
	case <-time.After(testTimeout):
		t.Fatal("no call was dispatched")
		return ""
	}
}

// shortTempDir is t.TempDir with a name short enough for a socket in it.
func shortTempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// profiles are the profile directories that there are now.
func (f *fakeHost) profiles(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(f.temp, profilePrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func TestHeadlessStartsOnceForAll(t *testing.T) {
	f := newFakeHost(t, "ok", nil)
	if s := f.Stats(); s.BrowserPID != 0 || s.Pages != 0 || len(f.profiles(t)) != 0 {
		t.Errorf("before the first run: %+v", s)
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if res := f.Run(context.Background(), Request{Code: "ok"}); !res.OK || res.Executor != "headless" {
				t.Errorf("result %+v", res.Error)
			}
		})
	}
	wg.Wait()
	pid := f.Stats().BrowserPID
	if err := f.Start(t.Context()); err != nil {
		t.Error(err)
	}
	if res := f.Run(t.Context(), Request{Code: "ok"}); !res.OK || f.Stats().BrowserPID != pid {
		t.Errorf("a later run: %+v, browser %d then %d", res.Error, pid, f.Stats().BrowserPID)
	}
	if n := strings.Count(f.log.String(), "headless browser is ready"); n != 1 || pid == 0 {
		t.Errorf("%d browsers were started, pid %d", n, pid)
	}
}

// The token goes through the debugging pipe and nowhere else, the browser has no
// debugging port, and it doesn't get the host's environment.
func TestHeadlessKeepsSecrets(t *testing.T) {
	t.Setenv("TOOLPLANE_TEST_SECRET", "hunter2")
	f := newFakeHost(t, "ok", nil)
	if res := f.Run(t.Context(), Request{Code: "call plugin:demo/list"}); !res.OK {
		t.Fatal(res.Error)
	}
	var args struct{ Token string }
	if err := json.Unmarshal([]byte(f.nextCall(t)), &args); err != nil || len(args.Token) < 40 {
		t.Fatalf("token %q, %v", args.Token, err)
	}
	for name, text := range map[string]string{"log": f.log.String(), "requests": f.requests.String()} {
		if strings.Contains(text, args.Token) {
			t.Errorf("the token stands in the %s", name)
		}
	}
	dir := f.profile(t)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("profile %v, %v", info, err)
	}
	pids := processesUsing(dir)
	if len(pids) < 3 {
		t.Fatalf("processes %v", pids)
	}
	listening := listeningSockets(t)
	for _, pid := range pids {
		proc := fmt.Sprintf("/proc/%d/", pid)
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(proc + file)
			if err != nil {
				t.Error(err)
			}
			if bytes.Contains(text, []byte(args.Token)) || bytes.Contains(text, []byte("hunter2")) {
				t.Errorf("a secret stands in %s%s", proc, file)
			}
		}
		fds, err := os.ReadDir(proc + "fd")
		if err != nil {
			t.Error(err)
		}
		for _, fd := range fds {
			if link, _ := os.Readlink(proc + "fd/" + fd.Name()); listening[link] {
				t.Errorf("process %d listens on a TCP port", pid)
			}
		}
	}
}

// listeningSockets are the TCP sockets that listen, as /proc/PID/fd names them.
func listeningSockets(t *testing.T) map[string]bool {
	t.Helper()
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue // no IPv6
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > 9 && fields[3] == "0A" {
				sockets["socket:["+fields[9]+"]"] = true
			}
		}
	}
	if len(sockets) == 0 {
		t.Fatal("no socket listens, not even the test's server")
	}
	return sockets
}

func TestBrowserLostInMidRun(t *testing.T) {
	tests := []struct {
		name string
		kill func(t *testing.T, f *fakeHost)
		want string
	}{
		{"browser killed", func(t *testing.T, f *fakeHost) { kill(t, f.Stats().BrowserPID) }, "signal: killed"},
		{"page killed", func(t *testing.T, f *fakeHost) { kill(t, helpersOf(t, f.profile(t), "--type=renderer")...) }, "crashed"},
		{"network killed", func(t *testing.T, f *fakeHost) {
			kill(t, helpersOf(t, f.profile(t), "network.mojom.NetworkService")...)
		}, "closed its connection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeHost(t, "ok", nil)
			for round := range 3 {
				if res := f.Run(t.Context(), Request{Code: "ok"}); !res.OK {
					t.Fatalf("round %d: %v", round, res.Error)
				}
				done := make(chan *Result, 2)
				for _, code := range []string{"hang", "hang"} {
					go func() { done <- f.Run(context.Background(), Request{Code: code}) }()
				}
				eventually(t, func() bool { return f.Stats().Running == 2 && runsOf(f) == 2 }, "the runs are not under way")
				begin := time.Now()
				tt.kill(t, f)
				for range 2 {
					res := <-done
					if res.OK || res.Error.Type != TypeBrowser || !strings.Contains(res.Error.Message, tt.want) || !strings.Contains(res.Error.Message, "run it again") {
						t.Errorf("the run in flight got %+v, want %q", res.Error, tt.want)
					}
				}
				if d := time.Since(begin); d > 2*time.Second {
					t.Errorf("answered %v after the browser was lost", d)
				} else {
					t.Logf("answered after %v", d.Round(time.Millisecond))
				}
			}
			if res := f.Run(t.Context(), Request{Code: "ok"}); !res.OK {
				t.Errorf("the next run got %v", res.Error)
			}
		})
	}
}

// runsOf counts the runs that pages know.
func runsOf(f *fakeHost) (n int) {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	for p := range f.hub.pages {
		p.mu.Lock()
		n += len(p.runs)
		p.mu.Unlock()
	}
	return n
}

func kill(t *testing.T, pids ...int) {
	t.Helper()
	if len(pids) == 0 {
		t.Fatal("nothing to kill")
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			t.Fatal(err)
		}
	}
}

// helpersOf are the browser's processes whose command line has a text.
func helpersOf(t testing.TB, profile, text string) (pids []int) {
	t.Helper()
	for _, pid := range processesUsing(profile) {
		if cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(string(cmdline), text) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestStuckPageRestartsTheBrowser(t *testing.T) {
	f := newFakeHost(t, "ok", func(o *Options) { o.Grace = 100 * time.Millisecond })
	for _, code := range []string{"hang", "spin"} {
		if res := f.Run(t.Context(), Request{Code: "ok"}); !res.OK {
			t.Fatal(res.Error)
		}
		before := f.Stats().BrowserPID
		begin := time.Now()
		res := f.Run(t.Context(), Request{Code: code, Timeout: 100 * time.Millisecond})
		if d := time.Since(begin); res.OK || res.Error.Type != TypeBrowser || !strings.Contains(res.Error.Message, "did not answer within 200ms") || d > time.Second {
			t.Errorf("%s: %+v after %v", code, res.Error, d)
		}
		if res := f.Run(t.Context(), Request{Code: "ok"}); !res.OK || f.Stats().BrowserPID == before {
			t.Errorf("after %s: %+v, browser %d then %d", code, res.Error, before, f.Stats().BrowserPID)
		}
	}
}

// closedServer is an address at which nobody listens any more.
func TestCloseWhileRunning(t *testing.T) {
	f := newFakeHost(t, "ok", nil)
	if res := f.Run(t.Context(), Request{Code: "ok"}); !res.OK {
		t.Fatal(res.Error)
	}
	done := make(chan *Result, 1)
	go func() { done <- f.Run(context.Background(), Request{Code: "spin"}) }()
	eventually(t, func() bool { return runsOf(f) == 1 }, "the run is not under way")
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	begin := time.Now()
	if err := f.Close(ctx); err != nil {
		t.Error(err)
	}
	t.Logf("closed in %v", time.Since(begin).Round(time.Millisecond))
	if res := <-done; res.OK || res.Error.Type != TypeExecutor {
		t.Errorf("the run got %+v", res.Error)
	}
	// What is left is checked in the cleanup, as after every test here.
}
