package executor

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile opens the file at path, makes it if create is set, and takes its
// lock. It fails at once if another process holds the lock.
func lockFile(path string, create bool) (*os.File, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE | os.O_EXCL
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, new(windows.Overlapped)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ownedByUs holds for every directory in the user's own temporary directory,
// which is where Windows keeps temporary files.
func ownedByUs(fs.FileInfo) bool { return true }
