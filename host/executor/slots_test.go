package executor

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestSlotsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1, 1, time.Minute)
		ctx := t.Context()
		if err := s.acquire(ctx); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() { waited <- s.acquire(ctx) }()
		synctest.Wait()

		if err := s.acquire(ctx); err == nil || !strings.Contains(err.Error(), "max_concurrent_runs") {
			t.Errorf("a third run got %v, want a refusal that names the limit", err)
		}
		s.release()
		if err := <-waited; err != nil {
			t.Errorf("the waiting run got %v", err)
		}

		begin := time.Now()
		err := s.acquire(ctx)
		if err == nil || !strings.Contains(err.Error(), "waited 1m0s") || time.Since(begin) != time.Minute {
			t.Errorf("after %v: %v, want a refusal after one minute", time.Since(begin), err)
		}

		cause := errors.New("had enough")
		cancelled, cancel := context.WithCancelCause(ctx)
		go func() { waited <- s.acquire(cancelled) }()
		synctest.Wait()
		cancel(cause)
		if err := <-waited; !errors.Is(err, cause) {
			t.Errorf("a cancelled wait got %v, want its cause", err)
		}
		s.release()
		if err := s.acquire(cancelled); !errors.Is(err, cause) {
			t.Errorf("a cancelled run got a free slot: %v", err)
		}
		if n := s.running(); n != 0 {
			t.Errorf("%d slots are taken at the end", n)
		}
	})
}

func TestSlotsHammer(t *testing.T) {
	const limit = 3
	s := newSlots(limit, 1000, time.Minute)
	var running, most atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if err := s.acquire(context.Background()); err != nil {
				t.Error(err)
				return
			}
			n := running.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			running.Add(-1)
			s.release()
		})
	}
	wg.Wait()
	if most.Load() > limit {
		t.Errorf("%d ran at once, limit %d", most.Load(), limit)
	}
	if s.running() != 0 || s.waiting.Load() != 0 {
		t.Errorf("%d run and %d wait at the end", s.running(), s.waiting.Load())
	}
}
