package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Side tells who sent a message.
type Side string

// The sides, spelled as in the "direction" of vectors/*.json.
const (
	FromPage Side = "client-to-host"
	FromHost Side = "host-to-client"
)

// Method describes one method of the protocol.
type Method struct {
	Name    string
	From    Side // "" when both sides send it
	Request bool // false for notifications

	// NewParams and NewResult return pointers to empty payloads. NewResult is nil for notifications.
	NewParams, NewResult func() any
}

// Methods lists every method.
func Methods() []Method { return slices.Clone(methods) }

var methods = []Method{
	{MethodHello, FromPage, true, payload[HelloParams], payload[HelloResult]},
	{MethodToolCall, FromPage, true, payload[ToolCallParams], payload[ToolCallResult]},
	{MethodRunOutput, FromPage, false, payload[RunOutputParams], nil},
	{MethodExecutorStatus, FromPage, false, payload[ExecutorStatusParams], nil},
	{MethodExecutorRun, FromHost, true, payload[ExecutorRunParams], payload[ExecutorRunResult]},
	{MethodExecutorReset, FromHost, true, payload[ExecutorResetParams], payload[ExecutorResetResult]},
	{MethodCatalogChanged, FromHost, false, payload[Catalog], nil},
	{MethodCancel, "", false, payload[CancelParams], nil},
}

func payload[T any]() any { return new(T) }

// CheckCall judges a request or notification that from sent: the method must be one of that side's, be used as the
// right kind of message, and have the right params. It returns nil or an [*Error] with [CodeMethodNotFound],
// [CodeInvalidRequest] or [CodeInvalidParams].
func CheckCall(from Side, m *Message) error {
	i := slices.IndexFunc(methods, func(method Method) bool {
		return method.Name == m.Method && (method.From == "" || method.From == from)
	})
	if i < 0 {
		return Errorf(CodeMethodNotFound, "method %q isn't one that this side answers", shorten(m.Method))
	}
	switch method := methods[i]; {
	case method.Request && m.ID == 0:
		return Errorf(CodeInvalidRequest, "%s is a request, it needs an id", m.Method)
	case !method.Request && m.ID != 0:
		return Errorf(CodeInvalidRequest, "%s is a notification, it has no id", m.Method)
	default:
		return DecodeParams(m.Params, method.NewParams())
	}
}

// CheckAnswer judges an answer to a request of the named method. Errors fit every method.
func CheckAnswer(method string, m *Message) error {
	if m.Kind() == KindError {
		return nil
	}
	for _, known := range methods {
		if known.Name == method && known.Request {
			return DecodeResult(m.Result, known.NewResult())
		}
	}
	return Errorf(CodeMethodNotFound, "method %q has no answer", shorten(method))
}

// Validate checks what the types can't say. The token's value is judged by the host, not here.
func (p *HelloParams) Validate() error {
	if p.Protocol != Version {
		return fmt.Errorf("protocol: this side speaks %s, not %q", Version, shorten(p.Protocol))
	}
	return oneOf("kind", p.Kind, PageHeadless, PageConsole, PageExtension)
}

// Validate checks what the types can't say.
func (r *HelloResult) Validate() error {
	switch {
	case r.Protocol != Version:
		return fmt.Errorf("protocol: this side speaks %s, not %q", Version, shorten(r.Protocol))
	case r.Limits.MaxFrameBytes < 1 || r.Limits.MaxInFlight < 1:
		return errors.New("limits: each limit must be at least 1")
	}
	return nil
}

// Validate checks what the types can't say.
func (p *ToolCallParams) Validate() error {
	switch {
	case p.RunID == "":
		return errors.New("run_id: must not be empty")
	case p.Name == "":
		return errors.New("name: must not be empty")
	case p.Arguments[0] != '{':
		return errors.New("arguments: must be an object")
	}
	return nil
}

// Validate checks what the types can't say.
func (p *RunOutputParams) Validate() error {
	if p.RunID == "" {
		return errors.New("run_id: must not be empty")
	}
	return oneOf("stream", p.Stream, StreamStdout, StreamStderr)
}

// Validate checks what the types can't say.
func (p *ExecutorStatusParams) Validate() error {
	if p.Pool < 0 {
		return errors.New("pool: must not be negative")
	}
	if p.Snapshot == "" {
		return nil
	}
	return oneOf("snapshot", p.Snapshot, SnapshotMemory, SnapshotNone)
}

// Validate checks what the types can't say.
func (p *ExecutorRunParams) Validate() error {
	switch {
	case p.RunID == "":
		return errors.New("run_id: must not be empty")
	case p.TimeoutMS < 1:
		return errors.New("timeout_ms: must be at least 1 millisecond")
	case p.MaxOutputBytes < 0:
		return errors.New("max_output_bytes: must not be negative")
	case p.MaxCalls < 0 || p.MaxCallsInFlight < 0:
		return errors.New("max_calls: limits on calls must not be negative")
	case p.SessionMaxBytes < 0:
		return errors.New("session_max_bytes: must not be negative")
	case p.Fresh && p.Session != "":
		return errors.New("session: a fresh run has none")
	}
	return nil
}

// Validate checks what the types can't say.
func (p *ExecutorResetParams) Validate() error {
	if p.Session == "" {
		return errors.New("session: must not be empty")
	}
	return nil
}

// Validate checks what the types can't say.
func (r *ExecutorResetResult) Validate() error {
	if r.Runs < 0 {
		return errors.New("runs: must not be negative")
	}
	return nil
}

// Validate checks what the types can't say.
func (r *ExecutorRunResult) Validate() error {
	switch {
	case r.OK && r.Error != nil:
		return errors.New("error: must be null when ok is true")
	case !r.OK && r.Error == nil:
		return errors.New("error: must say what failed when ok is false")
	case r.DurationMS < 0:
		return errors.New("duration_ms: must not be negative")
	case r.Session == "":
		return nil
	}
	return oneOf("session", r.Session, SessionFresh, SessionNew, SessionKept, SessionRolledBack, SessionLost, SessionReset)
}

// Validate checks what the types can't say.
func (p *CancelParams) Validate() error {
	if p.ID < 1 || p.ID > MaxID {
		return fmt.Errorf("id: must be an integer from 1 to %d", int64(MaxID))
	}
	return nil
}

func oneOf(name, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s: %q isn't one of %s", name, shorten(value), strings.Join(allowed, ", "))
}
