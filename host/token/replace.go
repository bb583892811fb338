package token

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lockPause is how often a lock that another process holds is tried. Changes take
// some milliseconds.
const lockPause = 3 * time.Millisecond

// draftMark is in the names of files that are being written.
const draftMark = ".draft-"

// replace puts data in the place of the file, whole: it is written beside it, put
// on the disk, and renamed. The lock must be held.
func (s *Store) replace(data []byte) error {
	folder, base := filepath.Split(s.path)
	s.sweep(folder, base)
	draft, err := os.CreateTemp(folder, base+draftMark+"*") // mode 0600
	if err != nil {
		return err
	}
	s.step("drafted")
	err = func() error {
		half := len(data) / 2
		if _, err := draft.Write(data[:half]); err != nil {
			return err
		}
		s.step("half written")
		if _, err := draft.Write(data[half:]); err != nil {
			return err
		}
		s.step("written")
		return draft.Sync()
	}()
	if err := errors.Join(err, draft.Close()); err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	s.step("synced")
	if err := rename(draft.Name(), s.path); err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	s.step("renamed")
	return syncFolder(folder)
}

// sweep removes drafts of processes that died: whoever holds the lock is the only
// one that writes.
func (s *Store) sweep(folder, base string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), base+draftMark) && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(folder, e.Name())) // it stays until the next change
		}
	}
}

// lock takes the lock that orders changes of all processes. The system lets go of
// it however its holder ends.
func (s *Store) lock(wait time.Duration) (unlock func(), err error) {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	path := s.path + ".lock"
	busy := fmt.Errorf("%w: %s was locked by others for %s; try again", ErrBusy, path, wait)
	select {
	case <-s.turn:
	default:
		select {
		case <-s.turn:
		case <-deadline.C:
			return nil, busy
		}
	}
	defer func() {
		if err != nil {
			s.turn <- struct{}{}
		}
	}()
	f, err := openLock(path)
	if err != nil {
		return nil, fmt.Errorf("lock the token file: %w", err)
	}
	// The systems have no lock that waits for a limited time.
	for {
		held, err := tryLock(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock the token file: %w", err), f.Close())
		}
		if held {
			return func() {
				_ = f.Close() // lets go of it
				s.turn <- struct{}{}
			}, nil
		}
		select {
		case <-deadline.C:
			_ = f.Close()
			return nil, busy
		case <-time.After(lockPause):
		}
	}
}
