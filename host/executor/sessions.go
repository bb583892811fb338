package executor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// SessionOptions bounds the sessions, each the namespace that the runs of one
// scope share. Zero values mean the defaults.
type SessionOptions struct {
	// MaxMemoryMB bounds the memory and files of each session, in MiB (default
	// 512). The page keeps a copy of the same size, to roll back to.
	MaxMemoryMB int
	// MaxSessions bounds the sessions (default 8, at most 32). One more takes the
	// place of the one that is idle for the longest time.
	MaxSessions int
	// IdleTTL is how long a session is kept that nobody uses (default 30 min).
	IdleTTL time.Duration
	// MaxQueued bounds the runs that wait for an earlier one of their session
	// (default 16), and QueueTimeout how long one may wait (default 1 min).
	MaxQueued    int
	QueueTimeout time.Duration
}

func (o SessionOptions) withDefaults() SessionOptions {
	setDefault(&o.MaxMemoryMB, 512)
	setDefault(&o.MaxSessions, 8)
	setDefault(&o.IdleTTL, 30*time.Minute)
	setDefault(&o.MaxQueued, 16)
	setDefault(&o.QueueTimeout, time.Minute)
	return o
}

// maxFarewells bounds how many scopes are remembered that have yet to be told
// that their session is gone.
const maxFarewells = 1024

// owner says whose session it is.
type owner struct{ scope, subject string }

// session is the host's side of one namespace. Its worker lives in the page.
type session struct {
	owner owner
	// turn holds a token while no run is under way. Who has it runs.
	turn chan struct{}

	// The rest is guarded by sessions.mu.

	page    *page  // that has the worker; nil before the first run
	key     string // the page's name for it, never used for another namespace
	kept    bool   // runs have left something in the namespace
	gone    string // why the namespace is gone that there was, until the next run tells it
	waiting int
	dropped bool
	used    time.Time
	idle    *time.Timer
}

func (s *session) free() bool { return len(s.turn) == 1 && s.waiting == 0 }

// sessions are those of one executor. Safe for concurrent use.
type sessions struct {
	o SessionOptions
	// forget ends a session in its page, without waiting.
	forget func(p *page, key string)

	mu        sync.Mutex
	byOwner   map[owner]*session
	farewells map[owner]string // why each of them has no session any more
	closed    bool
}

func newSessions(o SessionOptions, forget func(*page, string)) *sessions {
	return &sessions{o: o.withDefaults(), forget: forget, byOwner: make(map[owner]*session), farewells: make(map[owner]string)}
}

// enter waits for the turn of a run in the session of an owner, which is made if
// need be. The caller must leave.
func (ss *sessions) enter(ctx context.Context, who owner) (*session, error) {
	ss.mu.Lock()
	s, err := ss.find(who)
	if err == nil && s.waiting >= ss.o.MaxQueued && len(s.turn) == 0 {
		err = fmt.Errorf("a run of this session is under way and %d more wait, the limit: wait for them, or run fresh", s.waiting)
	}
	if err != nil {
		ss.mu.Unlock()
		return nil, err
	}
	s.waiting++
	ss.mu.Unlock()

	err = s.wait(ctx, ss.o.QueueTimeout)

	ss.mu.Lock()
	defer ss.mu.Unlock()
	s.waiting--
	switch {
	case err != nil:
		return nil, err
	case s.dropped:
		s.turn <- struct{}{}
		return nil, fmt.Errorf("the session's scope has ended")
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	return s, nil
}

func (s *session) wait(ctx context.Context, patience time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.turn:
		return nil
	case <-timer.C:
		return fmt.Errorf("waited %v for an earlier run of this session to end: try again later, or run fresh", patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// find returns the owner's session, or makes room for a new one. The lock is held.
func (ss *sessions) find(who owner) (*session, error) {
	if s := ss.byOwner[who]; s != nil {
		return s, nil
	}
	if len(ss.byOwner) >= ss.o.MaxSessions {
		oldest := ss.oldest()
		if oldest == nil {
			return nil, fmt.Errorf("%d sessions are in use, the limit ([session] max_sessions): wait for a run to end, or run fresh", ss.o.MaxSessions)
		}
		ss.end(oldest, fmt.Sprintf("another session needed its place, of %d ([session] max_sessions)", ss.o.MaxSessions))
	}
	s := &session{owner: who, turn: make(chan struct{}, 1), used: time.Now(), gone: ss.farewells[who]}
	s.turn <- struct{}{}
	delete(ss.farewells, who)
	ss.byOwner[who] = s
	return s, nil
}

func (ss *sessions) oldest() *session {
	var oldest *session
	for _, s := range ss.byOwner {
		if s.free() && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	return oldest
}

// end takes a session away; its owner's next run is told why. The lock is held.
func (ss *sessions) end(s *session, why string) {
	delete(ss.byOwner, s.owner)
	s.dropped = true
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.page != nil {
		ss.forget(s.page, s.key)
	}
	if why != "" && s.kept {
		if len(ss.farewells) >= maxFarewells {
			clear(ss.farewells)
		}
		ss.farewells[s.owner] = why
	}
}

// leave gives the turn to the next run, once the page has ended this one.
func (ss *sessions) leave(s *session) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s.used = time.Now()
	if !s.dropped && !ss.closed {
		if s.idle == nil {
			s.idle = time.AfterFunc(ss.o.IdleTTL, func() { ss.expire(s) })
		} else {
			s.idle.Reset(ss.o.IdleTTL)
		}
	}
	s.turn <- struct{}{}
}

func (ss *sessions) expire(s *session) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	// A run that is under way, or that came meanwhile, starts the clock again.
	if s.dropped || !s.free() || time.Since(s.used) < ss.o.IdleTTL {
		return
	}
	ss.end(s, fmt.Sprintf("nobody used it for %v ([session] idle_ttl)", ss.o.IdleTTL))
}

// seat is how a session's run is sent to a page.
type seat struct {
	key      string
	maxBytes int64
	kept     bool
}

// on seats a run of the session on a page. A namespace on another page is gone.
func (ss *sessions) on(s *session, p *page) seat {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s.page != p {
		if s.kept {
			s.gone = "the browser that had it ended"
		}
		s.page, s.key, s.kept = p, newSessionKey(), false
	}
	return seat{key: s.key, maxBytes: int64(ss.o.MaxMemoryMB) << 20, kept: s.kept}
}

// note records what the page said of the session after a run, and adds to the
// result what only the host knows.
func (ss *sessions) note(s *session, in seat, res *Result) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s.key != in.key {
		return // it was reset meanwhile
	}
	switch res.Session {
	case protocol.SessionNew, protocol.SessionKept:
		if s.gone != "" {
			res.SessionNote = join("the namespace that there was is gone: "+s.gone, res.SessionNote)
		}
		s.kept, s.gone = true, ""
	case protocol.SessionLost, protocol.SessionReset:
		s.kept, s.gone = false, ""
	}
}

// mourn makes the next run tell that the namespace is gone, for want of anybody
// who hears it from the run that lost it.
func (ss *sessions) mourn(s *session, why string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s.gone = why
}

// reset makes the owner's next run begin with an empty namespace. It returns
// where the old one was; a run that is under way there isn't over yet.
func (ss *sessions) reset(who owner) (p *page, key string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.farewells, who)
	s := ss.byOwner[who]
	if s == nil || s.page == nil {
		return nil, ""
	}
	p, key = s.page, s.key
	s.key, s.kept, s.gone = newSessionKey(), false, ""
	return p, key
}

// drop ends all sessions of a scope.
func (ss *sessions) drop(scope string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for who := range ss.farewells {
		if who.scope == scope {
			delete(ss.farewells, who)
		}
	}
	for who, s := range ss.byOwner {
		if who.scope == scope {
			ss.end(s, "")
		}
	}
}

// close stops the clocks. The pages end with the executor.
func (ss *sessions) close() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.closed = true
	for _, s := range ss.byOwner {
		if s.idle != nil {
			s.idle.Stop()
		}
	}
}

func (ss *sessions) count() int {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return len(ss.byOwner)
}

// newSessionKey returns a key that nobody can guess.
func newSessionKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return "ses_" + hex.EncodeToString(b[:])
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}
