package host

import (
	"context"
	"fmt"
	"log/slog"
	"maps"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/mcpserver"
	"github.com/toolplane/toolplane/host/plugin"
)

// PluginReport is what [CheckPlugins] finds out.
type PluginReport struct {
	Plugins []PluginState `json:"plugins"`
	// Capabilities are what snippets could call, sorted by name.
	Capabilities []capability.Binding `json:"capabilities"`
	// LeftOut are capabilities without one of their Python names, and why.
	LeftOut []AliasProblem `json:"left_out,omitempty"`
	// Unmatched are patterns of [mcp] expose that no capability fits.
	Unmatched []string `json:"unmatched,omitempty"`
}

// AliasProblem says why a capability lacks a Python name. It can be called by
// call_tool all the same.
type AliasProblem struct {
	Name    string `json:"name"`
	Problem string `json:"problem"`
}

// CheckPlugins loads the enabled plugins of a configuration, asks them for their tools, and closes
// them again. They run without access to any host, so that nothing is connected
// to.
func CheckPlugins(ctx context.Context, cfg *config.Config, o Options) (PluginReport, error) {
	logger := slog.New(slog.DiscardHandler) // what goes wrong is in the report
	runtime, err := plugin.NewRuntime(ctx, plugin.Options{CacheDir: o.CacheDir, Logger: logger})
	if err != nil {
		return PluginReport{}, fmt.Errorf("check the plugins: %w", err)
	}
	offline := maps.Clone(cfg.Plugins)
	for name, p := range offline {
		p.AllowedHosts = nil
		offline[name] = p
	}
	registry := capability.NewRegistry()
	set := newPluginSet(pluginSetOptions{open: opener(runtime), close: runtime.Close, registry: registry, logger: logger})
	set.load(offline)
	set.wait(ctx)
	report := PluginReport{Plugins: set.states(), Capabilities: registry.Bindings()}
	for _, b := range report.Capabilities {
		if b.Problem != "" {
			report.LeftOut = append(report.LeftOut, AliasProblem{b.Name, b.Problem})
		}
	}
	if exposure := mcpserver.NewExposure(cfg.MCP.Expose, registry, logger); exposure != nil {
		report.Unmatched = exposure.Unmatched()
	}
	if err := set.end(ctx); err != nil {
		return report, fmt.Errorf("close the plugins after the check: %w", err)
	}
	return report, nil
}
