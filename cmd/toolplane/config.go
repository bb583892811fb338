package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host"
)

type configOptions struct {
	all, json, noPlugins bool
}

func (a *app) config() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Look at the configuration",
		Args:  cobra.ArbitraryArgs,
		RunE:  group,
	}
	var o configOptions
	check := &cobra.Command{
		Use:   "check",
		Short: "Say which configuration is used and what it means",
		Long: `Finds the configuration as every command does (--config, $TOOLPLANE_CONFIG,
./toolplane.toml, the user's configuration folder), checks it, and says which one
it is and what it means. It loads the plugins to list their tools, without access
to any host, and opens no connection.

Exit codes: 0 when the configuration and its plugins can be used, else 1.`,
		Example: `  toolplane config check
  toolplane config check --all
  toolplane config check --config ./other.toml --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.checkConfig(c.Context(), o) },
	}
	flags := check.Flags()
	flags.BoolVar(&o.all, "all", false, "show every setting with its meaning, also those that have their defaults")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	flags.BoolVar(&o.noPlugins, "no-plugins", false, "don't load the plugins")
	c.AddCommand(check)
	return c
}

// configReport is what "config check --json" prints.
type configReport struct {
	OK       bool               `json:"ok"`
	Path     string             `json:"path"`
	Origin   string             `json:"origin"`
	Missed   []string           `json:"missed,omitempty"`
	Problems []string           `json:"problems,omitempty"`
	Warnings []string           `json:"warnings,omitempty"`
	Settings []config.Row       `json:"settings,omitempty"`
	Plugins  *host.PluginReport `json:"plugins,omitempty"`
}

func (a *app) checkConfig(ctx context.Context, o configOptions) error {
	source := config.Environment(a.configFile)
	source.Env = a.getenv(config.EnvVar)
	cfg, found, err := config.Load(source)
	report := configReport{Path: found.Path, Origin: found.Origin, Missed: found.Missed}
	if err != nil {
		var problems config.Problems
		if errors.As(err, &problems) {
			for _, p := range problems {
				report.Problems = append(report.Problems, p.String())
			}
		} else {
			report.Problems = []string{err.Error()}
		}
		if o.json {
			_ = a.printJSON(report)
			return &exitError{code: exitFailed}
		}
		return &exitError{exitFailed, fmt.Errorf("the configuration can't be used:\n%w", err)}
	}
	report.OK = true
	report.Settings = config.Describe(cfg, found)
	for _, w := range found.Warnings {
		report.Warnings = append(report.Warnings, w.String())
	}
	if !o.noPlugins {
		plugins, err := host.CheckPlugins(ctx, cfg, host.Options{CacheDir: host.DefaultCacheDir()})
		if err != nil {
			return err
		}
		report.Plugins = &plugins
		for _, pattern := range plugins.Unmatched {
			report.Warnings = append(report.Warnings, fmt.Sprintf("mcp.expose: no capability fits %q, so it exposes nothing", pattern))
		}
		for _, p := range plugins.Plugins {
			report.OK = report.OK && p.State == host.PluginReady
		}
	}
	if o.json {
		if err := a.printJSON(report); err != nil {
			return err
		}
	} else {
		a.printConfig(cfg, report, o.all)
	}
	if !report.OK {
		return &exitError{code: exitFailed}
	}
	return nil
}

func (a *app) printConfig(cfg *config.Config, r configReport, all bool) {
	color := a.palette(a.stdout)
	if r.Path == "" {
		a.printf("Configuration: %s; no file was found.\n", color.bold(r.Origin))
	} else {
		a.printf("Configuration: %s (from %s)\n", color.bold(r.Path), r.Origin)
	}
	for _, m := range r.Missed {
		a.printf("  looked before at %s: not there\n", m)
	}
	for _, w := range r.Warnings {
		a.printf("Warning: %s\n", w)
	}
	a.printf("\nWhat it means:\n")
	for _, line := range meaning(cfg) {
		a.printf("  %s\n", line)
	}
	a.printSettings(r.Settings, all)
	if r.Plugins != nil {
		a.printPluginReport(*r.Plugins)
	}
}

// meaning says in sentences what a configuration makes of the host.
func meaning(c *config.Config) []string {
	reach := "from this machine only"
	if !config.IsLoopback(c.Server.Listen) {
		reach = "from other machines too, without encryption"
	}
	lines := []string{
		fmt.Sprintf("serve listens on %s, reachable %s.", c.Server.Listen, reach),
		fmt.Sprintf("A run has %s (at most %s when it asks), %d calls and %s of output; %d run at once.",
			short(c.Executor.RunTimeout.String()), short(c.Executor.MaxRunTimeout.String()), c.Executor.MaxCalls, c.Executor.MaxOutputBytes, c.Executor.MaxConcurrentRuns),
	}
	if s := c.Session; s.Enabled {
		lines = append(lines, fmt.Sprintf("The runs of a scope share a namespace of at most %d MiB; %d such sessions are kept, each until nobody has used it for %s.", s.MaxMemoryMB, s.MaxSessions, short(s.IdleTTL.String())))
	} else {
		lines = append(lines, "Every run has a pristine interpreter: sessions are turned off.")
	}
	if r := c.Results; r.Enabled {
		lines = append(lines, fmt.Sprintf("save_result keeps %d values of at most %s, %s in all, for %s, in memory.", r.MaxEntries, r.MaxEntryBytes, r.MaxTotalBytes, short(r.TTL.String())))
	} else {
		lines = append(lines, "save_result is turned off.")
	}
	if c.Fold.Enabled && c.Results.Enabled {
		lines = append(lines, fmt.Sprintf("An answer above %s reaches an agent as a preview with a handle.", c.Fold.ThresholdBytes))
	} else {
		lines = append(lines, "Answers reach an agent whole, however large.")
	}
	if len(c.Plugins) == 0 {
		lines = append(lines, `There's no plugin, so that snippets have nothing to call; "toolplane init" writes a file with the demo plugin.`)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		p := c.Plugins[name]
		if !p.Enabled {
			lines = append(lines, fmt.Sprintf("Plugin %s is turned off.", name))
			continue
		}
		lines = append(lines, fmt.Sprintf("Plugin %s (%s) may reach %s and use %s; %d MiB, %s a call.",
			name, p.Source, list(p.AllowedHosts, "no host"), list(slices.Sorted(maps.Keys(p.AllowedPaths)), "no folder"), p.MemoryMB, short(p.Timeout.String())))
	}
	return lines
}

func list(items []string, none string) string {
	if len(items) == 0 {
		return none
	}
	return strings.Join(items, ", ")
}

// short drops the zero parts of a duration's text: 1h, not 1h0m0s.
func short(duration string) string {
	if s, ok := strings.CutSuffix(duration, "m0s"); ok {
		duration = s + "m"
	}
	if s, ok := strings.CutSuffix(duration, "h0m"); ok {
		duration = s + "h"
	}
	return duration
}

func (a *app) printSettings(rows []config.Row, all bool) {
	color := a.palette(a.stdout)
	if !all {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r config.Row) bool { return r.Line == 0 })
		if len(rows) == 0 {
			a.printf("\nEvery setting has its default; --all shows them.\n")
			return
		}
		a.printf("\nSettings that the file makes (--all shows the defaults too):\n")
	}
	table := ""
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	defer func() { _ = w.Flush() }()
	for _, r := range rows {
		if r.Table != table {
			_ = w.Flush()
			table = r.Table
			a.printf("[%s]\n", table)
		}
		from := "default"
		if r.Line > 0 {
			from = fmt.Sprintf("line %d", r.Line)
		}
		if all {
			allowed := ""
			if r.Allowed != "" {
				allowed = " Allowed: " + r.Allowed + "."
			}
			_, _ = fmt.Fprintf(w, "  %s = %s\t%s\n%s\n", r.Key, r.Value, from, color.dim("      "+r.Meaning+allowed))
			continue
		}
		_, _ = fmt.Fprintf(w, "  %s = %s\t%s\n", r.Key, r.Value, from)
	}
}

func (a *app) printPluginReport(r host.PluginReport) {
	color := a.palette(a.stdout)
	if len(r.Plugins) > 0 {
		a.printf("\nPlugins, as they loaded:\n")
	}
	for _, p := range r.Plugins {
		if p.State != host.PluginReady {
			text := p.Error
			if text == "" {
				text = "loading it took too long"
			}
			a.printf("  %s %s: %s\n", color.red("broken"), p.Name, plain(text))
			continue
		}
		a.printf("  %s %s\n", color.green("ok"), p.Name)
		for _, b := range r.Capabilities {
			if slices.Contains(p.Tools, b.Name) {
				a.printf("      %s\n", plain(b.Call))
			}
		}
		for _, problem := range p.Problems {
			a.printf("      problem: %s\n", plain(problem))
		}
	}
	for _, l := range r.LeftOut {
		a.printf("  note: %s: %s\n", l.Name, l.Problem)
	}
}
