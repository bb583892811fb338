package executor

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// Request is one snippet to run.
type Request struct {
	// RunID names the run in logs, in calls and in the result. Empty means
	// that one is made. Two runs with the same id can't be in flight together.
	RunID string

	// Scope and Subject say whose data the run may use. Every capability call
	// of the run is dispatched with them.
	Scope, Subject string

	// Code is the Python source, and Filename what tracebacks call it
	// (default "snippet.py").
	Code, Filename string

	// Inputs are JSON texts that the snippet finds under their names. Each must
	// be one valid JSON value.
	Inputs map[string]json.RawMessage

	// Previous is the JSON text of the previous run's value, `_` in the
	// snippet. Nil means that there is none. A session that has had a run knows
	// its own, and this isn't used.
	Previous json.RawMessage

	// Fresh asks for a pristine interpreter. Otherwise, with [Options.Sessions],
	// the run goes on with the namespace of the scope's earlier ones, like the
	// next cell of a notebook: variables, functions, classes, imports, open files.
	// A run that raises keeps what it did; one that times out, is stopped or dies
	// is rolled back, so that the namespace is exactly as before it. What it did
	// on the host stands either way.
	Fresh bool

	// Timeout is the time the snippet may take, counted by the page from the
	// moment Python starts. Zero means [Options.RunTimeout]; more than
	// [Options.MaxRunTimeout] is refused.
	Timeout time.Duration

	// OnOutput, if set, receives what the run prints, as it prints it. Stream
	// is "stdout" or "stderr". The calls of one run come one at a time, in
	// order, from a goroutine of their own; they carry at most
	// [Options.MaxOutputBytes] of each stream, and the last call is over before
	// Run answers, unless OnOutput itself doesn't return within a second.
	OnOutput func(stream, text string)
}

// RunError says why a run failed, as Python would: Type is the name of the
// exception's class, Builtin the builtin exception it derives from, and
// Traceback has only the user's frames. Errors of the host (no browser, browser
// died) have no traceback.
type RunError struct {
	Type      string `json:"type"`
	Builtin   string `json:"builtin"`
	Message   string `json:"message"`
	Traceback string `json:"traceback"`
}

// Error satisfies the error interface.
func (e *RunError) Error() string { return e.Type + ": " + e.Message }

// Artifact is a file that a run saved.
type Artifact struct {
	Handle    string `json:"handle"`
	URI       string `json:"uri"`
	Filename  string `json:"filename,omitempty"`
	Bytes     int64  `json:"bytes"`
	MediaType string `json:"media_type,omitempty"`
}

// Result is the outcome of one run. It is also what `run --json` prints and
// what execute_code answers with.
type Result struct {
	// OK says that the snippet ended without an error.
	OK bool `json:"ok"`
	// Value is the JSON text of what the snippet returned, "null" if it failed.
	Value json.RawMessage `json:"value"`
	// Stdout and Stderr are what it printed, up to the output limit. Of a run
	// that was cancelled or lost, it is what had arrived by then.
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	// Error is nil when OK.
	Error *RunError `json:"error"`
	// Artifacts lists the files it saved. Never nil.
	Artifacts []Artifact `json:"artifacts"`
	// DurationMS is the time from the call of Run to its answer, waiting for a
	// free slot and for the browser's start included, in milliseconds.
	DurationMS float64 `json:"duration_ms"`
	RunID      string  `json:"run_id"`
	// Executor is the kind of page that ran it ("headless"), empty when none did.
	Executor string `json:"executor"`
	// Session says where the run ran and what became of that namespace: "fresh"
	// (no session was touched), "new" (it began with this run), "kept",
	// "rolled_back" (it's as before the run), "lost" (it couldn't be restored) or
	// "reset" (the snippet asked for it). After the last two the next run begins a
	// new one. Empty when the run didn't begin.
	Session string `json:"session,omitempty"`
	// SessionNote is what a reader should know about the session: that an earlier
	// namespace is gone and why, or that this one couldn't be restored.
	SessionNote string `json:"session_note,omitempty"`
	// WaitedMS is how long it waited for earlier runs of its session, in
	// milliseconds.
	WaitedMS float64 `json:"waited_ms,omitempty"`
	// OutputTruncated says that the run printed more than the limit.
	OutputTruncated bool `json:"output_truncated,omitempty"`
	// Tampered says that the worker sent messages that only a snippet that
	// attacks its sandbox would send.
	Tampered bool `json:"tampered,omitempty"`
}

// JSON returns the result as one JSON object, with the text of Value exactly as
// the snippet's encoder wrote it. (encoding/json would rewrite some of it.)
func (r *Result) JSON() (json.RawMessage, error) { return protocol.EncodePayload(r) }

// Origin says on whose behalf a capability is called. It comes from the run
// that the host started, never from the page.
type Origin struct {
	Scope, Subject, RunID string
}

// Dispatcher answers the capability calls of runs. Dispatch is called
// concurrently. Its context ends when the run ends, when the page takes the
// call back, and when the page is gone; Dispatch must return soon after.
type Dispatcher interface {
	Dispatch(ctx context.Context, from Origin, name string, args json.RawMessage) (json.RawMessage, *capability.Error)
}

// DispatcherFunc makes a Dispatcher of a function.
type DispatcherFunc func(ctx context.Context, from Origin, name string, args json.RawMessage) (json.RawMessage, *capability.Error)

// Dispatch calls f.
func (f DispatcherFunc) Dispatch(ctx context.Context, from Origin, name string, args json.RawMessage) (json.RawMessage, *capability.Error) {
	return f(ctx, from, name, args)
}

// The types of the errors that the host itself gives a run. All but the first
// have the builtin RuntimeError.
const (
	// TypeInvalidRequest: the request can't be run as it stands (ValueError).
	TypeInvalidRequest = "InvalidRequestError"
	// TypeBusy: too many runs wait already, or this one waited too long.
	TypeBusy = "ExecutorBusyError"
	// TypeBrowser: no browser, it didn't start, it died, or its page is stuck.
	TypeBrowser = "BrowserError"
	// TypeExecutor: the page answered with something that isn't a result, or
	// the executor is closed.
	TypeExecutor = "ExecutorError"
	// TypeCancelled: the caller took the run back.
	TypeCancelled = "RunCancelledError"
)
