package plugin

import (
	"context"
	"errors"

	"github.com/toolplane/toolplane/host/capability"
)

// Plugin is one opened module. It is safe for concurrent use.
type Plugin struct {
	id       string
	caps     []capability.Capability
	problems []string
}

// ID returns "plugin:NAME".
func (p *Plugin) ID() string { return p.id }

// Capabilities returns the plugin's tools, sorted by name.
func (p *Plugin) Capabilities() []capability.Capability { return p.caps }

// Problems says what was left out of Capabilities, and why.
func (p *Plugin) Problems() []string { return p.problems }

// Call runs one tool.
func (p *Plugin) Call(context.Context, capability.Invocation) (capability.Answer, error) {
	return capability.Answer{}, errors.New("plugins can't be called yet")
}

// Close ends the plugin.
func (p *Plugin) Close(context.Context) error { return nil }
