package token

import (
	"crypto/subtle"
	"errors"
	"time"
)

const (
	// useEvery is how exact the time of the last use is.
	useEvery = time.Hour
	// useRetry is how long after a use that couldn't be noted the next try is.
	useRetry = 10 * time.Minute
)

// Verify tells whether a presented text is a token that is valid now, and which.
// Whether its Origin may use it is for the caller to ask ([Entry.AllowsOrigin]).
//
// The text is compared with the hash of every token, and the comparison ends
// nowhere early, so its time says nothing about how near a guess is, which token
// it is near, or whether one that matches has expired. Changes by other processes
// count at once: the file's state is looked at each time (some microseconds), and
// its content read when that has changed, or could have without showing. A file
// that can't be used, for whatever reason, verifies nothing.
//
// The first use in an hour is noted in the file; that one takes as long as a write.
func (s *Store) Verify(presented string) (Entry, bool) {
	st := s.fresh()
	found := match(st.records, digest(presented))
	if found < 0 {
		return Entry{}, false
	}
	e := st.records[found].Entry
	now := s.now()
	if e.Expired(now) {
		return Entry{}, false
	}
	return s.used(e, now), true
}

// match returns the position of the record with a hash, or -1.
func match(records []record, presented hash) int {
	found := -1
	for i := range records {
		same := subtle.ConstantTimeCompare(records[i].hash[:], presented[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	return found
}

// used notes that a token is in use, now and then. What can't be noted is no reason
// to refuse the token.
func (s *Store) used(e Entry, now time.Time) Entry {
	if now.Sub(e.LastUsed) < useEvery || !s.using.TryLock() {
		return e
	}
	defer s.using.Unlock()
	if last, ok := s.tried[e.ID]; ok && now.Sub(last) < useRetry {
		return e
	}
	if len(s.tried) > 2*MaxTokens {
		clear(s.tried) // of ids that are long gone
	}
	s.tried[e.ID] = now
	at := now.UTC().Truncate(time.Second)
	err := s.change(0, func(records []record) ([]record, error) {
		for i := range records {
			if records[i].ID == e.ID {
				records[i].LastUsed = at
				return records, nil
			}
		}
		return nil, ErrNotFound
	})
	switch {
	case err == nil:
		e.LastUsed = at
	case !errors.Is(err, ErrBusy) && !errors.Is(err, ErrNotFound):
		s.logger.Warn("the use of a token couldn't be noted", "id", e.ID, "error", err)
	}
	return e
}
