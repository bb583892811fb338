package capability

import (
	"context"
	"encoding/json"
)

// Capability describes something that a snippet can call.
type Capability struct {
	Name         string          `json:"name"` // canonical, such as plugin:issues/list
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`  // JSON Schema 2020-12 unless $schema says otherwise; empty: any object
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"` // shown, not enforced
	Tags         []string        `json:"tags,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"` // MCP tool annotations, carried as sent
	Hidden       bool            `json:"-"`                     // resolvable by name, but not listed, searched or bound
}

// Invocation is one call of a capability, after the bridge has checked it.
type Invocation struct {
	Scope      string
	Subject    string
	RunID      string
	Capability string
	Arguments  json.RawMessage
	Progress   func(done, total float64, message string) // may be nil
}

// Answer is what a provider answered.
type Answer struct {
	Value   json.RawMessage // one JSON value; never empty
	Content json.RawMessage // the MCP content array as sent; may be nil
}

// Provider runs capabilities.
type Provider interface {
	// ID is the prefix of the names it provides, such as "plugin:issues".
	ID() string
	// Call runs one capability and returns when ctx ends at the latest.
	Call(ctx context.Context, inv Invocation) (Answer, error)
}
