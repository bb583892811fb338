package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/web"
)

// newRealHost serves an executor with the real page: Python in a real browser.
func newRealHost(t testing.TB, change func(*Options)) *fakeHost {
	t.Helper()
	if err := web.Built(); err != nil {
		t.Fatalf("%v", err)
	}
	f := &fakeHost{log: new(lockedBuffer), temp: shortTempDir(t), calls: make(chan string, 1000), requests: new(lockedBuffer)}
	t.Setenv("TMPDIR", f.temp)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	registry := capability.NewRegistry()
	if err := registry.Put(demoProvider{}, []capability.Capability{{
		Name: "plugin:demo/echo", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{}}}`),
	}}); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Headless: HeadlessOptions{BaseURL: server.URL},
		Logger:   slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Hub: HubOptions{Registry: registry, Dispatcher: DispatcherFunc(func(ctx context.Context, from Origin, name string, args json.RawMessage) (json.RawMessage, *capability.Error) {
			f.calls <- from.Scope + " " + name + " " + string(args)
			switch name {
			case "plugin:demo/echo":
				return args, nil
			case "plugin:demo/wait":
				<-ctx.Done()
				return nil, capability.AsError(ctx.Err())
			}
			return nil, capability.Errorf(capability.LookupError, "UnknownCapabilityError", "no %s here", name)
		})},
	}
	if change != nil {
		change(&o)
	}
	f.Executor = New(o)
	mux.Handle("/ws", f.Hub())
	mux.Handle(web.Prefix, web.Handler())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		if err := f.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		checkEmpty(t, f.temp)
		if t.Failed() {
			t.Logf("log:\n%s", f.log)
		}
	})
	return f
}

func TestPython(t *testing.T) {
	f := newRealHost(t, nil)
	ctx := t.Context()

	t.Run("value and output", func(t *testing.T) {
		var mu sync.Mutex
		var live strings.Builder
		res := f.Run(ctx, Request{
			Code:     "import sys\nprint('hello', inputs['big'])\nprint('oops', file=sys.stderr)\nreturn {'big': big, 'f': 1.0, 'n': -0.0, 'prev': _}",
			Inputs:   map[string]json.RawMessage{"big": json.RawMessage("9007199254740993")},
			Previous: json.RawMessage(`[1]`),
			OnOutput: func(stream, text string) { mu.Lock(); defer mu.Unlock(); live.WriteString(stream + ":" + text) },
		})
		if !res.OK {
			t.Fatal(res.Error)
		}
		if got := strings.ReplaceAll(string(res.Value), " ", ""); got != `{"big":9007199254740993,"f":1.0,"n":-0.0,"prev":[1]}` {
			t.Errorf("value %s", res.Value)
		}
		if res.Stdout != "hello 9007199254740993\n" || res.Stderr != "oops\n" {
			t.Errorf("output %q, %q", res.Stdout, res.Stderr)
		}
		if got := live.String(); !strings.Contains(got, "hello 9007199254740993\n") || !strings.Contains(got, "oops\n") {
			t.Errorf("forwarded %q", got)
		}
	})

	t.Run("tool calls", func(t *testing.T) {
		res := f.Run(ctx, Request{Scope: "s1", Code: "import asyncio\nr = await asyncio.gather(*[demo.echo(x=i) for i in range(20)])\nreturn [v['x'] for v in r]"})
		if !res.OK || strings.ReplaceAll(string(res.Value), " ", "") != "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]" {
			t.Fatalf("%s %v", res.Value, res.Error)
		}
		for range 20 {
			if call := f.nextCall(t); !strings.HasPrefix(call, "s1 plugin:demo/echo {") {
				t.Errorf("dispatched %q", call)
			}
		}
	})

	t.Run("errors", func(t *testing.T) {
		res := f.Run(ctx, Request{Code: "try:\n    await call_tool('plugin:demo/nope')\nexcept LookupError as e:\n    print(type(e).__name__, e)\nreturn 1 / 0"})
		if res.OK || res.Error.Type != "ZeroDivisionError" || !strings.Contains(res.Error.Traceback, "line 5") {
			t.Errorf("error %+v", res.Error)
		}
		if res.Stdout != "UnknownCapabilityError no plugin:demo/nope here\n" {
			t.Errorf("output %q", res.Stdout)
		}
		f.nextCall(t)
	})

	t.Run("timeout", func(t *testing.T) {
		for _, code := range []string{"while True: pass", "import time\ntime.sleep(1e6)", "await call_tool('plugin:demo/wait')"} {
			begin := time.Now()
			res := f.Run(ctx, Request{Code: code, Timeout: 300 * time.Millisecond})
			if res.OK || res.Error.Type != "RunTimeoutError" || res.Error.Builtin != "TimeoutError" {
				t.Errorf("%q: %+v", code, res.Error)
			}
			if d := time.Since(begin); d > 3*time.Second {
				t.Errorf("%q took %v", code, d)
			}
		}
		f.nextCall(t)
	})

	t.Run("cancel", func(t *testing.T) {
		for _, code := range []string{"while True: pass", "await call_tool('plugin:demo/wait')"} {
			running, cancel := context.WithCancel(ctx)
			done := make(chan *Result, 1)
			go func() { done <- f.Run(running, Request{Code: "await demo.echo()\n" + code}) }()
			f.nextCall(t) // it has started
			if strings.HasPrefix(code, "await") {
				f.nextCall(t)
			}
			begin := time.Now()
			cancel()
			res := <-done
			if res.OK || res.Error.Type != TypeCancelled || time.Since(begin) > 300*time.Millisecond {
				t.Errorf("%q: %+v after %v", code, res.Error, time.Since(begin))
			}
			eventually(t, func() bool { return f.Stats().Running == 0 }, "the page didn't stop the run")
		}
		if pid := f.Stats().BrowserPID; pid == 0 {
			t.Error("cancelling lost the browser")
		}
	})
}

// The next run after the browser was killed finds everything as it was.
func TestPythonAfterKilledBrowser(t *testing.T) {
	f := newRealHost(t, nil)
	if res := f.Run(t.Context(), Request{Code: "await demo.echo(x=1)"}); !res.OK {
		t.Fatal(res.Error)
	}
	f.nextCall(t)
	done := make(chan *Result, 1)
	wait := func() {
		t.Helper()
		go func() {
			done <- f.Run(context.Background(), Request{Code: "print('so far')\nawait call_tool('plugin:demo/wait')"})
		}()
		f.nextCall(t)
	}
	wait()
	begin := time.Now()
	kill(t, f.Stats().BrowserPID)
	res := <-done
	if d := time.Since(begin); res.OK || res.Error.Type != TypeBrowser || d > 2*time.Second {
		t.Errorf("the run in flight got %+v after %v", res.Error, d)
	}
	if res := f.Run(t.Context(), Request{Code: "return 2 ** 100"}); string(res.Value) != "1267650600228229401496703205376" {
		t.Errorf("%s %v", res.Value, res.Error)
	}
	// The frame in which Python runs has a process of its own, the largest.
	wait()
	kill(t, largest(t, helpersOf(t, f.profile(t), "--type=renderer")))
	if res := <-done; res.OK || res.Error.Type != TypeBrowser || !strings.Contains(res.Error.Message, "crashed") {
		t.Errorf("the run in a crashed page got %+v", res.Error)
	}
	if res := f.Run(t.Context(), Request{Code: "return 1"}); !res.OK {
		t.Error(res.Error)
	}
}

// largest is the process that has the most memory.
func largest(t *testing.T, pids []int) (pid int) {
	t.Helper()
	most := 0
	for _, p := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p))
		if err != nil {
			t.Fatal(err)
		}
		var size, resident int
		if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
			t.Fatal(err)
		}
		if resident > most {
			pid, most = p, resident
		}
	}
	t.Logf("of the processes %v, %d is the largest: %d MB", pids, pid, most*os.Getpagesize()>>20)
	return pid
}

func BenchmarkColdStart(b *testing.B) {
	for b.Loop() {
		f := newRealHost(b, nil)
		if res := f.Run(context.Background(), Request{Code: "return 1"}); !res.OK {
			b.Fatal(res.Error)
		}
		b.StopTimer()
		if err := f.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkIdleRun(b *testing.B) {
	f := newRealHost(b, nil)
	run := func() time.Duration {
		begin := time.Now()
		if res := f.Run(context.Background(), Request{Code: "return 1"}); !res.OK {
			b.Fatal(res.Error)
		}
		return time.Since(begin)
	}
	run()
	var times []time.Duration
	for b.Loop() {
		b.StopTimer()
		time.Sleep(time.Second) // the pool refills: what is measured is a run that finds it idle
		b.StartTimer()
		times = append(times, run())
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms/median")
	b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "ms/p95")
}
