//go:build unix && !linux

package executor

import "syscall"

// dieWithParent has nothing to set here: the browser ends by itself when its
// debugging pipe closes, and that it does when the host ends.
func dieWithParent(*syscall.SysProcAttr) {}

func runsWithoutSandbox() bool { return false }

// endLeftovers relies on the process group here; see [endGroup].
func endLeftovers(string) {}
