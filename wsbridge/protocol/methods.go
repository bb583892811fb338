package protocol

import "encoding/json"

// Version is the protocol's name. It's the WebSocket subprotocol and the "protocol" member of session.hello.
const Version = "toolplane.v1"

// Methods. The comment names the sender and whether it is a request or a notification.
const (
	MethodHello          = "session.hello"   // page → host, request: HelloParams → HelloResult
	MethodToolCall       = "tool.call"       // page → host, request: ToolCallParams → ToolCallResult
	MethodRunOutput      = "run.output"      // page → host, notification: RunOutputParams
	MethodExecutorStatus = "executor.status" // page → host, notification: ExecutorStatusParams
	MethodExecutorRun    = "executor.run"    // host → page, request: ExecutorRunParams → ExecutorRunResult
	MethodExecutorReset  = "executor.reset"  // host → page, request: ExecutorResetParams → ExecutorResetResult
	MethodCatalogChanged = "catalog.changed" // host → page, notification: Catalog
	MethodCancel         = "$/cancelRequest" // both, notification: CancelParams
)

// Kinds of page, as told in session.hello.
const (
	PageHeadless  = "headless"
	PageConsole   = "console"
	PageExtension = "extension"
)

// Streams of run.output.
const (
	StreamStdout = "stdout"
	StreamStderr = "stderr"
)

// What executor.status says in "snapshot".
const (
	SnapshotMemory = "memory" // workers are restored from a memory snapshot
	SnapshotNone   = "none"   // workers load plainly: slower, otherwise the same
)

// What a run's result says in "session": where it ran, and what became of that namespace.
const (
	SessionFresh      = "fresh"       // in an interpreter of its own; no session was touched
	SessionNew        = "new"         // in a session that began with this run, and is kept
	SessionKept       = "kept"        // in a session that had earlier runs, and is kept
	SessionRolledBack = "rolled_back" // the namespace is as it was before the run
	SessionLost       = "lost"        // the namespace couldn't be restored: the next run begins a new one
	SessionReset      = "reset"       // the snippet asked for it: the next run begins a new one
)

// Peer names a program at one end of the connection.
type Peer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// HelloParams opens a session: the first message of every connection.
type HelloParams struct {
	Protocol   string `json:"protocol"` // must be Version
	Token      string `json:"token"`
	Client     Peer   `json:"client"`
	Kind       string `json:"kind"` // PageHeadless, PageConsole or PageExtension
	CanExecute bool   `json:"can_execute"`
}

// HelloResult answers session.hello.
type HelloResult struct {
	Protocol string  `json:"protocol"`
	Server   Peer    `json:"server"`
	Limits   Limits  `json:"limits"`
	Catalog  Catalog `json:"catalog"`
}

// Limits are the host's limits, so that a sender can check before it sends.
type Limits struct {
	MaxFrameBytes int64 `json:"max_frame_bytes"` // bytes of one text frame, in either direction
	MaxInFlight   int   `json:"max_in_flight"`   // unanswered requests, per direction
}

// Catalog tells which names a snippet can use. It is also the params object of catalog.changed.
type Catalog struct {
	Revision uint64    `json:"revision"` // grows with each change
	Bindings []Binding `json:"bindings"`
}

// Binding is one capability and its Python aliases. An alias that was left out is empty.
type Binding struct {
	Name   string   `json:"name"` // canonical name, for example plugin:issues/list
	Flat   string   `json:"flat,omitempty"`
	Scope  string   `json:"scope,omitempty"`
	Tool   string   `json:"tool,omitempty"`
	Params []string `json:"params"`
	Call   string   `json:"call"` // how a call looks in Python
}

// ToolCallParams calls a capability in the name of a run. The host takes scope and subject from the run, never from the page.
type ToolCallParams struct {
	RunID     string          `json:"run_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // one JSON object, carried verbatim
}

// ToolCallResult is the capability's answer.
type ToolCallResult struct {
	Value json.RawMessage `json:"value"` // carried verbatim
}

// RunOutputParams is a piece of a run's output, sent while it runs.
type RunOutputParams struct {
	RunID  string `json:"run_id"`
	Stream string `json:"stream"` // StreamStdout or StreamStderr
	Text   string `json:"text"`
}

// ExecutorStatusParams tells that the pool became ready, grew, shrank or degraded.
type ExecutorStatusParams struct {
	Ready    bool   `json:"ready"`
	Pool     int    `json:"pool"` // workers that are ready to run
	Detail   string `json:"detail,omitempty"`
	Snapshot string `json:"snapshot,omitempty"` // SnapshotMemory or SnapshotNone
}

// ExecutorRunParams asks the page to run one snippet.
type ExecutorRunParams struct {
	RunID            string                     `json:"run_id"`
	Code             string                     `json:"code"`
	Filename         string                     `json:"filename"`
	Fresh            bool                       `json:"fresh"`
	Inputs           map[string]json.RawMessage `json:"inputs"`             // values carried verbatim
	Previous         json.RawMessage            `json:"previous,omitempty"` // carried verbatim
	TimeoutMS        int64                      `json:"timeout_ms"`         // milliseconds, at least 1
	MaxOutputBytes   int64                      `json:"max_output_bytes"`   // UTF-8 bytes of stdout and of stderr
	MaxCalls         int                        `json:"max_calls,omitempty"`
	MaxCallsInFlight int                        `json:"max_calls_in_flight,omitempty"`
	Session          string                     `json:"session,omitempty"`           // key of the namespace to run in, chosen by the host; not with Fresh
	SessionMaxBytes  int64                      `json:"session_max_bytes,omitempty"` // memory and files of that session; 0 means no limit of its own
}

// ExecutorResetParams ends a session. A run that is under way in it is stopped.
type ExecutorResetParams struct {
	Session string `json:"session"`
}

// ExecutorResetResult says what there was to end.
type ExecutorResetResult struct {
	Runs int `json:"runs"` // runs that the session had, 0 when there was no such session
}

// ExecutorRunResult is a finished run, failed or not.
type ExecutorRunResult struct {
	OK              bool            `json:"ok"`
	Value           json.RawMessage `json:"value"` // carried verbatim; null when the run failed
	Stdout          string          `json:"stdout"`
	Stderr          string          `json:"stderr"`
	OutputTruncated bool            `json:"output_truncated"`
	Tampered        bool            `json:"tampered"`
	Error           *RunError       `json:"error"` // nil when OK
	DurationMS      float64         `json:"duration_ms"`
	Session         string          `json:"session,omitempty"`      // one of the Session constants
	SessionNote     string          `json:"session_note,omitempty"` // what a reader should know about it
}

// RunError is the Python exception that ended a run.
type RunError struct {
	Type      string `json:"type"`
	Builtin   string `json:"builtin"`
	Message   string `json:"message"`
	Traceback string `json:"traceback"`
}

// CancelParams names a request, sent earlier by the same side, that is no longer wanted.
type CancelParams struct {
	ID int64 `json:"id"`
}
