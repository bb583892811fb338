package main

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/host"
	"github.com/toolplane/toolplane/host/plugin"
)

func (a *app) pluginInspect() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show a plugin's tools, exports, imports, and what it asks for",
		Long: `Shows what a plugin offers and what it asks for, without granting it anything.
FILE is a .wasm file, "builtin:issues", or the name of a plugin in the
configuration.`,
		Example: `  toolplane plugin inspect ./plugin.wasm
  toolplane plugin inspect builtin:issues --json`,
		Args: exactly(1, "the plugin's file"),
		RunE: func(c *cobra.Command, args []string) error {
			name, p, err := a.named(args[0])
			if err != nil {
				return err
			}
			wasm, err := host.ReadModule(p.Source)
			if err != nil {
				return usage("%s: %w", args[0], err)
			}
			return a.withRuntime(c.Context(), func(r *plugin.Runtime, _ *slog.Logger) error {
				report, err := r.Inspect(c.Context(), wasm)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(report)
				}
				a.printReport(args[0], name, report)
				return nil
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// exactly wants a number of arguments, and names what's missing.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("%s needs %s; it got %d arguments", c.CommandPath(), what, len(args))
		}
		return nil
	}
}

func (a *app) printReport(name, pluginName string, r plugin.Report) {
	color := a.palette(a.stdout)
	memory := fmt.Sprintf("%d KiB at the start", r.Memory.Min>>10)
	if r.Memory.Max > 0 {
		memory += fmt.Sprintf(", at most %d KiB", r.Memory.Max>>10)
	}
	a.printf("%s\n  size    %d bytes\n  sha256  %s\n  shape   %s\n  memory  %s\n", color.bold(name), r.Bytes, r.SHA256, r.Shape, memory)

	a.printf("\n%s\n", color.bold(fmt.Sprintf("Tools (%d)", len(r.Tools))))
	for _, t := range r.Tools {
		a.printf("  %s\n", plain(t.Name))
		for _, line := range strings.Split(strings.TrimSpace(t.Description), "\n") {
			if line != "" {
				a.printf("      %s\n", plain(line))
			}
		}
		t.Name = "plugin:" + pluginName + "/" + t.Name
		a.printf("      %s\n", color.dim(plain(t.CallShape())))
	}

	a.printf("\n%s\n", color.bold("What it can make use of, if it's granted"))
	if len(r.Asks) == 0 {
		a.printf("  nothing\n")
	}
	for _, ask := range r.Asks {
		a.printf("  %s %s\n", ask.What, color.dim(plain("("+ask.Why+")")))
		if ask.Grant != "" {
			a.printf("      %s\n", ask.Grant)
		}
	}
	for _, group := range []struct {
		title string
		list  []plugin.Function
	}{{"Exports", r.Exports}, {"Imports", r.Imports}} {
		a.printf("\n%s\n", color.bold(fmt.Sprintf("%s (%d)", group.title, len(group.list))))
		for _, f := range group.list {
			a.printf("  %s\n", plain(f.String()))
		}
	}
	if len(r.Problems) > 0 {
		a.printf("\n%s\n", color.bold("Problems"))
		for _, p := range r.Problems {
			a.printf("  %s\n", color.red(plain(p)))
		}
	}
}
