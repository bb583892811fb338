package host

import (
	"context"
	"fmt"

	"github.com/toolplane/toolplane/host/mcpserver"
)

// NewMCP makes the server of one MCP client, whose data is kept apart under scope
// and subject.
func (h *Host) NewMCP(scope, subject string) *mcpserver.Server {
	return mcpserver.New(h.mcpOptions(scope, subject))
}

// mcpOptions is what every MCP server of this host stands on, whatever its
// transport.
func (h *Host) mcpOptions(scope, subject string) mcpserver.Options {
	return mcpserver.Options{
		Version:       h.version,
		Runner:        h,
		Registry:      h.registry,
		Describe:      h.bridge.Describe,
		Wait:          h.Missing,
		Scope:         scope,
		Subject:       subject,
		RunTimeout:    h.cfg.Executor.RunTimeout,
		MaxRunTimeout: h.cfg.Executor.MaxRunTimeout,
		Store:         h.results != nil,
		Linger:        h.cfg.Server.ShutdownTimeout,
		Logger:        h.logger.With("part", "mcp"),
	}
}

// Missing waits, as [Host.WaitPlugins] does, for plugins that are being loaded and
// says in sentences which of them aren't there.
func (h *Host) Missing(ctx context.Context) []string {
	var out []string
	for _, p := range h.WaitPlugins(ctx) {
		switch p.State {
		case PluginFailed:
			out = append(out, fmt.Sprintf("The plugin %s isn't available: %s", p.Name, p.Error))
		case PluginLoading:
			out = append(out, fmt.Sprintf("The plugin %s is still being loaded; ask again later.", p.Name))
		}
	}
	return out
}
