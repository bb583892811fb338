package token

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestAnotherProcessRevokes: the next Verify after it refuses.
func TestAnotherProcessRevokes(t *testing.T) {
	s := open(t, Options{})
	secret, e := create(t, s, "x", CreateOptions{})
	keep, _ := create(t, s, "y", CreateOptions{})
	if !valid(s, secret) {
		t.Fatal("not valid")
	}
	if out, err := other(t, "revoke:"+e.ID, s.Path()).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if valid(s, secret) || !valid(s, keep) {
		t.Error("the revoked one is valid, or the other one isn't")
	}
}

// TestManyProcesses lets some make tokens in one file at once: none is lost.
func TestManyProcesses(t *testing.T) {
	s := open(t, Options{})
	create(t, s, "the first", CreateOptions{})
	const processes, each = 4, 8
	var all sync.WaitGroup
	for range processes {
		cmd := other(t, fmt.Sprintf("create:%d", each), s.Path())
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	if got := len(list(t, s)); got != processes*each+1 {
		t.Errorf("%d tokens, want %d", got, processes*each+1)
	}
}

// TestDyingInTheMiddle kills a process at each step of a change.
func TestDyingInTheMiddle(t *testing.T) {
	for _, step := range []string{"locked", "drafted", "half written", "written", "synced", "renamed"} {
		s := open(t, Options{LockTimeout: time.Millisecond})
		secret, _ := create(t, s, "x", CreateOptions{})
		before, err := os.ReadFile(s.Path())
		if err != nil {
			t.Fatal(err)
		}
		out, err := other(t, "die:"+step, s.Path()).CombinedOutput()
		if err == nil || len(out) > 0 { // whoever lives says why
			t.Fatalf("%s: it didn't die there: %v: %s", step, err, out)
		}
		want := 1
		if step == "renamed" {
			want = 2
		} else if after, err := os.ReadFile(s.Path()); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the file changed (%v)", step, err)
		}
		if got := len(list(t, s)); got != want || !valid(s, secret) {
			t.Errorf("%s: %d tokens afterwards, want %d and the first one valid", step, got, want)
		}
		// The lock is free, and the next change clears up.
		create(t, s, "y", CreateOptions{})
		entries, err := os.ReadDir(filepath.Dir(s.Path()))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if !slices.Equal(names, []string{"tokens.json", "tokens.json.lock"}) {
			t.Errorf("%s: left behind: %v", step, names)
		}
	}
}

// TestChangesThatDontShow replaces the file by one of the same inode, size and
// time, as two changes within one step of a file system's clock can look.
func TestChangesThatDontShow(t *testing.T) {
	s := open(t, Options{})
	secret, e := create(t, s, "x", CreateOptions{})
	valid(s, secret) // notes the use
	// A time that is to come is as new as one of just now, however slow this test is.
	soon := time.Now().Add(time.Hour)
	if err := os.Chtimes(s.Path(), soon, soon); err != nil {
		t.Fatal(err)
	}
	if !valid(s, secret) {
		t.Fatal("not valid")
	}
	info, err := os.Stat(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", digest(secret.Reveal()))
	if err := os.WriteFile(s.Path(), bytes.Replace(data, []byte(sum), []byte(sums[0]), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(s.Path(), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(s.Path()); err != nil || !same(info, now) {
		t.Fatalf("the change shows (%v), so this tests nothing", err)
	}
	if valid(s, secret) {
		t.Errorf("%s is valid, though its hash is gone", e.ID)
	}
}

// TestASettledFileIsReadOnce: looking at its state must do.
func TestASettledFileIsReadOnce(t *testing.T) {
	s := open(t, Options{})
	secret, _ := create(t, s, "x", CreateOptions{})
	valid(s, secret) // notes the use
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(s.Path(), old, old); err != nil {
		t.Fatal(err)
	}
	valid(s, secret)
	first := s.current.Load()
	for range 10 {
		valid(s, secret)
	}
	if s.current.Load() != first {
		t.Error("a file that didn't change was read again")
	}
	if err := os.Chtimes(s.Path(), old, old.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	valid(s, secret)
	if s.current.Load() == first {
		t.Error("a file that changed wasn't read again")
	}
}

// TestFilesThatCantBeUsed: nothing is valid then, nothing is overwritten, and it is
// said once.
func TestFilesThatCantBeUsed(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, path string) error
		want string
	}{
		{"not JSON", func(_ *testing.T, path string) error { return os.WriteFile(path, []byte("{"), 0o600) }, "line 1 isn't JSON"},
		{"empty", func(_ *testing.T, path string) error { return os.WriteFile(path, nil, 0o600) }, "it is empty"},
		{"too large", func(_ *testing.T, path string) error { return os.WriteFile(path, make([]byte, MaxFileBytes+1), 0o600) }, "more than the 524288 bytes"},
		{"a folder", func(_ *testing.T, path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, "isn't a regular file"},
	}
	for _, test := range tests {
		var log bytes.Buffer
		s := open(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		secret, e := create(t, s, "x", CreateOptions{})
		if !valid(s, secret) {
			t.Fatal("not valid")
		}
		if err := test.make(t, s.Path()); err != nil {
			t.Fatal(err)
		}
		unusable(t, s, test.name, test.want, secret, e.ID)
		if got := strings.Count(log.String(), "level=ERROR"); got != 1 {
			t.Errorf("%s: %d errors in the log, want 1:\n%s", test.name, got, log.String())
		}
		if err := os.RemoveAll(s.Path()); err != nil {
			t.Fatal(err)
		}
		again, _ := create(t, s, "moved away", CreateOptions{})
		if !valid(s, again) || valid(s, secret) || len(list(t, s)) != 1 {
			t.Errorf("%s: after it was moved away it doesn't begin anew", test.name)
		}
	}
}

// unusable checks that a file with something wrong is refused by every method.
func unusable(t *testing.T, s *Store, name, want string, secret Secret, id string) {
	t.Helper()
	for range 3 {
		if valid(s, secret) {
			t.Errorf("%s: the token is valid", name)
		}
	}
	_, listed := s.List()
	_, _, created := s.Create("y", CreateOptions{})
	_, opened := Open(Options{Path: s.Path()})
	for what, err := range map[string]error{"list": listed, "create": created, "revoke": s.Revoke(id), "open": opened} {
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Dir(s.Path())) {
			t.Errorf("%s: %s says %v, want the path and %q", name, what, err, want)
		}
	}
}

// TestHammer verifies, makes, lists and revokes from many goroutines and three
// stores of one file. A revoked token is never valid again in any of them.
func TestHammer(t *testing.T) {
	path := tempPath(t)
	var stores []*Store
	for range 3 {
		stores = append(stores, open(t, Options{Path: path, LockTimeout: time.Minute})) // the machine may be busy
	}
	kept, _ := create(t, stores[0], "kept", CreateOptions{})
	const workers, rounds = 6, 6
	var made atomic.Int32
	var all sync.WaitGroup
	done := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			s := stores[i%len(stores)]
			for {
				select {
				case <-done:
					return
				default:
				}
				if !valid(s, kept) || valid(s, Generate()) {
					t.Error("the kept token isn't valid, or an unknown one is")
					return
				}
				if _, err := s.List(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range workers {
		all.Go(func() {
			for j := range rounds {
				mine, theirs := stores[(i+j)%len(stores)], stores[(i+j+1)%len(stores)]
				secret, e, err := mine.Create(fmt.Sprintf("%d/%d", i, j), CreateOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				if got, ok := theirs.Verify(secret.Reveal()); !ok || got.ID != e.ID {
					t.Error("a new token isn't valid elsewhere")
				}
				if j%3 == 0 {
					made.Add(1)
					continue
				}
				if err := theirs.Revoke(e.ID); err != nil {
					t.Error(err)
				}
				for _, s := range stores {
					if valid(s, secret) {
						t.Error("a revoked token is valid")
					}
				}
			}
		})
	}
	all.Wait()
	close(done)
	readers.Wait()
	for _, s := range stores {
		if got := len(list(t, s)); got != int(made.Load())+1 {
			t.Errorf("%d tokens in the end, want %d", got, made.Load()+1)
		}
	}
}
