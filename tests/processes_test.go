//go:build linux

package tests

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// process is one entry of /proc.
type process struct {
	pid, parent int
	args        []string
}

// processes reads /proc. Processes that end while it reads, and zombies, are left out.
func processes(t *testing.T) []process {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var all []process
	for _, dir := range dirs {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || len(cmdline) == 0 {
			continue
		}
		// The command's name stands in parentheses and may hold anything: state and parent follow the last one (proc(5)).
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		parent, _ := strconv.Atoi(fields[1])
		if fields[0] == "Z" {
			continue
		}
		all = append(all, process{pid, parent, strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")})
	}
	return all
}

// browserOf finds the main process of the browser that the process pid started, and the profile folder it was given.
func browserOf(t *testing.T, pid int) (browser int, profile string) {
	t.Helper()
	for _, p := range descendants(processes(t), pid) {
		isChild := false
		dir := ""
		for _, arg := range p.args {
			isChild = isChild || strings.HasPrefix(arg, "--type=")
			if v, ok := strings.CutPrefix(arg, "--user-data-dir="); ok {
				dir = v
			}
		}
		if dir != "" && !isChild {
			return p.pid, dir
		}
	}
	t.Fatalf("process %d started no browser", pid)
	return 0, ""
}

func descendants(all []process, pid int) []process {
	var found []process
	for _, p := range all {
		if p.parent == pid {
			found = append(append(found, p), descendants(all, p.pid)...)
		}
	}
	return found
}

// waitUntilGone waits until none of pids runs and no process names the profile folder.
func waitUntilGone(t *testing.T, pids []int, profile string, within time.Duration) {
	t.Helper()
	var left []process
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // polls /proc, which can't be waited for
		left = left[:0]
		for _, p := range processes(t) {
			named := strings.Contains(strings.Join(p.args, " "), profile)
			for _, pid := range pids {
				named = named || p.pid == pid
			}
			if named {
				left = append(left, p)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("%v later there still are %+v", within, left)
}
