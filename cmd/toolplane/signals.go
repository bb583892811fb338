package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return fmt.Sprintf("signal: %s", i.signal) }

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP ends,
// upon which the command winds up what it does. A second signal exits at once. The
// browser ends in either case: it hangs on a pipe of this process.
func interruptible(exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for first := true; ; first = false {
			select {
			case s := <-signals:
				number, _ := s.(syscall.Signal)
				if !first {
					exit(128 + int(number))
				}
				cancel(interrupted{number})
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// interruption is the number of the signal that ended a context, or 0.
func interruption(ctx context.Context) int {
	var i interrupted
	if errors.As(context.Cause(ctx), &i) {
		return int(i.signal)
	}
	return 0
}
