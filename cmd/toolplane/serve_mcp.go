package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/host"
)

func (a *app) serveMCP() *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent: MCP over standard input and output",
		Long: `Speaks the Model Context Protocol over standard input and output, as agents
expect of a server that they start. It offers three tools: search_capabilities,
get_capability_schemas and execute_code. Standard output carries the protocol
only; everything else goes to standard error.

Its HTTP server takes the configured port, or any free one where that's in use, so
that several agents can each start one.`,
		Example: `  claude mcp add toolplane -- toolplane serve mcp --config /path/to/toolplane.toml
  toolplane serve mcp --plugin issues=builtin:issues`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.serveStdio(c.Context(), o) },
	}
	o.flags(c)
	return c
}

func (a *app) serveStdio(ctx context.Context, o serveOptions) error {
	out, err := a.protocolOutput()
	if err != nil {
		return err
	}
	cfg, _, err := a.load()
	if err != nil {
		return err
	}
	if err := o.apply(cfg); err != nil {
		return err
	}
	h, err := a.open(ctx, cfg, "warn", host.Options{AnyPort: true})
	if err != nil {
		return err
	}
	defer a.close(h)
	server := h.NewMCP("mcp-stdio", "")
	if err := server.Serve(ctx, io.NopCloser(a.stdin), out); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errEnded
	}
	return nil
}

// protocolOutput takes standard output for the protocol. From here on whatever
// else writes there, a library's print included, reaches standard error.
func (a *app) protocolOutput() (io.WriteCloser, error) {
	out := a.stdout
	a.stdout = a.stderr
	if out == io.Writer(os.Stdout) {
		return takeStdout()
	}
	return nopCloser{out}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
