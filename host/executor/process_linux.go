package executor

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// dieWithParent makes the kernel kill the browser when the thread that started
// it ends. chromedp starts it from a goroutine that stays locked to its thread
// until the browser is gone, so that this happens when the host ends, however
// it ends, and not before.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// runsWithoutSandbox reports whether Chromium refuses to start with its sandbox
// here: it does as root.
func runsWithoutSandbox() bool { return os.Geteuid() == 0 }

// endLeftovers kills the processes that belong to the browser with this profile,
// and waits up to a second until there is none. The browser's helpers have
// ended by then, as a rule: they notice that it is gone. The crash handlers,
// which leave the process group, and a helper that was being forked when the
// browser died take a moment longer, hence the second look.
func endLeftovers(profile string) {
	deadline := time.Now().Add(time.Second)
	for quiet := 0; quiet < 2 && time.Now().Before(deadline); {
		pids := processesUsing(profile)
		if len(pids) == 0 {
			quiet++
		} else {
			quiet = 0
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// processesUsing returns the living processes that were started for a profile:
// those whose command line has it as the user data directory or keeps the crash
// database in it. Its name is random, so that nobody else's browser can have
// it; a process that merely mentions it, such as an editor, doesn't count. A
// zombie has no command line any more.
func processesUsing(profile string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cmdline, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err == nil && startedFor(cmdline, profile) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// startedFor reports whether a command line belongs to the browser with this
// profile. Arguments end with a zero byte, but Chromium's helpers overwrite
// theirs with a text in which spaces separate them.
func startedFor(cmdline []byte, profile string) bool {
	for _, option := range []string{"--user-data-dir=", "--database="} {
		if _, rest, ok := bytes.Cut(cmdline, []byte(option+profile)); ok {
			return len(rest) == 0 || bytes.IndexByte([]byte("\x00 /"), rest[0]) >= 0
		}
	}
	return false
}
