//go:build unix

package executor

import (
	"os/exec"
	"syscall"
)

// prepareCommand puts the browser into a process group of its own, so that a
// Ctrl-C at the terminal reaches the host alone, which then ends the browser in
// order, and so that [endGroup] ends all of it.
func prepareCommand(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// endGroup kills every process of the group that the browser leads. It may be
// called only while the browser has not been waited for: from then on the
// number could belong to somebody else.
func endGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
