package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/jsonvalue"
	"github.com/toolplane/toolplane/host/result"
)

// Caller is on whose behalf a call is made. The host fills it in from what it
// knows about the run, never from what a page says.
type Caller struct {
	Scope   string // whose data the call may touch
	Subject string // who was authenticated in the scope; "" where nobody signs in
	RunID   string // the calling run, for logs
}

// Options wire a Bridge. New copies them.
type Options struct {
	Registry *capability.Registry // nil: an empty one
	Results  *result.Store        // nil: the result store is turned off
	Logger   *slog.Logger         // nil: nothing is logged
}

// Bridge dispatches calls. All methods may be called at the same time from any
// goroutine; a call runs on the caller's goroutine and the Bridge starts none, so
// there is nothing to close. Stop calls by their contexts before closing the
// providers and the store.
type Bridge struct {
	registry *capability.Registry
	results  *result.Store
	log      *slog.Logger
}

// New makes a Bridge.
func New(o Options) *Bridge {
	b := &Bridge{registry: o.Registry, results: o.Results, log: o.Logger}
	if b.registry == nil {
		b.registry = capability.NewRegistry()
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	return b
}

// Call runs a capability by its canonical name. args is an object's JSON text;
// nil and null stand for no arguments. The answer is one JSON value, exactly as
// its provider wrote it. The error, nil on success, has one of the six builtins,
// a type that is a Python identifier, and a message that isn't empty.
//
// Call returns when the provider does, which is soon after ctx ends at the latest.
func (b *Bridge) Call(ctx context.Context, c Caller, name string, args json.RawMessage) (json.RawMessage, *capability.Error) {
	answer, err := b.Answer(ctx, c, Request{Name: name, Arguments: args})
	return answer.Value, err
}

// Request is one call with what only a caller outside of runs has.
type Request struct {
	Name      string
	Arguments json.RawMessage
	// Progress takes reports while the call runs; nil when nobody wants them.
	Progress func(done, total float64, message string)
}

// Answer is [Bridge.Call] with the whole answer: its value, and the MCP content as
// the provider sent it.
func (b *Bridge) Answer(ctx context.Context, c Caller, r Request) (capability.Answer, *capability.Error) {
	start := time.Now()
	shown := r.Name
	answer, err := b.dispatch(ctx, c, &shown, r)
	attrs := []slog.Attr{
		slog.String("run", c.RunID), slog.String("capability", shown), slog.Duration("took", time.Since(start)),
		slog.Int("argument_bytes", len(r.Arguments)), slog.Int("answer_bytes", len(answer.Value)),
	}
	if err != nil {
		failure := presentable(err, shown)
		attrs = append(attrs, slog.String("builtin", string(failure.Builtin)), slog.String("type", failure.Type))
		b.log.LogAttrs(ctx, slog.LevelInfo, "call failed", attrs...)
		return capability.Answer{}, failure
	}
	b.log.LogAttrs(ctx, slog.LevelDebug, "call", attrs...)
	return answer, nil
}

// Describe resolves a name as Call does, the hidden capabilities of the store
// included. The error is an *capability.Error that raises LookupError.
func (b *Bridge) Describe(name string) (capability.Capability, error) {
	if s := findStoreVerb(name); s != nil {
		return s.describe(), nil
	}
	c, _, err := b.registry.Lookup(name)
	return c, err
}

// dispatch finds who answers to the name. It replaces an unknown one, which a
// snippet made up and which may hold anything, by a stand-in for the log.
func (b *Bridge) dispatch(ctx context.Context, c Caller, shown *string, r Request) (capability.Answer, error) {
	var none capability.Answer
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if s := findStoreVerb(r.Name); s != nil {
		value, err := b.callStore(c, s, r.Arguments)
		return capability.Answer{Value: value}, err
	}
	asked := r.Name
	_, provider, err := b.registry.Lookup(asked)
	if err != nil {
		*shown = "unknown"
		return none, err
	}
	args, err := b.checkArguments(c, asked, r.Arguments)
	if err != nil {
		return none, err
	}
	answer, err := b.run(ctx, provider, capability.Invocation{
		Scope: c.Scope, Subject: c.Subject, RunID: c.RunID, Capability: asked, Arguments: args, Progress: r.Progress,
	})
	if err != nil {
		return none, err
	}
	if err := jsonvalue.Check(answer.Value); err != nil {
		return none, capability.Errorf(capability.RuntimeError, failureType(asked),
			"the answer of %s isn't a value that can be passed on: %w", asked, rooted(err, "answer"))
	}
	if answer.Content != nil {
		if err := jsonvalue.Check(answer.Content); err != nil {
			return none, capability.Errorf(capability.RuntimeError, failureType(asked),
				"the content of the answer of %s can't be passed on: %w", asked, rooted(err, "content"))
		}
	}
	return answer, nil
}

// checkArguments puts stored values in the place of their handles and refuses what
// no provider should have to see.
func (b *Bridge) checkArguments(c Caller, name string, args json.RawMessage) (json.RawMessage, error) {
	refuse := func(format string, a ...any) error {
		e := capability.Errorf(capability.ValueError, capability.InvalidArgumentsError, format, a...)
		e.Message = "invalid arguments for " + name + ": " + e.Message
		if binding, ok := b.registry.Binding(name); ok {
			e.Message += ". Call it as: " + binding.Call
		}
		return e
	}
	args = orEmpty(args)
	if err := jsonvalue.Check(args); err != nil {
		return nil, refuse("%w", rooted(err, ""))
	}
	args, found, err := b.resolve(c, args)
	if err != nil {
		return nil, refuseHandle(name, err)
	}
	if found {
		// Each value is fine; but put inside others they may nest too deep.
		if err := jsonvalue.Check(args); err != nil {
			return nil, refuse("with the stored value in its place, %w", rooted(err, ""))
		}
	}
	if twice := repeated(args); twice != "" {
		return nil, refuse("the argument %q is given twice", twice)
	}
	if err := b.registry.ValidateArguments(name, args); err != nil {
		return nil, err
	}
	return args, nil
}

// orEmpty reads no arguments as an empty object.
func orEmpty(args json.RawMessage) json.RawMessage {
	if s := strings.TrimSpace(string(args[:min(len(args), 16)])); s == "" && len(args) <= 16 || s == "null" {
		return json.RawMessage("{}")
	}
	return args
}

// repeated returns an argument that is given twice. The schema's validator reads
// the last one and the provider may read the first, so that a check of one would
// let the other through. Deeper inside, equal names are the user's data.
func repeated(args json.RawMessage) string {
	members, err := jsonvalue.Members(args)
	if err != nil {
		return "" // not an object, which the schema's validator says better
	}
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		if seen[m.Name] {
			return m.Name
		}
		seen[m.Name] = true
	}
	return ""
}

// rooted renames the root of a path, which jsonvalue calls "value": for arguments
// the first step is a name that the caller knows, and needs no root.
func rooted(err error, root string) error {
	var e *jsonvalue.Error
	if !errors.As(err, &e) {
		return err
	}
	renamed := *e
	rest := strings.TrimPrefix(e.Path, "value")
	if root == "" {
		rest = strings.TrimPrefix(rest, ".")
	}
	if renamed.Path = root + rest; renamed.Path == "" {
		renamed.Path = "the arguments"
	}
	return &renamed
}
