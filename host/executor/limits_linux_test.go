package executor

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A hostileRun is a snippet that would take down a careless host, and how it may end here.
type hostileRun struct {
	name, code string
	// types that its error may have. Empty means that it ends well.
	types []string
	// says must be in the error's message, in the value or in what it printed.
	says string
}

// runAll runs each in turn, asserts how it ends, and that the next run works.
func (f *fakeHost) runAll(t *testing.T, limit time.Duration, cases []hostileRun) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			res := f.Run(t.Context(), Request{Code: c.code, Timeout: limit})
			f.drainCalls()
			said := string(res.Value) + res.Stdout + res.Stderr
			if len(c.types) == 0 {
				if !res.OK {
					t.Fatalf("%v\n%s", res.Error, res.Error.Traceback)
				}
			} else if res.OK || !slices.Contains(c.types, res.Error.Type) {
				t.Fatalf("value %.200s, error %v, want one of %q", res.Value, res.Error, c.types)
			}
			if res.Error != nil {
				said += res.Error.Message
				t.Logf("%s: %.150s", res.Error.Type, res.Error.Message)
			}
			if !strings.Contains(said, c.says) {
				t.Errorf("nothing says %q: %.500s", c.says, said)
			}
			f.worksAsBefore(t)
		})
	}
}

func (f *fakeHost) drainCalls() {
	for {
		select {
		case <-f.calls:
		default:
			return
		}
	}
}

// TestTimeLimit ends runs in a real browser that go on in every way that Python knows.
func TestTimeLimit(t *testing.T) {
	const limit = 500 * time.Millisecond
	f := newRealHost(t, nil)
	cases := []struct{ name, code string }{
		{"a loop", "while True: pass"},
		{"a loop that swallows interrupts", "while True:\n    try:\n        while True: pass\n    except BaseException: pass"},
		{"interrupts swallowed by finally", "def f():\n    try:\n        while True: pass\n    finally:\n        f()\nf()"},
		{"sum of a range", "sum(range(10**12))"},
		{"a regular expression", "import re\nre.match('(a+)+$', 'a' * 40 + 'b')"},
		{"time.sleep", "import time\ntime.sleep(1e6)"},
		{"an await that never ends", "import asyncio\nawait asyncio.Future()"},
		{"a call that never ends", "await call_tool('plugin:demo/wait')"},
		{"a million pending tasks", "import asyncio\ntasks = [asyncio.ensure_future(asyncio.sleep(3600)) for _ in range(1_000_000)]\nawait asyncio.gather(*tasks)"},
		{"tasks that make tasks", "import asyncio\nasync def f():\n    while True:\n        asyncio.ensure_future(asyncio.sleep(0))\n        await asyncio.sleep(0)\nawait f()"},
		{"a huge power", "10**10**8"},
		{"a huge text", "import sys\nsys.set_int_max_str_digits(0)\nlen(str(7**20_000_000))"},
		{"list membership", "import itertools\n1 in itertools.repeat(0)"},
	}
	if res := f.Run(t.Context(), Request{Code: "return 1"}); !res.OK {
		t.Fatal(res.Error)
	}
	var table strings.Builder
	var late, control []time.Duration
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now()
			res := f.Run(t.Context(), Request{Code: c.code, Timeout: limit})
			took := time.Since(begin)
			f.drainCalls()
			if res.OK || res.Error.Type != "RunTimeoutError" || res.Error.Builtin != "TimeoutError" || !strings.Contains(res.Error.Message, "0.5 s") {
				t.Errorf("value %s, error %v", res.Value, res.Error)
			}
			late = append(late, took-limit)
			fmt.Fprintf(&table, "%6d ms  %s\n", (took - limit).Milliseconds(), c.name)
			f.worksAsBefore(t)
			// A run that ends by itself shows how late a busy machine makes any answer, and lets the pool refill.
			begin = time.Now()
			if res := f.Run(t.Context(), Request{Code: "import asyncio\nawait asyncio.sleep(0.5)"}); !res.OK {
				t.Fatal(res.Error)
			}
			control = append(control, time.Since(begin)-limit)
		})
	}
	// No core burns on for any of them.
	time.Sleep(3 * time.Second)
	renderers := helpersOf(t, f.profiles(t)[0], "--type=renderer")
	before, begin := cpuTime(t, renderers), time.Now()
	time.Sleep(time.Second)
	share := float64(cpuTime(t, renderers)-before) / float64(time.Since(begin))
	t.Logf("answered after the limit of %v by:\n%sthe renderers' share of a core 3 s after the last: %.0f %%", limit, table.String(), 100*share)
	if share > 0.5 {
		t.Errorf("a core burns: the renderers %v take %.0f %% of it", renderers, 100*share)
	}
	slices.Sort(late)
	slices.Sort(control)
	median, bound := late[len(late)/2], 300*time.Millisecond+control[len(control)-1]
	t.Logf("median %v, worst %v; of runs that end by themselves %v, %v",
		median, late[len(late)-1], control[len(control)/2], control[len(control)-1])
	if median > bound {
		t.Errorf("half of the runs were answered more than %v after their limit, want %v", median, bound)
	}
}

// cpuTime is what the processes have used of the processors, together.
func cpuTime(t *testing.T, pids []int) (total time.Duration) {
	t.Helper()
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that runs Go
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		var user, system int64
		if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
			t.Fatal(err)
		}
		total += time.Duration(user+system) * tick
	}
	return total
}

// TestOutputLimit prints in every way, in a real browser.
func TestOutputLimit(t *testing.T) {
	f := newRealHost(t, func(o *Options) { o.MaxOutputBytes = 1 << 20 })
	f.runAll(t, 20*time.Second, []hostileRun{
		{"without newlines", "for i in range(200_000): print('abc', end='')\nreturn 1", nil, strings.Repeat("abc", 200_000)},
		{"without newlines, over the limit", "while True: print('abc', end='')", []string{"OutputLimitError"}, "1 MiB ([executor] max_output_bytes)"},
		{"bytes", "import sys\nfor i in range(1000): sys.stdout.buffer.write(bytes(range(65, 75)))\nreturn 1", nil, strings.Repeat("ABCDEFGHIJ", 1000)},
		{"bytes over the limit", "import os\nwhile True: os.write(1, b'x' * 5000)", []string{"OutputLimitError"}, "print less"},
		{"to the error stream", "import sys\nwhile True: print('x' * 100, file=sys.stderr)", []string{"OutputLimitError"}, "max_output_bytes"},
		{"invalid UTF-8", "import sys\nsys.stdout.buffer.write(b'a\\xff\\xfeb')\nreturn 1", nil, "a\ufffd\ufffdb"},
		{"half a surrogate pair", "print('\\ud800')\nreturn 1", nil, `\ud800`},
		{"no stdout", "import sys\nsys.stdout = None\nprint('gone')\nreturn 'fine'", nil, "fine"},
		{"no streams at all", "import sys\nsys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None\nreturn 'fine'", nil, "fine"},
		{"closed stdout", "import sys\nsys.stdout.close()\nreturn 'fine'", nil, "fine"},
		{"closed descriptors", "import os\nfor fd in (0, 1, 2):\n    try: os.close(fd)\n    except OSError: pass\nreturn 'fine'", nil, "fine"},
		{"a hostile stdout", "import sys\nclass S:\n    def write(self, s): raise SystemExit\n    flush = write\nsys.stdout = S()\nreturn 'fine'", nil, "fine"},
		{"a million lines", "for i in range(1_000_000): print()\nreturn 1", nil, ""},
		{"a loop that swallows the error", "while True:\n    try: print('x' * 1000)\n    except OSError: break\nreturn 1", []string{"OutputLimitError"}, "max_output_bytes"},
		{"an error of its own after too much", "try:\n    while True: print('x' * 1000)\nfinally:\n    1 / 0", []string{"ZeroDivisionError"}, ""},
		{"logging over the limit", "import logging\nfor i in range(20_000): logging.warning('x' * 100)", []string{"OutputLimitError"}, "max_output_bytes"},
	})
	res := f.Run(t.Context(), Request{Code: "print('x' * (3 << 20))"})
	if res.OK || !res.OutputTruncated || len(res.Stdout) != 1<<20 {
		t.Errorf("%v, truncated: %t, %d bytes were kept", res.Error, res.OutputTruncated, len(res.Stdout))
	}
}
