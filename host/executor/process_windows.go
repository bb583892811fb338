package executor

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// prepareCommand keeps a Ctrl-C at the console from the browser, which the host
// ends in order. The debugging pipe's handles are in SysProcAttr already.
func prepareCommand(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
}

// endGroup ends the browser and its children. When the host crashes instead,
// the browser ends by itself, because its debugging pipe closes.
func endGroup(pid int) {
	taskkill := os.Getenv("SystemRoot") + `\System32\taskkill.exe`
	_ = exec.Command(taskkill, "/T", "/F", "/PID", strconv.Itoa(pid)).Run()
}

func runsWithoutSandbox() bool { return false }

// endLeftovers relies on [endGroup] here.
func endLeftovers(string) {}
