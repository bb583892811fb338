package executor

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMemoryCap fills interpreters in a real browser. Whatever was left in them, the next run works.
func TestMemoryCap(t *testing.T) {
	f := newRealHost(t, func(o *Options) { o.Headless.MaxMemoryMB = 96 })
	cases := []struct {
		name, code string
		value      string   // of a run that must end well
		types      []string // otherwise, how it may end
	}{
		{"one large object, caught", "try:\n    x = bytearray(200 << 20)\nexcept MemoryError:\n    y = bytearray(20 << 20)\n    return len(y)", "20971520", nil},
		{"a large object that fits", "return len(bytearray(40 << 20))", "41943040", nil},
		{"many objects", "x = [bytearray(1 << 20) for _ in range(1000)]", "", []string{"MemoryError"}},
		{"a growing text", "s = 'x'\nwhile True: s += s", "", []string{"MemoryError"}},
		{"globals filled to the last byte, then a value", `
keep, size = [], 1 << 20
while size:
    try:
        while True: keep.append(bytearray(size))
    except MemoryError:
        size //= 2
return len(keep) > 50
`, "true", nil},
		{"globals filled with small objects, then another error", `
keep = None
try:
    while True: keep = (keep, keep)
except MemoryError:
    pass
raise ValueError("after that")
`, "", []string{"ValueError", "MemoryError", "InterpreterError", "RunTimeoutError"}},
		{"a loop that swallows every MemoryError", "keep = []\nwhile True:\n    try: keep.append(bytearray(1 << 10))\n    except BaseException: pass", "", []string{"RunTimeoutError", "MemoryError"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now()
			res := f.Run(t.Context(), Request{Code: c.code, Timeout: 6 * time.Second})
			t.Logf("%v: %s %v", time.Since(begin).Round(time.Millisecond), res.Value, res.Error)
			switch {
			case c.types == nil:
				if string(res.Value) != c.value {
					t.Errorf("value %s, error %v, want %s", res.Value, res.Error, c.value)
				}
			case res.OK || !slices.Contains(c.types, res.Error.Type):
				t.Errorf("value %s, error %v, want one of %q", res.Value, res.Error, c.types)
			case res.Error.Type == "MemoryError":
				if res.Error.Builtin != "MemoryError" || !strings.Contains(res.Error.Message, "96 MiB ([executor] max_memory_mb)") || !strings.Contains(res.Error.Message, "save_result") {
					t.Errorf("%s: it must name the cap and the way out: %s", res.Error.Builtin, res.Error.Message)
				}
			}
			f.worksAsBefore(t)
		})
	}
}

// worksAsBefore fails the test unless the next run gets a pristine interpreter.
func (f *fakeHost) worksAsBefore(t *testing.T) {
	t.Helper()
	res := f.Run(t.Context(), Request{Code: "return [n for n in globals() if n in ('keep', 'x', 's', 'size')], sum(bytearray(1 << 20)), (await demo.echo(x=1))['x']"})
	if got := strings.ReplaceAll(string(res.Value), " ", ""); got != "[[],0,1]" {
		t.Errorf("the next run: %s %v", res.Value, res.Error)
	}
	f.nextCall(t)
}
