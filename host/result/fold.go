package result

import (
	"encoding/json"
)

// SaveFold keeps a copy of an answer that was too large to be sent, and describes
// it. Its handle works wherever that of a saved value does. The oldest folds of
// the scope are dropped to make room for a new one; where the process is full, the
// oldest of any scope. A saved value never is: where only those are left to drop,
// SaveFold fails with an *Error and changes nothing.
func (s *Store) SaveFold(o Owner, value json.RawMessage) (Entry, error) {
	if len(value) == 0 {
		return Entry{}, errEmpty()
	}
	n := int64(len(value))
	if limit := min(s.o.MaxFoldBytes, s.o.MaxProcessBytes); n > limit {
		return Entry{}, refuse(CodeFoldTooLarge, "the answer has %s, the limit for all that is put aside is %s; "+
			"ask for less of it, or save it in parts", size(n), size(limit))
	}
	e := newEntry(o, "", value)
	e.Fold = true
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Entry{}, errClosed()
	}
	s.expire()
	if s.savedBytes()+n > s.o.MaxProcessBytes {
		return Entry{}, refuse(CodeStoreFull, "the answer has %s, but the sessions of this host together keep at most %s; "+
			"ask for less of it, or try again later", size(n), size(s.o.MaxProcessBytes))
	}
	for u := s.scopes[o.Scope]; u != nil && (len(u.folds) >= s.o.MaxFolds || len(u.folds) > 0 && u.foldBytes+n > s.o.MaxFoldBytes); {
		s.drop(u.folds[0])
	}
	s.makeRoom(n)
	s.add(e)
	return e.Entry, nil
}

// makeRoom drops folds, oldest first, until n more bytes fit the process. When
// they wouldn't even then, it drops none and returns false.
func (s *Store) makeRoom(n int64) bool {
	if s.bytes+n <= s.o.MaxProcessBytes {
		return true
	}
	if s.savedBytes()+n > s.o.MaxProcessBytes {
		return false
	}
	for el := s.order.Front(); el != nil && s.bytes+n > s.o.MaxProcessBytes; {
		next := el.Next()
		if el.Value.(*entry).Fold {
			s.drop(el)
		}
		el = next
	}
	return true
}

// savedBytes is what all scopes keep without their folds.
func (s *Store) savedBytes() int64 {
	n := int64(0)
	for _, u := range s.scopes {
		n += u.bytes
	}
	return n
}
