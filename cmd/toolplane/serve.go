package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host"
)

type serveOptions struct {
	plugins     []string
	listen      string
	allowRemote bool
}

func (o *serveOptions) flags(c *cobra.Command) {
	flags := c.Flags()
	pluginFlag(flags, &o.plugins)
	flags.StringVarP(&o.listen, "listen", "l", "", "address and port, such as 127.0.0.1:7350 (default: that of the configuration)")
	flags.BoolVar(&o.allowRemote, "allow-remote", false, "permit an address that other machines can reach; the connection isn't encrypted")
}

// apply adds the flags to a configuration.
func (o *serveOptions) apply(cfg *config.Config) error {
	if o.listen != "" {
		cfg.Server.Listen = o.listen
	}
	cfg.Server.AllowRemote = cfg.Server.AllowRemote || o.allowRemote
	if err := cfg.Validate(); err != nil {
		return &exitError{exitUsage, err}
	}
	return withPlugins(cfg, o.plugins)
}

func (a *app) serve() *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve HTTP: agents at /mcp, the executor page, /ws and /healthz",
		Long: `Serves HTTP until it's interrupted: agents (/mcp, with a bearer token), the page
that runs Python (/executor/), its WebSocket (/ws) and the state of the host
(/healthz). It listens on this machine only, and answers requests that are
addressed to it by a name of its own.

An agent needs a token: toolplane token new NAME; or $TOOLPLANE_TOKEN, where that's
set for this command. Agents that start "toolplane serve mcp" with the same
configuration join this host by themselves.`,
		Example: `  toolplane serve
  toolplane serve --listen 127.0.0.1:0 --plugin issues=builtin:issues
  curl -s http://127.0.0.1:7350/healthz`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return group(c, args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return a.serveHTTP(c.Context(), o) },
	}
	o.flags(c)
	c.AddCommand(a.serveMCP())
	return c
}

func (a *app) serveHTTP(ctx context.Context, o serveOptions) error {
	cfg, found, err := a.load()
	if err != nil {
		return err
	}
	if err := o.apply(cfg); err != nil {
		return err
	}
	where, err := place(cfg, found)
	if err != nil {
		a.complain("toolplane: warning: this host can't be joined: %v\n", err)
	}
	h, end, err := a.openServing(ctx, cfg, where, "info", "")
	if err != nil {
		return err
	}
	defer end()
	from := found.Path
	if from == "" {
		from = found.Origin
	}
	a.printf("Toolplane %s listens on %s (configuration: %s)\n", readVersion().Version, h.URL(), from)
	a.printf("Agents: %s/mcp (a token: toolplane token new NAME)\n", h.URL())
	for _, p := range h.WaitPlugins(ctx) { // the log tells of those that failed
		if p.State == host.PluginReady {
			a.printf("Plugin %s: %s\n", p.Name, strings.Join(p.Tools, ", "))
		}
	}
	if ctx.Err() == nil {
		a.printf("Press Ctrl+C to end.\n")
	}
	select {
	case <-ctx.Done():
		return errEnded
	case <-h.Done():
		return h.Err()
	}
}
