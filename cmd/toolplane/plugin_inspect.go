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
	colour := a.palette(a.stdout)
	out := a.stdout
	memory := fmt.Sprintf("%d KiB at the start", r.Memory.Min>>10)
	if r.Memory.Max > 0 {
		memory += fmt.Sprintf(", at most %d KiB", r.Memory.Max>>10)
	}
	fmt.Fprintf(out, "%s\n  size    %d bytes\n  sha256  %s\n  shape   %s\n  memory  %s\n", colour.bold(name), r.Bytes, r.SHA256, r.Shape, memory)

	fmt.Fprintf(out, "\n%s\n", colour.bold(fmt.Sprintf("Tools (%d)", len(r.Tools))))
	for _, t := range r.Tools {
		fmt.Fprintf(out, "  %s\n", t.Name)
		for _, line := range strings.Split(strings.TrimSpace(t.Description), "\n") {
			if line != "" {
				fmt.Fprintf(out, "      %s\n", line)
			}
		}
		t.Name = "plugin:" + pluginName + "/" + t.Name
		fmt.Fprintf(out, "      %s\n", colour.dim(t.CallShape()))
	}

	fmt.Fprintf(out, "\n%s\n", colour.bold("What it can make use of, if it's granted"))
	if len(r.Asks) == 0 {
		fmt.Fprintln(out, "  nothing")
	}
	for _, ask := range r.Asks {
		fmt.Fprintf(out, "  %s %s\n", ask.What, colour.dim("("+ask.Why+")"))
		if ask.Grant != "" {
			fmt.Fprintf(out, "      %s\n", ask.Grant)
		}
	}
	for _, group := range []struct {
		title string
		list  []plugin.Function
	}{{"Exports", r.Exports}, {"Imports", r.Imports}} {
		fmt.Fprintf(out, "\n%s\n", colour.bold(fmt.Sprintf("%s (%d)", group.title, len(group.list))))
		for _, f := range group.list {
			fmt.Fprintf(out, "  %s\n", f)
		}
	}
	if len(r.Problems) > 0 {
		fmt.Fprintf(out, "\n%s\n", colour.bold("Problems"))
		for _, p := range r.Problems {
			fmt.Fprintf(out, "  %s\n", colour.red(p))
		}
	}
}
