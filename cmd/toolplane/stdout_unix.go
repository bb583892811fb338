//go:build unix

package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// takeStdout returns a file that is what standard output was, and points
// descriptor 1 at standard error, so that not even code outside Go writes into
// the protocol.
func takeStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("take standard output for the protocol: %w", err)
	}
	if err := redirect(2, 1); err != nil {
		return nil, fmt.Errorf("take standard output for the protocol: %w", err)
	}
	os.Stdout = os.Stderr
	return os.NewFile(uintptr(fd), "stdout"), nil
}
