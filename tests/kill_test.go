//go:build linux

package tests

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agent is an MCP client connected to a `toolplane serve mcp` of its own.
type agent struct {
	session  *mcp.ClientSession
	cmd      *exec.Cmd
	progress chan string
}

func startAgent(t *testing.T) *agent {
	t.Helper()
	dir := t.TempDir()
	writeConfig(t, dir, "[plugins.issues]\nsource = \"builtin:issues\"\n[executor]\nmax_run_timeout = \"2m\"\n")
	return startAgentWith(t, dir+"/toolplane.toml")
}

// startAgentWith starts an agent with a configuration.
func startAgentWith(t *testing.T, configFile string) *agent {
	t.Helper()
	a := &agent{cmd: exec.Command(binary, "serve", "mcp", "--config", configFile), progress: make(chan string, 100)}
	a.cmd.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "tests", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			select {
			case a.progress <- r.Params.Message:
			default:
			}
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: a.cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	a.session = session
	return a
}

// execute runs code and returns the result object that the structured content holds.
func (a *agent) execute(ctx context.Context, t *testing.T, code string, timeoutSeconds int) (runResult, error) {
	t.Helper()
	params := &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": code, "timeout_seconds": timeoutSeconds}}
	params.SetProgressToken("run")
	answer, err := a.session.CallTool(ctx, params)
	if err != nil {
		return runResult{}, err
	}
	text, err := json.Marshal(answer.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var r runResult
	decode(t, text, &r)
	return r, nil
}

// startEndless begins a run that awaits for a minute, and returns once it's known to run.
func (a *agent) startEndless(t *testing.T) <-chan runResult {
	t.Helper()
	done := make(chan runResult, 1)
	go func() {
		r, err := a.execute(context.Background(), t, "import asyncio\nprint('it runs', flush=True)\nawait asyncio.sleep(60)", 90)
		if err == nil {
			done <- r
		}
		close(done)
	}()
	limit := time.After(90 * time.Second)
	for {
		select {
		case message := <-a.progress:
			if strings.Contains(message, "it runs") {
				return done
			}
		case r := <-done:
			t.Fatalf("the endless run ended: %+v %+v", r, r.Error)
		case <-limit:
			t.Fatal("no progress from the run")
		}
	}
}

// TestBrowserKilledInMidRun: the run gets a clear error within 2 s, and the next run works.
func TestBrowserKilledInMidRun(t *testing.T) {
	a := startAgent(t)
	run := a.startEndless(t)
	browser, _ := browserOf(t, a.cmd.Process.Pid)
	killed := time.Now()
	if err := syscall.Kill(browser, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case r, ok := <-run:
		if !ok || r.OK || r.Error == nil || r.Error.Builtin != "RuntimeError" || !strings.Contains(r.Error.Message, "browser") {
			t.Errorf("the run that lost its browser: %+v %+v", r, r.Error)
		}
		if took := time.Since(killed); took > 2*time.Second {
			t.Errorf("it took %v to say so, want 2 s at most", took)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the run that lost its browser never ended")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := a.execute(ctx, t, "return 6 * 7", 30)
	if err != nil || !r.OK || string(r.Value) != "42" {
		t.Errorf("the run after it: %v %s %+v", err, r.Value, r.Error)
	}
}

// TestHostEndsLeavesNoBrowser: however the host ends, in mid-run, its browser and the profile folder are gone.
func TestHostEndsLeavesNoBrowser(t *testing.T) {
	cases := []struct {
		name string
		end  syscall.Signal
	}{
		{"SIGTERM", syscall.SIGTERM},
		{"SIGKILL", syscall.SIGKILL},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := startAgent(t)
			a.startEndless(t)
			_, profile := browserOf(t, a.cmd.Process.Pid)
			pids := []int{a.cmd.Process.Pid}
			for _, p := range descendants(processes(t), a.cmd.Process.Pid) {
				pids = append(pids, p.pid)
			}
			if len(pids) < 4 {
				t.Fatalf("only processes %v: is this the browser?", pids)
			}
			if err := a.cmd.Process.Signal(c.end); err != nil {
				t.Fatal(err)
			}
			waitUntilGone(t, pids, profile, 10*time.Second)
			if _, err := os.Stat(profile); c.end == syscall.SIGTERM && !os.IsNotExist(err) {
				t.Errorf("the profile folder %s is still there: %v", profile, err)
			}
		})
	}
}
