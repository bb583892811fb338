package result

import (
	"bytes"
	"container/list"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// Owner is whose value it is: a scope, and the authenticated subject in it (""
// where nobody signs in). Both must be equal to read a value.
type Owner struct{ Scope, Subject string }

// Entry describes a saved value without holding it.
type Entry struct {
	Handle  string
	Label   string
	Bytes   int64 // of value and label
	Created time.Time
	Expires time.Time
	// Fold says that the host put it aside by itself, so that it may be dropped
	// before it expires.
	Fold bool
}

// Stats are counts over the whole store, of values that haven't expired.
type Stats struct {
	Scopes  int
	Entries int
	Bytes   int64
}

// Store keeps values under handles. It starts no goroutine: what has expired is
// dropped by the next call of any method. All methods may be called at the same
// time from any goroutine.
type Store struct {
	o Options

	mu      sync.Mutex
	closed  bool
	entries map[key]*list.Element // of *entry
	order   list.List             // oldest first, which is also first to expire
	scopes  map[string]*usage
	bytes   int64
}

// key is owner and handle in one, so that there is no step at which a handle is
// known to exist and only its owner is wrong.
type key struct {
	owner  Owner
	handle string
}

type entry struct {
	Entry
	key   key
	value json.RawMessage // never changed after it is stored
}

// usage is what a scope keeps. Folds are counted apart.
type usage struct {
	entries   int
	bytes     int64
	folds     []*list.Element // oldest first
	foldBytes int64
}

func (u *usage) empty() bool { return u.entries == 0 && len(u.folds) == 0 }

// New makes an empty store.
func New(o Options) *Store {
	return &Store{
		o:       o.withDefaults(),
		entries: map[key]*list.Element{},
		scopes:  map[string]*usage{},
	}
}

// Save keeps a copy of value, which must be JSON text, and describes it. The
// label is metadata for people; it may be empty. A value that was saved is never
// dropped to make room: over a limit, Save fails with an *Error and changes
// nothing. Only where the limit of the process is reached, folds go first.
func (s *Store) Save(o Owner, label string, value json.RawMessage) (Entry, error) {
	if len(value) == 0 {
		return Entry{}, errEmpty()
	}
	if err := checkLabel(label); err != nil {
		return Entry{}, err
	}
	n := int64(len(value)) + int64(len(label))
	if limit := min(s.o.MaxEntryBytes, s.o.MaxTotalBytes); n > limit {
		return Entry{}, refuse(CodeEntryTooLarge, "the value has %s, the limit for one saved value is %s; "+
			"save a smaller projection of it, or several parts", size(n), size(limit))
	}
	e := newEntry(o, label, value)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Entry{}, errClosed()
	}
	s.expire()
	if err := s.room(o.Scope, n); err != nil {
		return Entry{}, err
	}
	s.add(e)
	return e.Entry, nil
}

// newEntry copies the value and draws the handle, which both need no lock.
func newEntry(o Owner, label string, value json.RawMessage) *entry {
	e := &entry{value: bytes.Clone(value)}
	e.Entry = Entry{Handle: "res_" + rand.Text(), Label: label, Bytes: int64(len(value)) + int64(len(label))}
	e.key = key{o, e.Handle}
	return e
}

// add keeps an entry for which there is room.
func (s *Store) add(e *entry) {
	// Taken under the lock, so that the order of the list is that of the times.
	e.Created = s.o.Now()
	e.Expires = e.Created.Add(s.o.TTL)
	el := s.order.PushBack(e)
	s.entries[e.key] = el
	u := s.scopes[e.key.owner.Scope]
	if u == nil {
		u = &usage{}
		s.scopes[e.key.owner.Scope] = u
	}
	if e.Fold {
		u.folds = append(u.folds, el)
		u.foldBytes += e.Bytes
	} else {
		u.entries++
		u.bytes += e.Bytes
	}
	s.bytes += e.Bytes
}

// room says why n more saved bytes don't fit. It drops folds where only they are
// in the way.
func (s *Store) room(scope string, n int64) error {
	var u usage
	if p := s.scopes[scope]; p != nil {
		u = *p
	}
	switch {
	case u.entries >= s.o.MaxEntries:
		return refuse(CodeTooMany, "%d values are saved, which is the limit; reuse an existing handle, "+
			"save several values as one, or wait: each is dropped %s after it was saved", u.entries, span(s.o.TTL))
	case u.bytes+n > s.o.MaxTotalBytes:
		return refuse(CodeScopeFull, "the value has %s and %s are saved already, the limit for all saved values is %s; "+
			"save a smaller projection, or reuse an existing handle: each value is dropped %s after it was saved",
			size(n), size(u.bytes), size(s.o.MaxTotalBytes), span(s.o.TTL))
	case !s.makeRoom(n):
		return refuse(CodeStoreFull, "the value has %s, but the sessions of this host together keep at most %s; "+
			"save a smaller projection, or try again later", size(n), size(s.o.MaxProcessBytes))
	}
	return nil
}

// Load returns a copy of a saved value. Any handle that doesn't open a value for
// this owner, whatever the reason, is the same *Error with [CodeNotFound].
func (s *Store) Load(o Owner, handle string) (json.RawMessage, error) {
	e := s.find(key{o, handle})
	if e == nil {
		return nil, errNotFound()
	}
	return bytes.Clone(e.value), nil
}

// View is like Load, without the copy, and describes the value. The text is the
// store's own and must not be changed; it stays valid when the store drops it.
func (s *Store) View(o Owner, handle string) (json.RawMessage, Entry, error) {
	e := s.find(key{o, handle})
	if e == nil {
		return nil, Entry{}, errNotFound()
	}
	return e.value, e.Entry, nil
}

func (s *Store) find(k key) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if el := s.entries[k]; el != nil {
		return el.Value.(*entry)
	}
	return nil
}

// List describes an owner's values, folds included, oldest first.
func (s *Store) List(o Owner) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	var out []Entry
	for el := s.order.Front(); el != nil; el = el.Next() {
		if e := el.Value.(*entry); e.key.owner == o {
			out = append(out, e.Entry)
		}
	}
	return out
}

// DropScope forgets everything that was saved in a scope, of every subject. A
// Save that comes later starts the scope anew, so end the scope's runs first.
func (s *Store) DropScope(scope string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scopes[scope] == nil {
		return
	}
	for el := s.order.Front(); el != nil; {
		next := el.Next()
		if el.Value.(*entry).key.owner.Scope == scope {
			s.drop(el)
		}
		el = next
	}
}

// Stats counts what is kept now.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	return Stats{Scopes: len(s.scopes), Entries: len(s.entries), Bytes: s.bytes}
}

// Close forgets everything; after it, each Save fails with [CodeClosed] and each
// handle is unknown. Closing twice is fine.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.bytes = 0
	s.order.Init()
	clear(s.entries)
	clear(s.scopes)
}

// expire drops what is past its time. Every value lives equally long, so only
// the front of the list needs a look.
func (s *Store) expire() {
	now := s.o.Now()
	for el := s.order.Front(); el != nil && !now.Before(el.Value.(*entry).Expires); el = s.order.Front() {
		s.drop(el)
	}
}

func (s *Store) drop(el *list.Element) {
	e := s.order.Remove(el).(*entry)
	delete(s.entries, e.key)
	s.bytes -= e.Bytes
	u := s.scopes[e.key.owner.Scope]
	if e.Fold {
		// Folds go oldest first, whatever the reason, so this is the first one.
		u.folds = slices.Delete(u.folds, 0, 1)
		u.foldBytes -= e.Bytes
	} else {
		u.entries--
		u.bytes -= e.Bytes
	}
	if u.empty() {
		delete(s.scopes, e.key.owner.Scope)
	}
}
