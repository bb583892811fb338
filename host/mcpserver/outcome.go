package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolplane/toolplane/host/executor"
)

// executeSchema is the output schema of execute_code. Either value or folded is
// there: a value that looks like a fold stands under value.
//
// It's short, because it's in every agent's context: what isn't listed may be there.
const executeSchema = `{
	"type": "object",
	"properties": {
		"ok": {"type": "boolean"},
		"value": {},
		"folded": ` + foldedSchema + `,
		"stdout": {"type": "string"},
		"stderr": {"type": "string"},
		"error": {
			"type": ["object", "null"],
			"properties": {"type": {"type": "string"}, "builtin": {"type": "string"}, "message": {"type": "string"}, "traceback": {"type": "string"}}
		},
		"artifacts": {"type": "array"},
		"duration_ms": {"type": "number"},
		"run_id": {"type": "string"},
		"session": {"enum": ["fresh", "new", "kept", "rolled_back", "lost", "reset"]}
	},
	"required": ["ok", "stdout", "stderr", "error", "artifacts", "duration_ms", "run_id", "executor"],
	"oneOf": [{"required": ["value"]}, {"required": ["folded"]}]
}`

// outcome is a run's result as execute_code answers with it: an executor.Result
// in which folded may stand in the place of the value.
type outcome struct {
	OK              bool                `json:"ok"`
	Value           json.RawMessage     `json:"value,omitempty"`
	Folded          *folded             `json:"folded,omitempty"`
	Stdout          string              `json:"stdout"`
	Stderr          string              `json:"stderr"`
	Error           *executor.RunError  `json:"error"`
	Artifacts       []executor.Artifact `json:"artifacts"`
	DurationMS      float64             `json:"duration_ms"`
	RunID           string              `json:"run_id"`
	Executor        string              `json:"executor"`
	OutputTruncated bool                `json:"output_truncated,omitempty"`
	Tampered        bool                `json:"tampered,omitempty"`
	Session         string              `json:"session,omitempty"`
	SessionNote     string              `json:"session_note,omitempty"`

	// traced says that the traceback has the message already.
	traced bool
}

// outcome folds what is too large in a result. The answer has its value once in
// each form, and a folded one in the structured form only: the text says how to
// read it.
func (s *Server) outcome(res *executor.Result) (*answer, error) {
	o := outcome{
		OK: res.OK, Value: res.Value, Stdout: s.cutOutput(res.Stdout), Stderr: s.cutOutput(res.Stderr), Error: res.Error,
		Artifacts: res.Artifacts, DurationMS: res.DurationMS, RunID: res.RunID, Executor: res.Executor,
		OutputTruncated: res.OutputTruncated, Tampered: res.Tampered, Session: res.Session, SessionNote: res.SessionNote,
	}
	if len(o.Value) == 0 {
		o.Value = json.RawMessage("null")
	}
	if o.Artifacts == nil {
		o.Artifacts = []executor.Artifact{}
	}
	if e := res.Error; e != nil {
		o.traced = strings.Contains(e.Traceback, e.Message)
		o.Error = &executor.RunError{Type: e.Type, Builtin: e.Builtin, Message: e.Message, Traceback: s.cutOutput(e.Traceback)}
		if !o.traced {
			o.Error.Message = s.cutOutput(e.Message)
		} else if s.o.Fold.Enabled && len(e.Message) > s.o.Fold.threshold() {
			head, tail, _ := cutText(e.Message, s.o.Fold.threshold())
			o.Error.Message = head + " … " + tail
		}
	}
	warning := ""
	if o.OK {
		if o.Folded, warning = s.fold(o.Value); o.Folded != nil {
			o.Value = nil
		}
	}
	a, err := newAnswer(o, o.text(warning))
	if err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	a.failed = !o.OK
	if o.Folded != nil {
		a.meta = o.Folded.meta()
	}
	return a, nil
}

// text is a result for a reader: the value first, then what else there is.
func (o *outcome) text(warning string) string {
	var parts []string
	switch {
	case o.Folded != nil:
		parts = append(parts, o.Folded.line("The value"))
	case o.OK:
		parts = append(parts, string(o.Value))
	case o.Error != nil:
		parts = append(parts, o.errorText()...)
	}
	if warning != "" {
		parts = append(parts, warning)
	}
	if o.Stdout != "" {
		parts = append(parts, "stdout:\n"+strings.TrimSuffix(o.Stdout, "\n"))
	}
	if o.Stderr != "" {
		parts = append(parts, "stderr:\n"+strings.TrimSuffix(o.Stderr, "\n"))
	}
	if o.OutputTruncated {
		parts = append(parts, "(the output was cut at its limit: print less, or save it with save_result)")
	}
	if o.SessionNote != "" {
		parts = append(parts, "session: "+o.SessionNote)
	}
	return strings.Join(parts, "\n\n")
}

func (o *outcome) errorText() []string {
	e := o.Error
	trace := strings.TrimSpace(e.Traceback)
	if trace == "" {
		return []string{e.Type + ": " + e.Message}
	}
	if !o.traced {
		return []string{trace, e.Type + ": " + e.Message}
	}
	return []string{trace}
}
