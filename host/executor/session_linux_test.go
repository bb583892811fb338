package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func withSessions(o *Options) { o.Sessions = &SessionOptions{} }

// Sessions through the host's own API, in a real browser.
func TestPythonSession(t *testing.T) {
	f := newRealHost(t, withSessions)
	run := func(t *testing.T, req Request, session string) *Result {
		t.Helper()
		res := f.Run(t.Context(), req)
		if res.Session != session {
			t.Errorf("%q: session %q (%s), want %q: %v", req.Code, res.Session, res.SessionNote, session, res.Error)
		}
		return res
	}
	value := func(t *testing.T, scope, code, want string) {
		t.Helper()
		if res := run(t, Request{Scope: scope, Code: code}, "kept"); strings.ReplaceAll(string(res.Value), " ", "") != want {
			t.Errorf("%q: %s %v, want %s", code, res.Value, res.Error, want)
		}
	}

	t.Run("namespace", func(t *testing.T) {
		run(t, Request{Scope: "a", Code: "import json\nx = [1]\ndef f(): return len(x)\nf()"}, "new")
		value(t, "a", "x.append(2)\nreturn [f(), _, json.loads('3')]", "[2,1,3]")
		run(t, Request{Scope: "b", Code: "'x' in globals()"}, "new")
		run(t, Request{Scope: "a", Code: "x = 'fresh'", Fresh: true}, "fresh")
		value(t, "a", "x", "[1,2]")
		run(t, Request{Scope: "a", Code: "x.append(given)\n1 / 0", Inputs: map[string]json.RawMessage{"given": json.RawMessage("3")}}, "kept")
		value(t, "a", "return [x, 'given' in globals()]", "[[1,2,3],false]")
	})

	t.Run("rollback", func(t *testing.T) {
		for _, code := range []string{
			"while True:\n  try:\n    while True: pass\n  except: pass", "sum(range(10**12))", "import time\ntime.sleep(1e6)", "await call_tool('plugin:demo/wait')",
		} {
			res := run(t, Request{Scope: "a", Code: "x.clear()\ny = 1\n" + code, Timeout: 300 * time.Millisecond}, "rolled_back")
			if res.OK || res.Error.Type != "RunTimeoutError" || !strings.Contains(res.Error.Message, "rolled back") || !strings.Contains(res.Error.Message, "(calls, saved results) stands") {
				t.Errorf("%q: %+v", code, res.Error)
			}
			value(t, "a", "return [x, 'y' in globals()]", "[[1,2,3],false]")
		}
		f.nextCall(t)
	})

	t.Run("stop", func(t *testing.T) {
		for _, code := range []string{"while True: pass", "sum(range(10**12))", "await call_tool('plugin:demo/wait')"} {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan *Result, 1)
			go func() { done <- f.Run(ctx, Request{Scope: "a", Code: "x.clear()\nawait demo.echo()\n" + code}) }()
			f.nextCall(t)
			if strings.HasPrefix(code, "await") {
				f.nextCall(t)
			}
			cancel()
			if res := <-done; res.OK || res.Error.Type != TypeCancelled || res.Session != "rolled_back" {
				t.Errorf("%q: %+v %+v", code, res, res.Error)
			}
			value(t, "a", "x", "[1,2,3]") // waits for its turn
		}
	})

	t.Run("queue", func(t *testing.T) {
		run(t, Request{Scope: "q", Code: "order = []"}, "new")
		results := make(chan *Result)
		for i := range 5 {
			go func() {
				results <- f.Run(t.Context(), Request{Scope: "q", Code: fmt.Sprintf("import asyncio\norder.append(%d)\nawait asyncio.sleep(0.05)\nreturn len(order)", i)})
			}()
		}
		var values []string
		waited := 0
		for range 5 {
			res := <-results
			values = append(values, string(res.Value))
			if res.WaitedMS >= 40 {
				waited++
			}
		}
		slices.Sort(values)
		if got := strings.Join(values, ""); got != "12345" || waited != 4 {
			t.Errorf("values %s, %d runs tell that they waited", got, waited)
		}
	})

	t.Run("reset", func(t *testing.T) {
		if forgot, err := f.ResetSession(t.Context(), "q", ""); err != nil || forgot != "the namespace of 6 runs" {
			t.Error(forgot, err)
		}
		if res := run(t, Request{Scope: "q", Code: "'order' in globals()"}, "new"); string(res.Value) != "false" {
			t.Errorf("%s", res.Value)
		}
		run(t, Request{Scope: "q", Code: "left = 1\nawait reset_session()"}, "reset")
		if res := run(t, Request{Scope: "q", Code: "'left' in globals()"}, "new"); string(res.Value) != "false" {
			t.Errorf("%s", res.Value)
		}
		f.DropScope("q")
		f.DropScope("b")
		if n := f.Stats().Sessions; n != 1 {
			t.Errorf("%d sessions", n)
		}
	})

	t.Run("browser dies", func(t *testing.T) {
		done := make(chan *Result, 1)
		go func() {
			done <- f.Run(context.Background(), Request{Scope: "a", Code: "await call_tool('plugin:demo/wait')"})
		}()
		f.nextCall(t)
		run(t, Request{Scope: "idle", Code: "x = 1"}, "new")
		kill(t, f.Stats().BrowserPID)
		if res := <-done; res.OK || res.Session != "lost" || !strings.Contains(res.Error.Message, "namespace is gone") {
			t.Errorf("%+v %+v", res, res.Error)
		}
		if res := run(t, Request{Scope: "a", Code: "'x' in globals()"}, "new"); string(res.Value) != "false" || res.SessionNote != "" {
			t.Errorf("%+v", res)
		}
		if res := run(t, Request{Scope: "idle", Code: "'x' in globals()"}, "new"); !strings.Contains(res.SessionNote, "gone") {
			t.Errorf("note %q", res.SessionNote)
		}
	})
}

// Over its limit: an error that names it and the way out, and the session works on.
func TestPythonSessionMemory(t *testing.T) {
	f := newRealHost(t, func(o *Options) { o.Sessions = &SessionOptions{MaxMemoryMB: 80} })
	run := func(code, session string) *Result {
		t.Helper()
		res := f.Run(t.Context(), Request{Scope: "a", Code: code})
		if res.Session != session {
			t.Errorf("%q: session %q, want %q: %v", code, res.Session, session, res.Error)
		}
		return res
	}
	run("x = [1]", "new")
	if res := run("b = bytearray(10**8)", "kept"); res.OK || res.Error.Builtin != "MemoryError" || !strings.Contains(res.Error.Message, "80 MiB in all ([session] max_memory_mb)") {
		t.Errorf("memory: %+v", res.Error)
	}
	if res := run("try: b = bytearray(10**8)\nexcept MemoryError: x.append(2)\nx", "kept"); string(res.Value) != "[1,2]" {
		t.Errorf("caught: %s %v", res.Value, res.Error)
	}
	res := run("with open('/tmp/big', 'wb') as fh:\n  for i in range(60): fh.write(bytes(2**20))\nx.append(3)", "rolled_back")
	if res.OK || res.Error.Builtin != "MemoryError" || !strings.Contains(res.Error.Message, "80 MiB ([session] max_memory_mb)") || !strings.Contains(res.Error.Message, "reset_session()") {
		t.Errorf("files: %+v", res.Error)
	}
	// To the brim: such a state would leave no room for the next run's plumbing.
	res = run("l = []\ntry:\n  while True: l.append(bytearray(2**20))\nexcept MemoryError:\n  try:\n    while True: l.append(bytearray(2**10))\n  except MemoryError: pass", "rolled_back")
	if res.OK || !strings.Contains(res.Error.Message, "no memory for another run") {
		t.Errorf("filled: %+v", res.Error)
	}
	if res := run("import os\nreturn [x, os.path.exists('/tmp/big'), 'l' in globals()]", "kept"); strings.ReplaceAll(string(res.Value), " ", "") != "[[1,2],false,false]" {
		t.Errorf("afterwards: %s %v", res.Value, res.Error)
	}
}

// Runs of every kind, seeded, against a model of the namespace. mixedRounds is
// how many; the benchmark does more.
func TestPythonSessionMixed(t *testing.T) {
	f := newRealHost(t, withSessions)
	mixed(t, f, 100)
}

// BenchmarkSessionMixed is the long form: 500 rounds for each iteration.
func BenchmarkSessionMixed(b *testing.B) {
	f := newRealHost(b, withSessions)
	for b.Loop() {
		mixed(b, f, 500)
	}
}

func mixed(t testing.TB, f *fakeHost, rounds int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 14))
	scope := fmt.Sprintf("mixed-%d", time.Now().UnixNano())
	model := map[string]int{}
	step := 0
	// do runs code and checks how it ended; keep says whether what it did stands.
	do := func(code, wantType, wantSession string, timeout time.Duration) {
		t.Helper()
		res := f.Run(context.Background(), Request{Scope: scope, Code: code, Timeout: timeout})
		if got := errorType(res); got != wantType || res.Session != wantSession {
			t.Fatalf("round %d: %q: %s, session %s (%s), want %s, %s: %v", step, code, got, res.Session, res.SessionNote, wantType, wantSession, res.Error)
		}
	}
	do("import asyncio, time\nd = {}\nclosures = []\ndef gen():\n  n = 0\n  while True:\n    n += 1\n    yield n\ng = gen()\nfh = open('/tmp/log', 'w+')", "", "new", 0)
	ticks, length := 0, 0
	endless := []string{"while True: pass", "while True:\n  try:\n    while True: pass\n  except: pass", "sum(range(10**12))", "time.sleep(100)", "await asyncio.Event().wait()"}
	var after50 int64
	for step = 1; step <= rounds; step++ {
		key := fmt.Sprintf("k%d", rng.IntN(20))
		change := fmt.Sprintf("d[%q] = %d\nnext(g)\nfh.write('x' * 10); fh.flush()\n", key, step)
		stands := true
		switch kind := rng.IntN(11); {
		case kind < 5:
			do(change, "", "kept", 0)
		case kind < 6:
			do(change+"1 / 0", "ZeroDivisionError", "kept", 0)
		case kind < 7:
			do(change+endless[rng.IntN(len(endless))], "RunTimeoutError", "rolled_back", 100*time.Millisecond)
			stands = false
		case kind < 8:
			do(change+"print('x' * 10**6)\nwhile True: print('y' * 10**6)", "OutputLimitError", "kept", 5*time.Second)
		case kind < 9:
			do(change+"b = bytearray(2**30)", "MemoryError", "kept", 0)
		case rng.IntN(2) == 0:
			// It only seems to be over, and has the next run find no interpreter: both are undone.
			do(change+"import _toolplane_host\n_toolplane_host.finish('{\"ok\":true,\"value\":1}')\nwhile True: pass", "", "kept", 0)
			do("d.clear()", "RunTimeoutError", "rolled_back", 100*time.Millisecond)
			stands = false
		default:
			// A result of its own making.
			do(change+"import js\nfrom pyodide.ffi import to_js\nimport _toolplane_host\n_toolplane_host.finish('nonsense')\nwhile True: pass", "SandboxError", "rolled_back", 5*time.Second)
			stands = false
		}
		if stands {
			model[key] = step
			ticks++
			length += 10
		}
		want, _ := json.Marshal(map[string]any{"d": model, "length": length, "ticks": ticks})
		res := f.Run(context.Background(), Request{Scope: scope, Code: "import json, os\nreturn json.dumps({'d': dict(sorted(d.items())), 'length': os.path.getsize('/tmp/log'), 'ticks': g.gi_frame.f_locals.get('n', 0)}, separators=(',', ':'))"})
		var got string
		if err := json.Unmarshal(res.Value, &got); err != nil || got != string(want) {
			t.Fatalf("round %d: the namespace is\n%s\nwant\n%s\n%v", step, got, want, res.Error)
		}
		if step == 50 {
			after50 = residentOfBrowser(t, f)
			if n := workersOfBrowser(t, f); n < 2 {
				t.Fatalf("%d workers are seen: they can't be counted", n)
			}
		}
	}
	// The clock, the session's worker and the pool of two: those that were ended are gone.
	deadline := time.Now().Add(testTimeout)
	for workersOfBrowser(t, f) > 4 {
		if time.Now().After(deadline) {
			t.Fatalf("%d workers are left", workersOfBrowser(t, f))
		}
		time.Sleep(50 * time.Millisecond)
	}
	f.DropScope(scope)
	if rounds > 50 {
		now := residentOfBrowser(t, f)
		t.Logf("browser: %d MB after round 50, %d MB after round %d", after50>>20, now>>20, rounds)
		if float64(now) > 1.5*float64(after50) {
			t.Errorf("the browser grew from %d MB after round 50 to %d MB", after50>>20, now>>20)
		}
	}
}

// workersOfBrowser counts the threads of web workers.
func workersOfBrowser(t testing.TB, f *fakeHost) (n int) {
	t.Helper()
	for _, pid := range helpersOf(t, f.profiles(t)[0], "--type=renderer") {
		names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
		for _, name := range names {
			if comm, _ := os.ReadFile(name); strings.HasPrefix(string(comm), "DedicatedWorker") {
				n++
			}
		}
	}
	return n
}

func errorType(res *Result) string {
	if res.Error == nil {
		return ""
	}
	return res.Error.Type
}

// residentOfBrowser is the memory of the largest process of the browser: the
// frame's, in which the workers are.
func residentOfBrowser(t testing.TB, f *fakeHost) int64 {
	t.Helper()
	var most int64
	for _, pid := range helpersOf(t, f.profiles(t)[0], "--type=renderer") {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			continue // it has just ended
		}
		var size, pages int64
		if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
			t.Fatal(err)
		}
		most = max(most, pages*int64(os.Getpagesize()))
	}
	return most
}

// BenchmarkSession sets a run in a session, with its checkpoint, beside a fresh
// run of the same snippet that finds the pool idle, at several sizes of the
// interpreter's memory, and what the checkpoint adds beside a bare copy of as many
// bytes. Each iteration does one of each, one after the other.
func BenchmarkSession(b *testing.B) {
	f := newRealHost(b, withSessions)
	for _, mb := range []int{0, 128, 256} {
		name := fmt.Sprintf("%dMB", mb)
		if mb == 0 {
			name = "small"
		}
		b.Run(name, func(b *testing.B) {
			run := func(req Request) time.Duration {
				begin := time.Now()
				if res := f.Run(context.Background(), req); !res.OK {
					b.Fatal(res.Error)
				}
				return time.Since(begin)
			}
			fresh, kept := Request{Code: "return 1", Fresh: true}, Request{Scope: name, Code: "return 1"}
			size := f.Run(context.Background(), Request{Scope: name, Code: fmt.Sprintf(
				"fill = bytearray(max(0, %d - 31) << 20)\nreturn len(fill) >> 20", mb)})
			if !size.OK {
				b.Fatal(size.Error)
			}
			for range 5 {
				run(kept)
			}
			from, to := make([]byte, max(mb, 31)<<20), make([]byte, max(mb, 31)<<20)
			copy(from, to)
			var freshTimes, keptTimes, copyTimes []time.Duration
			for b.Loop() {
				b.StopTimer()
				time.Sleep(time.Second) // the pool refills
				freshTimes = append(freshTimes, run(fresh))
				time.Sleep(time.Second) // and doesn't get into the other's way
				begin := time.Now()
				copy(to, from)
				copyTimes = append(copyTimes, time.Since(begin))
				b.StartTimer()
				keptTimes = append(keptTimes, run(kept))
			}
			freshMS, keptMS := medianMS(freshTimes), medianMS(keptTimes)
			heap := float64(max(mb, 31))
			b.ReportMetric(freshMS, "fresh-ms")
			b.ReportMetric(keptMS, "session-ms")
			b.ReportMetric(keptMS/freshMS, "ratio")
			b.ReportMetric((keptMS-freshMS)/heap, "checkpoint-ms/MB")
			b.ReportMetric(medianMS(copyTimes)/heap, "copy-ms/MB")
		})
	}
}

func medianMS(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2].Microseconds()) / 1000
}
