package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host"
)

// load finds and reads the configuration, and prints its warnings.
func (a *app) load() (*config.Config, config.Found, error) {
	source := config.Environment(a.configFile)
	source.Env = a.getenv(config.EnvVar)
	cfg, found, err := config.Load(source)
	if err != nil {
		return nil, found, &exitError{exitUsage, fmt.Errorf("the configuration can't be used:\n%w", err)}
	}
	for _, w := range found.Warnings {
		a.complain("toolplane: warning: %s\n", w)
	}
	return cfg, found, nil
}

// level is the log level: that of the flag, or else the command's own.
func (a *app) level(unset string) (slog.Level, error) {
	text := a.logLevel
	if text == "" {
		text = unset
	}
	switch strings.ToLower(text) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn", "":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, usage("--log-level: %q isn't a level; there are debug, info, warn, error", text)
}

// logger writes to stderr.
func (a *app) logger(unset string) (*slog.Logger, error) {
	level, err := a.level(unset)
	if err != nil {
		return nil, err
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level})), nil
}

// pluginFlag adds --plugin, whose values withPlugins then adds to a
// configuration.
func pluginFlag(flags *pflag.FlagSet, into *[]string) {
	flags.StringArrayVarP(into, "plugin", "p", nil, "add a plugin as NAME=FILE.wasm or NAME=builtin:issues, without any permission (repeatable)")
}

func withPlugins(cfg *config.Config, plugins []string) error {
	for _, text := range plugins {
		name, p, err := config.ParsePlugin(text, ".")
		if err != nil {
			return usage("--plugin: %w", err)
		}
		cfg.Plugins[name] = p
	}
	return nil
}

// open starts a host. The caller closes it with a.close.
func (a *app) open(ctx context.Context, cfg *config.Config, logLevel string, o host.Options) (*host.Host, error) {
	logger, err := a.logger(logLevel)
	if err != nil {
		return nil, err
	}
	o.Version = readVersion().Version
	o.Logger = logger
	o.CacheDir = host.DefaultCacheDir()
	o.Page = a.page
	h, err := host.New(ctx, cfg, o)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return h, nil
}

// close ends a host, in the time that its configuration gives it for that.
func (a *app) close(h *host.Host) {
	ctx, cancel := context.WithTimeout(context.Background(), h.Config().Server.ShutdownTimeout)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		a.complain("toolplane: ending took too long: %v\n", err)
	}
}

// noArgs refuses arguments, with a sentence in place of cobra's.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments, but there is %q", c.CommandPath(), args[0])
	}
	return nil
}
