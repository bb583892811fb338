package executor

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func init() { playVictim = victim }

// victim is a host that runs until it is killed. It prints its browser's process
// when a run is under way.
func victim() {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	e := New(Options{Headless: HeadlessOptions{BaseURL: server.URL}, Hub: HubOptions{Dispatcher: DispatcherFunc(nil)}})
	mux.Handle("/ws", e.Hub())
	mux.HandleFunc("/executor/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, strings.ReplaceAll(pageHTML, "{{MODE}}", "ok"))
	})
	if os.Getenv(victimEnv) == "starting" {
		go func() { _ = e.Start(context.Background()) }()
		for len(processesUsingPrefix(os.TempDir())) == 0 {
			time.Sleep(time.Millisecond)
		}
	} else {
		if err := e.Start(context.Background()); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		go e.Run(context.Background(), Request{Code: os.Getenv(victimEnv), Timeout: time.Minute})
		for e.Stats().Running == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Println("ready", e.Stats().BrowserPID)
	select {}
}

// processesUsingPrefix are the processes of every profile in a directory.
func processesUsingPrefix(temp string) (pids []int) {
	entries, _ := os.ReadDir(temp)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), profilePrefix) {
			pids = append(pids, processesUsing(temp+"/"+entry.Name())...)
		}
	}
	return pids
}

// A host that is killed, and so can't clean up, leaves no process behind, and
// the next host removes what it left on disk.
func TestKilledHostLeavesNoBrowser(t *testing.T) {
	for _, state := range []string{"hang", "spin", "starting"} {
		t.Run(state, func(t *testing.T) {
			temp := shortTempDir(t)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), victimEnv+"="+state, "TMPDIR="+temp)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || !strings.HasPrefix(line, "ready") {
				t.Fatalf("the host said %q, %v", line, err)
			}
			before := processesUsingPrefix(temp)
			if len(before) == 0 {
				t.Fatal("no browser is running")
			}
			begin := time.Now()
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			eventually(t, func() bool { return len(processesUsingPrefix(temp)) == 0 }, "processes of the browser are left")
			t.Logf("%d processes gone after %v", len(before), time.Since(begin).Round(time.Millisecond))
			if d := time.Since(begin); d > 3*time.Second {
				t.Errorf("the browser outlived its host by %v", d)
			}
			if n := sweepProfiles(temp, time.Now()); n != 1 {
				t.Errorf("the next host removed %d profiles, want 1", n)
			}
			checkEmpty(t, temp)
		})
	}
}
