package mcpserver

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// settle is how long no call must have been under way before the end of the
// input is passed on. It covers the moment between the reading of a message and
// the start of its handler.
const settle = 100 * time.Millisecond

// tracker counts the requests under way.
type tracker struct {
	mu    sync.Mutex
	count int
	since time.Time // when count last became zero
}

func (t *tracker) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		t.add(1)
		defer t.add(-1)
		return next(ctx, method, req)
	}
}

func (t *tracker) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count += n
	t.since = time.Now()
}

// quiet reports whether no request has been under way for a span of time.
func (t *tracker) quiet(span time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count == 0 && time.Since(t.since) >= span
}

// lingering holds back the end of its input while requests are under way, for a
// while. The SDK cancels them at the end of the input; but where a shell pipes a
// few requests in, their answers are still wanted.
type lingering struct {
	io.ReadCloser
	calls  *tracker
	linger time.Duration
	closed chan struct{}
	close  func() error
}

func newLingering(in io.ReadCloser, calls *tracker, linger time.Duration) *lingering {
	l := &lingering{ReadCloser: in, calls: calls, linger: linger, closed: make(chan struct{})}
	l.close = sync.OnceValue(func() error {
		close(l.closed)
		return in.Close()
	})
	return l
}

func (l *lingering) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if n == 0 && errors.Is(err, io.EOF) {
		l.wait()
	}
	return n, err
}

func (l *lingering) wait() {
	if l.linger <= 0 {
		return
	}
	end := time.NewTimer(l.linger)
	defer end.Stop()
	poll := time.NewTicker(settle / 4)
	defer poll.Stop()
	l.calls.add(0) // the quiet span starts now
	for !l.calls.quiet(settle) {
		select {
		case <-poll.C:
		case <-end.C:
			return
		case <-l.closed:
			return
		}
	}
}

// Close closes the input and ends the wait.
func (l *lingering) Close() error { return l.close() }
