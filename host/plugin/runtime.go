package plugin

import (
	"context"
	"errors"
	"log/slog"
)

// Runtime opens plugins and closes them. It is safe for concurrent use.
type Runtime struct {
	log *slog.Logger
}

// NewRuntime returns a Runtime. The caller closes it.
func NewRuntime(_ context.Context, o Options) (*Runtime, error) {
	return &Runtime{log: o.Logger}, nil
}

// Close closes every plugin that is still open.
func (r *Runtime) Close(context.Context) error { return nil }

// Open compiles a module, asks it for its tools and returns it ready to be called.
func (r *Runtime) Open(context.Context, Spec) (*Plugin, error) {
	return nil, errors.New("plugins can't be opened yet")
}

// Inspect reports what a module offers and asks for.
func (r *Runtime) Inspect(context.Context, []byte) (Report, error) {
	return Report{}, errors.New("plugins can't be inspected yet")
}
