package sdk

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
)

// tool is one registered tool, with its types erased.
type tool struct {
	name, description string
	hints             []hint
	in, out           reflect.Type
	// call decodes the arguments, runs the handler and appends the answer's value to dst.
	call func(ctx context.Context, arguments, dst []byte) ([]byte, error)
}

type hint struct{ name, json string }

// Option says more about a tool.
type Option func(*tool)

// Title is a name for people to read.
func Title(title string) Option {
	return func(t *tool) { t.hints = append(t.hints, hint{"title", string(quote(title))}) }
}

// ReadOnly says that the tool changes nothing.
func ReadOnly() Option {
	return func(t *tool) { t.hints = append(t.hints, hint{"readOnlyHint", "true"}) }
}

// Destructive says that the tool may delete or overwrite something.
func Destructive() Option {
	return func(t *tool) { t.hints = append(t.hints, hint{"destructiveHint", "true"}) }
}

// Idempotent says that calling the tool again with the same arguments changes nothing more.
func Idempotent() Option {
	return func(t *tool) { t.hints = append(t.hints, hint{"idempotentHint", "true"}) }
}

// OpenWorld says that the tool talks to things outside, such as a web service.
func OpenWorld() Option {
	return func(t *tool) { t.hints = append(t.hints, hint{"openWorldHint", "true"}) }
}

// Tool offers a function as a tool. Call it from an init function. It panics if the name is taken.
//
// In is a struct whose fields are the arguments, or json.RawMessage to get them as they were sent. These tags count:
//
//	json:"name,omitempty"            the argument's name, as in encoding/json
//	jsonschema:"minimum=1,enum=a"    what is allowed: minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf,
//	                                 minLength, maxLength, pattern, format, minItems, maxItems, uniqueItems, enum (once
//	                                 for each value), default, example, title, description; \, is a comma in a value
//	jsonschema_description:"…"       what it means, in words
//
// An argument is optional if it has omitempty, omitzero or a default, or is a pointer. A default is filled in before the
// handler runs. *big.Int, json.Number and json.RawMessage carry numbers of any size exactly, and so does a field of type
// any, which gets its numbers as json.Number.
//
// Out is the answer: anything that encoding/json can encode. A type with an AppendJSON method ([Appender]) encodes
// itself. A string becomes an MCP text.
//
// An error's kind decides what a snippet can catch: [ValueError] and its siblings, anything else is a RuntimeError. A
// panic is an error like any other.
func Tool[In, Out any](name, description string, handler func(ctx context.Context, in In) (Out, error), options ...Option) {
	t := &tool{name: name, description: description, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out]()}
	for _, option := range options {
		option(t)
	}
	t.call = func(ctx context.Context, arguments, dst []byte) (answer []byte, err error) {
		var in In
		if err := decodeArguments(arguments, &in); err != nil {
			return dst, err
		}
		defer func() {
			if v := recover(); v != nil {
				debug.PrintStack()
				answer, err = dst, fmt.Errorf("panic: %v", v)
			}
		}()
		out, err := handler(ctx, in)
		if err != nil {
			return dst, err
		}
		return appendValue(dst, out)
	}
	register(t)
}

// The tools of this module, in the order in which they were registered. A module's instance is single-threaded, and
// init functions run one after the other.
var (
	tools  []*tool
	byName = map[string]*tool{}
)

func register(t *tool) {
	if byName[t.name] != nil {
		panic(fmt.Sprintf("sdk.Tool: two tools are called %q", t.name))
	}
	tools, byName[t.name] = append(tools, t), t
}
