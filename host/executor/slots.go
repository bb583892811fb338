package executor

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// slots bounds the runs under way and those that wait for one of them to end.
// Who waits longest is served first.
type slots struct {
	free       chan struct{} // holds a token for each free slot
	waiting    atomic.Int64
	maxWaiting int64
	patience   time.Duration
}

func newSlots(n, maxWaiting int, patience time.Duration) *slots {
	s := &slots{free: make(chan struct{}, n), maxWaiting: int64(maxWaiting), patience: patience}
	for range n {
		s.free <- struct{}{}
	}
	return s
}

// acquire takes a slot, waiting for one if need be and if not too many do
// already. The error says which limit was met; it is ctx's if that ended first.
func (s *slots) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	select {
	case <-s.free:
		return nil
	default:
	}
	if s.waiting.Add(1) > s.maxWaiting {
		s.waiting.Add(-1)
		return fmt.Errorf("%d runs are under way ([executor] max_concurrent_runs) and %d more wait: try again when some have ended", cap(s.free), s.maxWaiting)
	}
	defer s.waiting.Add(-1)
	timer := time.NewTimer(s.patience)
	defer timer.Stop()
	select {
	case <-s.free:
		return nil
	case <-timer.C:
		return fmt.Errorf("waited %v for one of the %d runs under way ([executor] max_concurrent_runs) to end: try again later, or raise the limit", s.patience, cap(s.free))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *slots) release() { s.free <- struct{}{} }

func (s *slots) running() int { return cap(s.free) - len(s.free) }
