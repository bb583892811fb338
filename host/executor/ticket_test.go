package executor

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestTicketsAdmitOnce(t *testing.T) {
	var tickets tickets
	_, first := tickets.issue(KindHeadless)
	tk, second := tickets.issue(KindConsole)
	if first == second || len(first) < 40 {
		t.Fatalf("weak tokens %q and %q", first, second)
	}
	for _, bad := range []string{"", "x", first + "x", first[:len(first)-1], second[1:]} {
		if _, ok := tickets.redeem(bad, KindHeadless); ok {
			t.Errorf("token %q was accepted", bad)
		}
	}
	if _, ok := tickets.redeem(second, KindHeadless); ok {
		t.Error("a console's token admitted a headless page")
	}
	if got, ok := tickets.redeem(second, KindConsole); !ok || got != tk {
		t.Error("the right token and kind were refused")
	}
	if _, ok := tickets.redeem(second, KindConsole); ok {
		t.Error("a token was accepted twice")
	}
	revoked, third := tickets.issue(KindHeadless)
	tickets.revoke(revoked)
	if _, ok := tickets.redeem(third, KindHeadless); ok {
		t.Error("a revoked token was accepted")
	}
}

func TestTicketsHammer(t *testing.T) {
	var tickets tickets
	for range 50 {
		_, token := tickets.issue(KindHeadless)
		var wg sync.WaitGroup
		var admitted atomic.Int64
		for range 8 {
			wg.Go(func() {
				if _, ok := tickets.redeem(token, KindHeadless); ok {
					admitted.Add(1)
				}
			})
		}
		wg.Wait()
		if admitted.Load() != 1 {
			t.Fatalf("one token admitted %d connections", admitted.Load())
		}
	}
	if len(tickets.open) != 0 {
		t.Errorf("%d tickets are left", len(tickets.open))
	}
}
