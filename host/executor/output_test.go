package executor

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestOutputRelayOrderAndLimit(t *testing.T) {
	var got strings.Builder
	o := newOutputRelay(func(stream, text string) { got.WriteString(stream[3:4] + ":" + text + " ") }, 8)
	o.add("stdout", "abc")
	o.add("stderr", "x")
	o.add("stdout", "défgh") // é takes two bytes: 8 are left after "défg"
	o.add("stdout", "more")
	o.add("stderr", "1234567")
	o.finish()
	text := strings.NewReplacer("o:", "", "e:", "", " ", "").Replace(got.String())
	if text != "abcxdéfg1234567" {
		t.Errorf("delivered %q", got.String())
	}
	o.add("stderr", "late")
	if strings.Contains(got.String(), "late") {
		t.Error("delivered output that came after the end")
	}
}

func TestOutputRelayCutsBetweenCharacters(t *testing.T) {
	for limit, want := range map[int64]string{-1: "", 0: "", 1: "a", 2: "a", 4: "a", 5: "a😀", 6: "a😀b", 9: "a😀b"} {
		if got := cutText("a😀b", limit); got != want {
			t.Errorf("cutText(%d) = %q, want %q", limit, got, want)
		}
	}
}

func TestOutputRelaySlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		calls := 0
		o := newOutputRelay(func(string, string) { calls++; <-stuck }, 1<<20)
		for range 10_000 {
			o.add("stdout", "x") // must not wait for the listener
		}
		synctest.Wait()
		o.mu.Lock()
		pieces := len(o.queue)
		o.mu.Unlock()
		if pieces > 10_000/4096+2 {
			t.Errorf("10,000 small writes wait in %d pieces", pieces)
		}
		begin := time.Now()
		o.finish()
		if d := time.Since(begin); d != drainTime {
			t.Errorf("finish waited %v for a listener that is stuck, want %v", d, drainTime)
		}
		close(stuck)
		<-o.done
		if calls < 2 {
			t.Errorf("the rest was dropped: %d calls", calls)
		}
	})
}

func TestOutputRelayNobodyListens(t *testing.T) {
	o := newOutputRelay(nil, 3)
	o.add("stdout", "xy")
	o.add("stdout", "zzz")
	o.finish()
	o.add("stderr", "late")
	if out, err := o.text("stdout"), o.text("stderr"); out != "xyz" || err != "" {
		t.Errorf("kept %q and %q", out, err)
	}
}
