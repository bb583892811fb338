package capability

import (
	"context"
	"encoding/json"
)

// Capability describes something that a snippet can call. What a registry
// returns shares memory with it; don't write to it.
type Capability struct {
	// Name is canonical: plugin:issues/list. It begins with its provider's ID.
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// InputSchema is JSON Schema, 2020-12 unless its $schema says otherwise. Empty
	// means that any object is accepted.
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	// OutputSchema is checked to be a schema and shown; answers aren't held to it.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Tags         []string        `json:"tags,omitempty"`
	// Annotations are those of an MCP tool, carried as sent.
	Annotations json.RawMessage `json:"annotations,omitempty"`
	// Hidden keeps it out of lists, search, aliases and suggestions. It can be
	// looked up and called by its name.
	Hidden bool `json:"-"`
}

// Invocation is one call of a capability.
type Invocation struct {
	Scope      string // whose data it may touch
	Subject    string // who was authenticated in that scope; "" where nobody signs in
	RunID      string // which run calls, for logs; "" outside of runs
	Capability string // canonical name
	// Arguments is an object's JSON text that fits the input schema.
	Arguments json.RawMessage
	// Progress takes reports while the call runs; nil when nobody wants them.
	// total is 0 when it isn't known.
	Progress func(done, total float64, message string)
}

// Answer is what a capability answered.
type Answer struct {
	Value   json.RawMessage // one JSON value; never empty
	Content json.RawMessage // the MCP content array as sent; may be nil
}

// Provider runs capabilities. Its methods may be called at the same time from any
// goroutine.
type Provider interface {
	// ID is the kind and name of the provider, such as plugin:issues. The names of
	// its capabilities are the ID itself, or the ID with a slash and a tool. It
	// never changes.
	ID() string

	// Call runs one capability, and returns soon after ctx ends at the latest. A
	// failure that should be raised as something other than RuntimeError is an
	// *Error. Call doesn't write to the arguments and doesn't keep them.
	Call(ctx context.Context, inv Invocation) (Answer, error)
}
