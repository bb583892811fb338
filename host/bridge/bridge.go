package bridge

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/result"
)

// Caller is on whose behalf a call is made.
type Caller struct{ Scope, Subject, RunID string }

// Options wire a Bridge.
type Options struct {
	Registry *capability.Registry
	Results  *result.Store // nil: the store is turned off
	Logger   *slog.Logger  // nil: silent
}

// Bridge is the sole dispatch authority.
type Bridge struct{ o Options }

// New makes a Bridge.
func New(o Options) *Bridge { return &Bridge{o} }

// Call runs a capability for a caller.
func (b *Bridge) Call(ctx context.Context, c Caller, name string, args json.RawMessage) (json.RawMessage, *capability.Error) {
	_, p, err := b.o.Registry.Lookup(name)
	if err != nil {
		return nil, capability.AsError(err)
	}
	a, err := p.Call(ctx, capability.Invocation{Scope: c.Scope, Subject: c.Subject, RunID: c.RunID, Capability: name, Arguments: args})
	if err != nil {
		return nil, capability.AsError(err)
	}
	return a.Value, nil
}

// Describe resolves a name to its capability, hidden ones included.
func (b *Bridge) Describe(name string) (capability.Capability, error) {
	c, _, err := b.o.Registry.Lookup(name)
	return c, err
}
