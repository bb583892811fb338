package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host"
	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/plugin"
)

type callOptions struct {
	args    string
	hosts   []string
	paths   []string
	config  []string
	timeout time.Duration
	memory  int
	content bool
}

func (a *app) pluginCall() *cobra.Command {
	var o callOptions
	c := &cobra.Command{
		Use:   "call FILE TOOL",
		Short: "Call one tool of a plugin",
		Long: `Calls one tool of a plugin and prints its answer as JSON, without a browser. The
arguments are checked against the tool's schema first, as for a snippet.
FILE is a .wasm file, "builtin:issues", or the name of a plugin in the
configuration, whose settings then hold; the flags below add to them.

Exit codes: 0 when the tool answered, 1 when it failed, 2 for what can't be done
as given.`,
		Example: `  toolplane plugin call builtin:issues list --args '{"count": 2}'
  toolplane plugin call ./plugin.wasm fetch --args @request.json --allow-host api.example.org
  echo '{"id": 1}' | toolplane plugin call ./plugin.wasm get --args -`,
		Args: exactly(2, "the plugin's file and the tool's name"),
		RunE: func(c *cobra.Command, args []string) error { return a.callTool(c.Context(), o, args[0], args[1]) },
	}
	flags := c.Flags()
	flags.StringVarP(&o.args, "args", "a", "{}", "the arguments as a JSON object, @FILE, or - for standard input")
	flags.StringArrayVar(&o.hosts, "allow-host", nil, "a host that the plugin may reach by HTTP (repeatable)")
	flags.StringArrayVar(&o.paths, "allow-path", nil, "a folder that the plugin may use, as [ro:]FOLDER=/PATH/IT/SEES (repeatable)")
	flags.StringArrayVar(&o.config, "set", nil, "a setting of the plugin, as NAME=VALUE (repeatable)")
	flags.DurationVar(&o.timeout, "timeout", 0, "time limit of the call, such as 5s")
	flags.IntVar(&o.memory, "memory-mb", 0, "memory that the plugin may use, in MiB")
	flags.BoolVar(&o.content, "content", false, "print the MCP content that the plugin sent, instead of the value that a snippet gets")
	return c
}

func (a *app) callTool(ctx context.Context, o callOptions, file, tool string) error {
	args, err := a.readArguments(ctx, o.args)
	if err != nil {
		return err
	}
	name, p, err := a.named(file)
	if err != nil {
		return err
	}
	if err := o.apply(&p); err != nil {
		return err
	}
	spec, err := host.PluginSpec(name, p)
	if err != nil {
		return usage("%w", err)
	}
	return a.withRuntime(ctx, func(r *plugin.Runtime, logger *slog.Logger) error {
		opened, err := r.Open(ctx, spec)
		if err != nil {
			return err
		}
		registry := capability.NewRegistry()
		if err := registry.Put(opened, opened.Capabilities()); err != nil {
			logger.Warn("tools were left out", "reason", err)
		}
		name := tool
		if !strings.Contains(name, ":") {
			name = opened.ID() + "/" + tool
		}
		if _, _, err := registry.Lookup(name); err != nil {
			return usage("%s has no tool %q; it has: %s", file, tool, strings.Join(toolNames(opened), ", "))
		}
		if o.content {
			return a.callForContent(ctx, registry, opened, name, args)
		}
		value, failure := bridge.New(bridge.Options{Registry: registry, Logger: logger}).Call(ctx, bridge.Caller{Scope: "plugin-call"}, name, args)
		if failure != nil {
			return a.callFailed(failure)
		}
		a.printf("%s\n", indent(value))
		return nil
	})
}

// callForContent asks the plugin itself, since the bridge passes values only.
func (a *app) callForContent(ctx context.Context, registry *capability.Registry, opened *plugin.Plugin, name string, args json.RawMessage) error {
	if err := registry.ValidateArguments(name, args); err != nil {
		return a.callFailed(capability.AsError(err))
	}
	answer, err := opened.Call(ctx, capability.Invocation{Scope: "plugin-call", Capability: name, Arguments: args})
	if err != nil {
		return a.callFailed(capability.AsError(err))
	}
	if answer.Content == nil {
		answer.Content = json.RawMessage("[]")
	}
	a.printf("%s\n", indent(answer.Content))
	return nil
}

// callFailed shows a failure as a snippet would see it.
func (a *app) callFailed(e *capability.Error) error {
	kind := e.Type
	if kind != string(e.Builtin) {
		kind = fmt.Sprintf("%s (a %s)", e.Type, e.Builtin)
	}
	return &exitError{exitFailed, fmt.Errorf("%s: %w", kind, e)}
}

func (a *app) readArguments(ctx context.Context, text string) (json.RawMessage, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if text != "-" && !isFile {
		return json.RawMessage(text), nil
	}
	raw, err := a.readFile(ctx, name, maxInputBytes)
	if err != nil {
		return nil, usage("--args: %w", err)
	}
	return raw, nil
}

// apply adds what the flags grant to a plugin's configuration.
func (o callOptions) apply(p *config.Plugin) error {
	p.AllowedHosts = append(p.AllowedHosts[:len(p.AllowedHosts):len(p.AllowedHosts)], o.hosts...)
	p.AllowedPaths = maps.Clone(p.AllowedPaths)
	for _, text := range o.paths {
		folder, guest, ok := strings.Cut(text, "=")
		if !ok || folder == "" || !strings.HasPrefix(guest, "/") {
			return usage("--allow-path: %q isn't [ro:]FOLDER=/PATH, such as ro:./data=/data", text)
		}
		bare, ro := strings.CutPrefix(folder, "ro:")
		bare, err := filepath.Abs(bare)
		if err != nil {
			return usage("--allow-path: %w", err)
		}
		if ro {
			bare = "ro:" + bare
		}
		p.AllowedPaths[bare] = guest
	}
	p.Config = maps.Clone(p.Config)
	for _, text := range o.config {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return usage("--set: %q isn't NAME=VALUE", text)
		}
		p.Config[key] = value
	}
	if o.timeout != 0 {
		p.Timeout = o.timeout
	}
	if o.memory != 0 {
		p.MemoryMB = o.memory
	}
	return nil
}

func toolNames(p *plugin.Plugin) []string {
	var out []string
	for _, c := range p.Capabilities() {
		out = append(out, strings.TrimPrefix(c.Name, p.ID()+"/"))
	}
	return out
}
