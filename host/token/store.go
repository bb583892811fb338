package token

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What [Store] methods can fail with, besides errors that describe the file.
var (
	// ErrNotFound is wrapped by Revoke for an id that no token has.
	ErrNotFound = errors.New("no such token")
	// ErrFull is wrapped by Create when MaxTokens are in use.
	ErrFull = errors.New("too many tokens")
	// ErrBusy is wrapped when others kept the file locked.
	ErrBusy = errors.New("the token file is in use")
)

const defaultLockTimeout = 5 * time.Second

// Options say where the tokens are.
type Options struct {
	// Path is the file, such as [DefaultPath] names. It and its folder are made by
	// the first Create: mode 0600 in a folder of mode 0700. Beside it stands
	// Path.lock. On Unix, a file that others can read or write, or a folder that
	// others can write to, is refused with what to do about it; on Windows the
	// folder's own access list is relied on.
	Path string
	// LockTimeout is how long a change waits for those of others; default 5 s.
	LockTimeout time.Duration
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Logger receives files that can't be used, never names or secrets. Nil means
	// no log.
	Logger *slog.Logger
}

// Store is a list of tokens in a file. All methods are safe for concurrent use,
// also by several processes and by several stores for one file. It keeps no file
// open and no goroutine, so there's nothing to close.
type Store struct {
	path        string
	lockTimeout time.Duration
	now         func() time.Time
	logger      *slog.Logger

	loading sync.Mutex // orders readers of a file that has changed
	current atomic.Pointer[state]

	// turn holds one while nobody changes the file. Of those that wait in one process
	// the first comes first, and only that one competes with other processes.
	turn chan struct{}

	using sync.Mutex           // held by who notes a use
	tried map[string]time.Time // when a use was last noted, or not; by id

	// step is called at each step of a change, by tests that die there.
	step func(name string)
}

// Open reads the tokens once, so that a file that can't be used is an error here
// and not a refusal later. A file that isn't there holds no tokens.
func Open(o Options) (*Store, error) {
	if o.Path == "" {
		return nil, errors.New("open the token file: no path is given")
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, fmt.Errorf("open the token file: %w", err)
	}
	s := &Store{path: path, lockTimeout: o.LockTimeout, now: o.Now, logger: o.Logger, turn: make(chan struct{}, 1),
		tried: map[string]time.Time{}, step: func(string) {}}
	s.turn <- struct{}{}
	if s.lockTimeout <= 0 {
		s.lockTimeout = defaultLockTimeout
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if st := s.load(); st.err != nil {
		return nil, st.err
	}
	return s, nil
}

// DefaultPath is where a user's tokens are: toolplane/tokens.json in
// $XDG_STATE_HOME or ~/.local/state, in ~/Library/Application Support on macOS, in
// %LocalAppData% on Windows.
func DefaultPath() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) && runtime.GOOS != "windows" {
		return filepath.Join(dir, "toolplane", "tokens.json"), nil
	}
	if dir := os.Getenv("LocalAppData"); filepath.IsAbs(dir) && runtime.GOOS == "windows" {
		return filepath.Join(dir, "toolplane", "tokens.json"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the user's state folder: %w", err)
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "toolplane", "tokens.json"), nil
	case "windows":
		return filepath.Join(home, "AppData", "Local", "toolplane", "tokens.json"), nil
	}
	return filepath.Join(home, ".local", "state", "toolplane", "tokens.json"), nil
}

// Path is the file's absolute path.
func (s *Store) Path() string { return s.path }

// Create makes a token and keeps its hash. The secret can't be had again. When the
// list is full, tokens that have expired make room; ErrFull means that none has.
func (s *Store) Create(name string, o CreateOptions) (Secret, Entry, error) {
	now := s.now()
	e, err := newEntry(name, o, now)
	if err != nil {
		return Secret{}, Entry{}, fmt.Errorf("create a token: %w", err)
	}
	secret := Generate()
	err = s.change(s.lockTimeout, func(records []record) ([]record, error) {
		if len(records) >= MaxTokens {
			records = slices.DeleteFunc(records, func(r record) bool { return r.Expired(now) })
		}
		if len(records) >= MaxTokens {
			return nil, fmt.Errorf("%w: the limit is %d; revoke one that isn't needed (toolplane token list, toolplane token revoke ID)", ErrFull, MaxTokens)
		}
		e.ID = newID(records)
		return append(records, record{e, digest(secret.Reveal())}), nil
	})
	if err != nil {
		return Secret{}, Entry{}, fmt.Errorf("create a token: %w", err)
	}
	return secret, e, nil
}

// List returns every token, expired ones too, in the order in which they were made.
func (s *Store) List() ([]Entry, error) {
	st := s.fresh()
	if st.err != nil {
		return nil, st.err
	}
	out := make([]Entry, len(st.records))
	for i, r := range st.records {
		out[i] = r.Entry
	}
	return out, nil
}

// Revoke takes a token out of the list. When it returns, every process refuses the
// token.
func (s *Store) Revoke(id string) error {
	err := s.change(s.lockTimeout, func(records []record) ([]record, error) {
		kept := slices.DeleteFunc(slices.Clone(records), func(r record) bool { return r.ID == id })
		if len(kept) == len(records) {
			return nil, fmt.Errorf("%w: none has this id; toolplane token list shows those there are", ErrNotFound)
		}
		return kept, nil
	})
	if err != nil {
		return fmt.Errorf("revoke a token: %w", err)
	}
	return nil
}

// newID makes an id that says nothing about the token.
func newID(records []record) string {
	for {
		var random [5]byte
		_, _ = rand.Read(random[:])
		id := strings.ToLower(base32.StdEncoding.EncodeToString(random[:]))
		if !slices.ContainsFunc(records, func(r record) bool { return r.ID == id }) {
			return id
		}
	}
}
