package search

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/toolplane/toolplane/host/capability"
)

// ErrClosed is what a closed index answers.
var ErrClosed = errors.New("search: the index is closed")

// Options are those of an index. Their zero value will do.
type Options struct {
	// Logger receives builds that failed. Nil means no log.
	Logger *slog.Logger
}

// An Index answers searches over one catalog of capabilities.
//
// All methods are safe for concurrent use. A search never waits for a build: it
// reads the catalog that was there when it began. [Index.Sync] waits for builds
// where that matters.
//
// An index that follows a registry has one goroutine, which [Index.Close], or the
// stop of [Index.Follow], ends and waits for. Nothing else outlives a call: the
// goroutines that bleve needs live as long as one build, and end soon after it.
type Index struct {
	logger  *slog.Logger
	current atomic.Pointer[snapshot] // nil once closed

	building sync.Mutex // orders builds

	mu       sync.Mutex // guards what follows
	closed   bool
	follower *follower
}

// New makes an empty index.
func New(o Options) (*Index, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	x := &Index{logger: o.Logger}
	empty, err := newSnapshot(nil)
	if err != nil {
		return nil, err
	}
	x.current.Store(empty)
	return x, nil
}

// Rebuild replaces the catalog; hidden capabilities are left out, and of two with
// one name the later one counts. Their call shapes are those of
// [capability.Capability.CallShape]. On an error the catalog is what it was.
func (x *Index) Rebuild(caps []capability.Capability) error {
	catalog := make([]capability.Hit, len(caps))
	for i, c := range caps {
		catalog[i] = capability.Hit{Capability: c, Call: c.CallShape()}
	}
	return x.replace(func() []capability.Hit { return catalog })
}

// replace builds what read returns and swaps it in. Reading happens in the order
// of the builds, so that an older catalog never replaces a newer one.
func (x *Index) replace(read func() []capability.Hit) error {
	x.building.Lock()
	defer x.building.Unlock()
	next, err := newSnapshot(read())
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return ErrClosed
	}
	x.current.Store(next)
	return nil
}

// Search looks a query up. Its error is a *QueryError for a query that is out of
// bounds, [ErrClosed], or that of ctx.
func (x *Index) Search(ctx context.Context, q Query) (Page, error) {
	r, err := q.check()
	if err != nil {
		return Page{}, err
	}
	s := x.current.Load()
	if s == nil {
		return Page{}, ErrClosed
	}
	return s.search(ctx, r)
}

// Close ends following and lets go of the catalog. Searches that began before
// it finish. It returns when the index has no goroutine left. Closing twice is fine.
func (x *Index) Close() {
	x.mu.Lock()
	f := x.follower
	x.closed, x.follower = true, nil
	x.current.Store(nil)
	x.mu.Unlock()
	if f != nil {
		f.end()
	}
}
