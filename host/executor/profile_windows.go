package executor

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// createLock makes the file at path. Whoever has it open has it alone.
func createLock(path string) (*os.File, error) { return openAlone(path, windows.CREATE_NEW) }

// takeLock opens the file at path. It fails at once while another process has it
// open.
func takeLock(path string) (*os.File, error) { return openAlone(path, windows.OPEN_EXISTING) }

func openAlone(path string, how uint32) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const shareNothing = 0
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, shareNothing, nil, how, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// ownedByUs holds for every directory in the user's own temporary directory,
// which is where Windows keeps temporary files.
func ownedByUs(fs.FileInfo) bool { return true }
