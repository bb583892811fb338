package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/executor"
	"github.com/toolplane/toolplane/host/result"
	"github.com/toolplane/toolplane/host/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeProvider has capabilities that nobody calls: the fake runner runs no code.
type fakeProvider struct{ id string }

func (p fakeProvider) ID() string { return p.id }

func (fakeProvider) Call(context.Context, capability.Invocation) (capability.Answer, error) {
	return capability.Answer{}, fmt.Errorf("a fake can't be called")
}

func testRegistry(t testing.TB) *capability.Registry {
	t.Helper()
	r := capability.NewRegistry()
	put := func(id string, caps ...capability.Capability) {
		if err := r.Put(fakeProvider{id}, caps); err != nil {
			t.Fatal(err)
		}
	}
	put("plugin:issues",
		capability.Capability{
			Name: "plugin:issues/list", Description: "Lists issues.\nNewest first.", Tags: []string{"tracker"},
			InputSchema:  json.RawMessage(`{"type":"object","properties":{"count":{"type":"integer","default":100},"state":{"type":"string"}}}`),
			OutputSchema: json.RawMessage(`{"type":"object"}`),
		},
		capability.Capability{
			Name: "plugin:issues/get", Description: "Reads one issue by its id.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`),
		})
	put("plugin:list", capability.Capability{Name: "plugin:list/x", Description: "Its scope is a Python builtin."})
	return r
}

// fakeRunner answers by the first word of the code.
type fakeRunner struct {
	started chan executor.Request // receives every request, if not nil
}

func (f fakeRunner) Run(ctx context.Context, req executor.Request) *executor.Result {
	if f.started != nil {
		f.started <- req
	}
	res := &executor.Result{OK: true, Value: json.RawMessage(`null`), Artifacts: []executor.Artifact{}, DurationMS: 1.5, RunID: "run_1", Executor: "headless"}
	fail := func(typ, builtin, message, traceback string) {
		res.OK = false
		res.Error = &executor.RunError{Type: typ, Builtin: builtin, Message: message, Traceback: traceback}
	}
	switch req.Code {
	case "numbers":
		res.Value = json.RawMessage(`[9007199254740993,1.0,-0.0,10000000000000000000000000000000000000000]`)
	case "inputs":
		res.Value = req.Inputs["x"]
	case "previous":
		if req.Previous != nil {
			res.Value = req.Previous
		}
	case "print":
		req.OnOutput("stdout", "one\n")
		req.OnOutput("stdout", "two\n")
		res.Stdout = "one\ntwo\n"
		res.Stderr = "careful\n"
		res.OutputTruncated = true
	case "timeout":
		res.Value = json.RawMessage(fmt.Sprintf("%q", req.Timeout))
	case "fail":
		fail("ZeroDivisionError", "RuntimeError", "division by zero", "Traceback (most recent call last):\n  File \"snippet.py\", line 1\nZeroDivisionError: division by zero\n")
	case "unknown name":
		fail("NameError", "RuntimeError", "name 'broken_list' is not defined", "NameError: name 'broken_list' is not defined\n")
	case "no browser":
		fail("BrowserError", "RuntimeError", "no browser was found: install chromium", "")
	case "wait":
		<-ctx.Done()
		fail("RunCancelledError", "RuntimeError", "the run was cancelled", "")
	}
	return res
}

// indexOf follows a registry until the test ends.
func indexOf(t testing.TB, r *capability.Registry) *search.Index {
	t.Helper()
	index, err := search.New(search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(index.Close)
	index.Follow(r)
	return index
}

func testOptions(t testing.TB) Options {
	registry := testRegistry(t)
	return Options{
		Version: "1.2.3", Runner: fakeRunner{}, Registry: registry, Index: indexOf(t, registry), Scope: "test",
		RunTimeout: 30 * time.Second, MaxRunTimeout: 10 * time.Minute, Store: true, Results: result.New(result.Options{}), Fold: FoldOptions{Enabled: true}, InlineCapabilities: 12, Linger: 5 * time.Second,
	}
}
