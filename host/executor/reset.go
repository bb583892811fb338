package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// ResetSession makes the next run of a scope begin with an empty namespace, and
// stops the run that is under way in it. It says what was forgotten ("the
// namespace of 3 runs"), "" when there was nothing. Saved results and artifacts
// are none of its business: they stay.
func (e *Executor) ResetSession(ctx context.Context, scope, subject string) (forgot string, err error) {
	if e.sessions == nil {
		return "", nil
	}
	p, key := e.sessions.reset(owner{scope, subject})
	if p == nil {
		return "", nil
	}
	runs, err := resetOn(ctx, p, key)
	if err != nil || runs == 0 {
		return "", err
	}
	if runs == 1 {
		return "the namespace of 1 run", nil
	}
	return fmt.Sprintf("the namespace of %d runs", runs), nil
}

// DropScope ends the sessions of a scope that has ended, of every subject, and
// the runs that are under way in them. It doesn't wait for that.
func (e *Executor) DropScope(scope string) {
	if e.sessions != nil {
		e.sessions.drop(scope)
	}
}

// forget ends a session in its page, some time soon.
func (e *Executor) forget(p *page, key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return // and the page with it
	}
	e.runs.Go(func() {
		ctx, cancel := context.WithTimeout(e.life, stopTime)
		defer cancel()
		if _, err := resetOn(ctx, p, key); err != nil && e.life.Err() == nil {
			e.o.Logger.Warn("end a session", "error", err)
		}
	})
}

// resetOn has a page end a session and returns how many runs it had.
func resetOn(ctx context.Context, p *page, key string) (int, error) {
	params, err := protocol.EncodePayload(protocol.ExecutorResetParams{Session: key})
	if err != nil {
		return 0, fmt.Errorf("reset the session: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, resetTime)
	defer cancel()
	raw, err := p.conn.Call(ctx, protocol.MethodExecutorReset, params)
	if errors.Is(err, wsbridge.ErrClosed) {
		return 0, nil // gone with its page
	}
	if err != nil {
		return 0, fmt.Errorf("reset the session: %w", err)
	}
	var res protocol.ExecutorResetResult
	if err := protocol.DecodeResult(raw, &res); err != nil {
		return 0, fmt.Errorf("reset the session: the executor page's answer: %w", err)
	}
	return res.Runs, nil
}

// resetTime is how long a page may take to answer a reset.
const resetTime = 10 * time.Second
