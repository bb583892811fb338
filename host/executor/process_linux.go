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

// endLeftovers kills the processes whose command line names profile as their
// user data directory, and waits up to a second until there is none. The name
// is random, so that nobody else's browser can have it. Chromium gives it to
// its helpers; one that was being forked when the browser died shows up late,
// hence the second look.
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

// processesUsing returns the living processes that were given profile as their
// user data directory. A zombie has no command line any more.
func processesUsing(profile string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	want := []byte("--user-data-dir=" + profile)
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cmdline, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err != nil {
			continue
		}
		for arg := range bytes.SplitSeq(cmdline, []byte{0}) {
			if bytes.Equal(arg, want) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
