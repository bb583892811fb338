package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // a run failed, a check found something broken
	exitUsage  = 2 // the command can't be carried out as it was given
)

// app is the command line with what it reads and writes, so that tests can run
// it in their own process.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	page           http.Handler // replaces the embedded executor page; nil outside tests

	// The flags that every command has.
	configFile string
	logLevel   string

	// unwritten is the first failure to write to stdout.
	unwritten error

	// running is set once a command's own code runs. What fails before that is
	// the command line.
	running bool
}

// exitError ends the program with a code. Its error may be nil: everything has
// been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// errEnded is what a command returns that runs until a signal ends it: that's
// how it's meant to end.
var errEnded = errors.New("ended by a signal")

// usage is an error about how the command was given.
func usage(format string, a ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, a...)}
}

// main runs one command line and returns the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if errors.Is(err, errEnded) {
		return exitOK
	}
	if signal := interruption(ctx); signal != 0 {
		// By convention, and so that a shell script stops as well.
		return 128 + signal
	}
	if err == nil {
		err = a.unwritten
	}
	if err == nil {
		return exitOK
	}
	code := exitFailed
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		code = exit.code
		if exit.err == nil {
			return code
		}
	case !a.running:
		code = exitUsage
	}
	a.complain("toolplane: %s\n", plain(strings.TrimSpace(err.Error())))
	if code == exitUsage && !a.running {
		a.complain("See: %s --help\n", cmd.CommandPath())
	}
	return code
}

const rootLong = `Toolplane runs short Python snippets in a browser sandbox that has no network and
no secrets. Snippets call tools of WebAssembly plugins, keep large data on the
host under a handle, and return only what is worth reading.`

const rootExample = `  toolplane demo                              see what it does, with nothing to set up
  toolplane run snippet.py                    run a Python file
  toolplane serve mcp                         serve an agent over stdio
  toolplane init && toolplane config check    make a configuration and look at it
  toolplane doctor                            find out why something doesn't work`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "toolplane",
		Short:             "Python snippets that call plugins and keep large data out of the way",
		Long:              rootLong,
		Example:           rootExample,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE:              group,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			_, err := a.level("")
			return err
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	flags := root.PersistentFlags()
	flags.StringVarP(&a.configFile, "config", "c", "", "configuration file (default: $TOOLPLANE_CONFIG, ./toolplane.toml, or the user's own)")
	flags.StringVar(&a.logLevel, "log-level", "", "debug, info, warn or error, to stderr (default: info for serve, else warn)")
	root.AddCommand(a.demo(), a.run(), a.serve(), a.plugin(), a.config(), a.init(), a.token(), a.doctor(), a.version())
	for _, c := range root.Commands() {
		a.markRunning(c)
	}
	return root
}

// markRunning notes when a command's own code begins.
func (a *app) markRunning(c *cobra.Command) {
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			a.running = true
			return run(c, args)
		}
	}
	for _, sub := range c.Commands() {
		a.markRunning(sub)
	}
}

// group is what a command does that only has subcommands.
func group(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath())
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	} else {
		var names []string
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "help" {
				names = append(names, sub.Name())
			}
		}
		text += "; there are: " + strings.Join(names, ", ")
	}
	return usage("%s", text)
}
