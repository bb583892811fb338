package token

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

func openToRead(path string) (*os.File, error) { return os.Open(path) }

func checkFile(_ string, file fs.FileInfo) error {
	if !file.Mode().IsRegular() {
		return errors.New("it isn't a regular file")
	}
	return nil
}

func checkFolder(path string) error {
	folder, err := os.Stat(path)
	if err == nil && !folder.IsDir() {
		err = fmt.Errorf("%s isn't a folder", path)
	}
	return err
}

func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

func tryLock(f *os.File) (held bool, err error) {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// rename tries for a while: a file that someone is reading can't be replaced.
func rename(from, to string) error {
	deadline := time.Now().Add(time.Second)
	for {
		err := os.Rename(from, to)
		busy := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !busy || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// syncFolder has nothing to do: Windows writes renames through.
func syncFolder(string) error { return nil }
