package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host"
	"github.com/toolplane/toolplane/host/plugin"
)

func (a *app) plugin() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Look at plugins and try them",
		Args:  cobra.ArbitraryArgs,
		RunE:  group,
	}
	c.AddCommand(a.pluginInspect(), a.pluginCall())
	return c
}

// named resolves what a plugin command was given: a file, "builtin:NAME", or the
// name of a plugin in the configuration, whose settings then hold.
func (a *app) named(what string) (name string, p config.Plugin, err error) {
	if strings.HasPrefix(what, config.BuiltinPrefix) {
		return strings.TrimPrefix(what, config.BuiltinPrefix), config.DefaultPlugin(what), nil
	}
	if _, err := os.Stat(what); err == nil {
		return nameOf(what), config.DefaultPlugin(what), nil
	}
	cfg, _, err := a.load()
	if err != nil {
		return "", config.Plugin{}, err
	}
	if p, ok := cfg.Plugins[what]; ok {
		return what, p, nil
	}
	return "", config.Plugin{}, usage(`%q is neither a file, nor a plugin of the configuration, nor "builtin:NAME"`, what)
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// nameOf makes a plugin's name of its file's, for messages.
func nameOf(file string) string {
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	name := strings.Trim(notInNames.ReplaceAllString(base, "_"), "_-")
	if name == "" {
		return "plugin"
	}
	return name[:min(len(name), 64)]
}

// withRuntime lends a plugin runtime to f.
func (a *app) withRuntime(ctx context.Context, f func(*plugin.Runtime, *slog.Logger) error) error {
	logger, err := a.logger("warn")
	if err != nil {
		return err
	}
	runtime, err := plugin.NewRuntime(ctx, plugin.Options{CacheDir: host.DefaultCacheDir(), Logger: logger})
	if err != nil {
		return err
	}
	defer func() {
		// A guest that can't be interrupted ends with the process.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = runtime.Close(ctx)
	}()
	return f(runtime, logger)
}
