package search

import (
	"context"
	"errors"
	"sync"

	"github.com/toolplane/toolplane/host/capability"
)

// follower keeps an index up to date with a registry.
type follower struct {
	registry *capability.Registry
	index    *Index
	cancel   func()        // ends the subscription
	changed  chan struct{} // holds one when the registry has changed since it was last read
	stop     chan struct{}
	ended    chan struct{}
	once     sync.Once

	mu      sync.Mutex
	indexed uint64        // the revision that was read for the last build
	err     error         // of that build
	built   chan struct{} // closed at the next build
}

// Follow builds the index from a registry, with the call shapes of its bindings,
// and again after each of its changes until stop is called; changes during a build
// are taken together in the next one. The first build is done when Follow returns.
//
// An index follows one registry: following another one stops the first. stop
// returns when no build is under way. It may be called more than once.
func (x *Index) Follow(registry *capability.Registry) (stop func()) {
	f := &follower{
		registry: registry,
		index:    x,
		changed:  make(chan struct{}, 1),
		stop:     make(chan struct{}),
		ended:    make(chan struct{}),
		built:    make(chan struct{}),
	}
	f.cancel = registry.Subscribe(func() {
		select {
		case f.changed <- struct{}{}:
		default: // the build that is to come will read this change, too
		}
	})
	x.mu.Lock()
	before := x.follower
	if x.closed {
		x.mu.Unlock()
		f.cancel()
		return func() {}
	}
	x.follower = f
	x.mu.Unlock()
	if before != nil {
		before.end()
	}
	f.build()
	go f.run()
	return f.end
}

func (f *follower) run() {
	defer close(f.ended)
	for {
		select {
		case <-f.stop:
			return
		case <-f.changed:
			f.build()
		}
	}
}

func (f *follower) build() {
	var revision uint64
	err := f.index.replace(func() []capability.Hit {
		revision = f.registry.Revision() // before reading: what is read is as new, or newer
		return f.registry.Search("", 0)
	})
	if err != nil && !errors.Is(err, ErrClosed) {
		f.index.logger.Error("search index not updated; the one before stays", "revision", revision, "error", err)
	}
	f.mu.Lock()
	f.indexed, f.err = revision, err
	close(f.built)
	f.built = make(chan struct{})
	f.mu.Unlock()
}

// end stops following and waits for it. The goroutine starts after the first
// build, so a Close during that build has to wait for both.
func (f *follower) end() {
	f.once.Do(func() {
		f.cancel()
		close(f.stop)
	})
	<-f.ended
}

// Sync waits until everything that the followed registry held at the time of the
// call can be found, or ctx ends. It returns the error of the last build, and nil
// at once where nothing is followed.
func (x *Index) Sync(ctx context.Context) error {
	x.mu.Lock()
	f, closed := x.follower, x.closed
	x.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case f == nil:
		return nil
	}
	want := f.registry.Revision()
	for {
		f.mu.Lock()
		indexed, err, built := f.indexed, f.err, f.built
		f.mu.Unlock()
		if indexed >= want {
			return err
		}
		select {
		case <-built:
		case <-f.stop:
			return nil // nothing is followed any more
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
