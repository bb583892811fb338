package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	profilePrefix = "toolplane-browser-"
	// profileLock is held by the process that owns the profile, as long as it
	// lives. The operating system lets go of it however the process ends.
	profileLock = "toolplane.lock"
	// unlockedAge is how old a profile without a lock file must be to count as
	// abandoned: younger ones may be between their creation and their lock.
	unlockedAge = time.Hour
	// maxSocketPath is the longest address of a Unix socket on Linux, and
	// profileRoom what a profile and the socket in it add to their parent.
	maxSocketPath = 107
	profileRoom   = len("/" + profilePrefix + "1234567890/org.chromium.Chromium.XXXXXX/SingletonSocket")
	// removeFor bounds the attempts to remove a profile: a process of the
	// browser that is just ending may still write to it.
	removeFor = 3 * time.Second
)

// profile is the throw-away user data directory of one browser.
type profile struct {
	dir  string
	lock *os.File
}

// profileParent is where profiles are made: the directory for temporary files,
// unless its name is so long that the browser's socket in the profile would have
// an address that the system doesn't take.
func profileParent() string {
	const fallback = "/tmp"
	parent := os.TempDir()
	if runtime.GOOS == "linux" && len(parent)+profileRoom > maxSocketPath {
		if info, err := os.Stat(fallback); err == nil && info.IsDir() {
			return fallback
		}
	}
	return parent
}

// newProfile makes a profile in parent. Only this user can read it.
func newProfile(parent string) (*profile, error) {
	dir, err := os.MkdirTemp(parent, profilePrefix)
	if err != nil {
		return nil, fmt.Errorf("make a browser profile: %w", err)
	}
	lock, err := createLock(filepath.Join(dir, profileLock))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the browser profile: %w", err), os.RemoveAll(dir))
	}
	return &profile{dir: dir, lock: lock}, nil
}

// remove deletes the profile. The browser that used it must be gone.
func (p *profile) remove() error {
	// Windows can't delete an open file. Elsewhere the lock goes first as well;
	// a host that sweeps at this very moment does no more than help.
	err := p.lock.Close()
	return errors.Join(err, removeDir(p.dir))
}

func removeDir(dir string) error {
	deadline := time.Now().Add(removeFor)
	for {
		err := os.RemoveAll(dir)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove the browser profile: %w", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// sweepProfiles removes the profiles that hosts which crashed left in parent,
// ends processes that still use them, and returns how many it removed. It
// touches only directories of this user whose lock no living process holds.
func sweepProfiles(parent string, now time.Time) (removed int) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		// The type comes from lstat: a symbolic link is not a directory here.
		if strings.HasPrefix(entry.Name(), profilePrefix) && entry.IsDir() && sweepProfile(parent, entry, now) {
			removed++
		}
	}
	return removed
}

func sweepProfile(parent string, entry fs.DirEntry, now time.Time) bool {
	info, err := entry.Info()
	if err != nil || !ownedByUs(info) {
		return false
	}
	dir := filepath.Join(parent, entry.Name())
	lock, err := takeLock(filepath.Join(dir, profileLock))
	switch {
	case err == nil:
		// Nobody can take a dead owner's profile over, so the lock has done its
		// job; Windows couldn't delete the file while it is open.
		_ = lock.Close()
	case errors.Is(err, fs.ErrNotExist):
		if now.Sub(info.ModTime()) < unlockedAge {
			return false
		}
	default:
		return false // its owner lives
	}
	endLeftovers(dir)
	return removeDir(dir) == nil
}
