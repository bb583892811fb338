package token

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// settled is how old a file's last change must be, when it's read, for a later
// change to be sure to show in its time: file systems keep times in steps, and two
// changes within one step, of one size, look like one.
const settled = 2 * time.Second

// state is the list as it was read. It is immutable.
type state struct {
	records []record
	err     error // why the file can't be used; then there are no records

	file    fs.FileInfo // nil where there was no file
	content []byte
	sure    bool // a change would show in the file's size or times
}

// fresh returns the list as it is now.
func (s *Store) fresh() *state {
	st := s.current.Load()
	file, err := os.Lstat(s.path)
	if err == nil && st != nil && st.sure && st.err == nil && same(st.file, file) {
		return st
	}
	if errors.Is(err, fs.ErrNotExist) && st != nil && st.file == nil && st.err == nil {
		return st
	}
	return s.load()
}

func same(a, b fs.FileInfo) bool {
	return a != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

// load reads the file. It logs when what is wrong with it is something else than
// before.
func (s *Store) load() *state {
	s.loading.Lock()
	defer s.loading.Unlock()
	before := s.current.Load()
	st := s.read(before)
	if st.err != nil && (before == nil || before.err == nil || before.err.Error() != st.err.Error()) {
		s.logger.Error("the token file can't be used; no token is valid", "error", st.err)
	}
	s.current.Store(st)
	return st
}

// read reads the file, or finds that its content is that of before.
func (s *Store) read(before *state) *state {
	file, content, err := s.readFile()
	st := &state{file: file, content: content, err: err}
	switch {
	case err != nil || file == nil:
		return st
	case before != nil && before.err == nil && before.file != nil && bytes.Equal(before.content, content):
		st.records = before.records
	default:
		if st.records, err = parse(content); err != nil {
			st.err = fmt.Errorf("the token file %s can't be used: %w; mend it, or move it away to begin anew without any token", s.path, err)
			return st
		}
	}
	// By the system's clock, whatever Options.Now says: it's compared with the file's.
	st.sure = time.Since(file.ModTime()) > settled
	return st
}

// readFile returns no file and no error where there is none.
func (s *Store) readFile() (file fs.FileInfo, content []byte, err error) {
	fail := func(err error) (fs.FileInfo, []byte, error) {
		return nil, nil, fmt.Errorf("the token file %s can't be used: %w", s.path, err)
	}
	f, err := openToRead(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return fail(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	if file, err = f.Stat(); err != nil {
		return fail(err)
	}
	if err := checkFile(s.path, file); err != nil {
		return fail(err)
	}
	if err := checkFolder(filepath.Dir(s.path)); err != nil {
		return fail(err)
	}
	if content, err = io.ReadAll(io.LimitReader(f, MaxFileBytes+1)); err != nil {
		return fail(err)
	}
	return file, content, nil
}

// change edits the list under the lock, and waits up to wait for it. What edit gets
// is its own.
func (s *Store) change(wait time.Duration, edit func([]record) ([]record, error)) error {
	folder := filepath.Dir(s.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := checkFolder(folder); err != nil {
		return err
	}
	unlock, err := s.lock(wait)
	if err != nil {
		return err
	}
	defer unlock()
	s.step("locked")
	st := s.load()
	if st.err != nil {
		return st.err
	}
	records, err := edit(slices.Clone(st.records))
	if err != nil {
		return err
	}
	data, err := encode(records)
	if err != nil {
		return err
	}
	if len(data) > MaxFileBytes {
		return fmt.Errorf("%w: the file would have %d bytes, the limit is %d; revoke some", ErrFull, len(data), MaxFileBytes)
	}
	if err := s.replace(data); err != nil {
		return err
	}
	if st := s.load(); st.err != nil { // not from memory: what counts is what stands in the file
		return st.err
	}
	return nil
}
