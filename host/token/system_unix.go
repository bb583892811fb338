//go:build unix

package token

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openToRead opens a file, but follows no link to another place and doesn't wait
// for the other end of a pipe.
func openToRead(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK) {
		return nil, errors.New("it is a symbolic link; name the file itself")
	}
	return f, err
}

func checkFile(path string, file fs.FileInfo) error {
	switch {
	case !file.Mode().IsRegular():
		return errors.New("it isn't a regular file")
	case !ours(file):
		return errors.New("it belongs to another user")
	case file.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others can read or write it (mode %04o); look through it, then: chmod 600 '%s'", file.Mode().Perm(), path)
	}
	return nil
}

// checkFolder refuses a folder in which others could put another file in the place
// of ours.
func checkFolder(path string) error {
	folder, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !folder.IsDir():
		return fmt.Errorf("%s isn't a folder", path)
	case !ours(folder):
		return fmt.Errorf("its folder %s belongs to another user", path)
	case folder.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others can write to its folder (mode %04o): chmod 700 '%s'", folder.Mode().Perm(), path)
	}
	return nil
}

func ours(file fs.FileInfo) bool {
	st, ok := file.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
}

func tryLock(f *os.File) (held bool, err error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, err
		}
	}
}

func rename(from, to string) error { return os.Rename(from, to) }

// syncFolder puts the rename on the disk.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		err = nil // some file systems can't, and need not
	}
	return errors.Join(err, d.Close())
}
