//go:build unix

package token

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestModes(t *testing.T) {
	old := syscall.Umask(0) // the modes must not depend on it
	defer syscall.Umask(old)
	s := open(t, Options{Path: filepath.Join(t.TempDir(), "state", "toolplane", "tokens.json")})
	create(t, s, "x", CreateOptions{})
	create(t, s, "y", CreateOptions{})
	folder := filepath.Dir(s.Path())
	for path, want := range map[string]os.FileMode{
		s.Path():             0o600,
		s.Path() + ".lock":   0o600,
		folder:               os.ModeDir | 0o700,
		filepath.Dir(folder): os.ModeDir | 0o700,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
	}
}

func TestFilesThatOthersCanTouch(t *testing.T) {
	tests := []struct {
		name string
		make func(path string) error
		want string
	}{
		{"readable by the group", func(path string) error { return os.Chmod(path, 0o640) }, "(mode 0640); look through it, then: chmod 600"},
		{"writable by all", func(path string) error { return os.Chmod(path, 0o602) }, "(mode 0602)"},
		{"in a folder that the group can write to", func(path string) error { return os.Chmod(filepath.Dir(path), 0o770) }, "others can write to its folder (mode 0770): chmod 700"},
		{"a link", func(path string) error {
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		}, "it is a symbolic link"},
		{"a pipe", func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) }, "it isn't a regular file"},
	}
	for _, test := range tests {
		s := open(t, Options{})
		secret, e := create(t, s, "x", CreateOptions{})
		if !valid(s, secret) {
			t.Fatal("not valid")
		}
		if err := test.make(s.Path()); err != nil {
			t.Fatal(err)
		}
		if test.name == "in a folder that the group can write to" {
			// The file itself hasn't changed; a change is refused, and so is who opens it.
			if _, _, err := s.Create("y", CreateOptions{}); err == nil {
				t.Errorf("%s: it is written to", test.name)
			}
			if _, err := Open(Options{Path: s.Path()}); err == nil {
				t.Errorf("%s: it is opened", test.name)
			}
			continue
		}
		unusable(t, s, test.name, test.want, secret, e.ID)
	}
}

// TestAnotherUsersFile needs to give a file away, which only root can; anyone else
// finds a file of root's that isn't theirs.
func TestAnotherUsersFile(t *testing.T) {
	info, err := os.Stat("/")
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		path := filepath.Join(t.TempDir(), "file")
		if err := errors.Join(os.WriteFile(path, []byte(fileText()), 0o600), os.Chown(path, 12345, -1)); err != nil {
			t.Fatal(err)
		}
		if info, err = os.Stat(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{Path: path}); err == nil {
			t.Error("another user's file is used")
		}
	}
	if ours(info) {
		t.Errorf("%s counts as ours", info.Name())
	}
}
