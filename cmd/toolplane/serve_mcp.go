package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host"
	"github.com/toolplane/toolplane/host/join"
)

const (
	// lockTimeout is how long another process may take to start a host.
	lockTimeout = 20 * time.Second
	// portPatience is how long a host that goes away may take to free its port.
	portPatience = 6 * time.Second
	portPoll     = 50 * time.Millisecond
)

func (a *app) serveMCP() *cobra.Command {
	var o serveOptions
	var standalone bool
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent: MCP over standard input and output",
		Long: `Speaks the Model Context Protocol over standard input and output, as agents
expect of a server that they start. Standard output carries the protocol only;
everything else goes to standard error.

Where a host of the same user and configuration runs already (toolplane serve, or
another agent's toolplane serve mcp), it joins that one: nothing is started twice,
and yet no agent sees another one's data. Where none does, it becomes one, at the
configured address or, where that's in use, at another port. When the host that it
joined goes away, calls under way fail with an error that says so, and it joins or
becomes another one.`,
		Example: `  claude mcp add toolplane -- toolplane serve mcp --config /path/to/toolplane.toml
  toolplane serve mcp --plugin issues=builtin:issues
  toolplane serve mcp --standalone`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.serveStdio(c.Context(), o, standalone) },
	}
	o.flags(c)
	c.Flags().BoolVar(&standalone, "standalone", false, "neither join a running host nor let others join this one")
	return c
}

func (a *app) serveStdio(ctx context.Context, o serveOptions, standalone bool) error {
	out, err := a.protocolOutput()
	if err != nil {
		return err
	}
	cfg, found, err := a.load()
	if err != nil {
		return err
	}
	if err := o.apply(cfg); err != nil {
		return err
	}
	s := &stdioServer{app: a, cfg: cfg}
	if !standalone {
		if s.place, err = place(cfg, found); err != nil {
			a.complain("toolplane: warning: no host is joined: %v\n", err)
		}
	}
	first, err := s.next(ctx, "", nil)
	if err != nil {
		return err
	}
	if first.Host == nil {
		err = first.Serve(ctx, io.NopCloser(a.stdin), out)
	} else {
		err = s.bridge(ctx, first, out)
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errEnded
	}
	return nil
}

// stdioServer serves one agent, by joining a host or as one.
type stdioServer struct {
	*app
	cfg   *config.Config
	place join.Place // zero where nothing is shared
}

func (s *stdioServer) bridge(ctx context.Context, first join.Next, out io.WriteCloser) error {
	logger, err := s.logger("warn")
	if err != nil {
		return err
	}
	return join.Bridge(ctx, join.BridgeOptions{
		In: s.stdin, Out: out, First: first, Again: s.next,
		Linger:          s.cfg.Server.ShutdownTimeout,
		MaxMessageBytes: int(s.cfg.Server.MaxFrameBytes),
		Say:             func(format string, args ...any) { s.complain("toolplane: "+format+"\n", args...) },
		Logger:          logger.With("part", "join"),
	})
}

// next finds a host to join, or starts one. Meanwhile no other process does so for
// this configuration.
func (s *stdioServer) next(ctx context.Context, last string, except []string) (join.Next, error) {
	if s.place != (join.Place{}) {
		waiting, cancel := context.WithTimeout(ctx, lockTimeout)
		defer cancel()
		unlock, err := s.place.Lock(waiting)
		if err != nil {
			s.complain("toolplane: warning: %v\n", err)
		} else {
			defer unlock()
		}
		if h := s.place.Find(ctx, except...); h != nil {
			s.complain("toolplane: joined the host at %s\n", h.URL)
			return join.Next{Host: h}, nil
		}
	}
	h, end, err := s.open(ctx, last)
	if err != nil {
		return join.Next{}, err
	}
	if last != "" {
		s.complain("toolplane: serving at %s in its place\n", h.URL())
	}
	return join.Next{Serve: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		defer end()
		return h.NewMCP("mcp-stdio", "").Serve(ctx, in, out)
	}}, nil
}

// open starts a host at the configured address, or else at another port. Where the
// address was that of the host that was joined last, it waits for that to let go.
func (s *stdioServer) open(ctx context.Context, last string) (*host.Host, func(), error) {
	listen := s.cfg.Server.Listen
	for end := time.Now().Add(portPatience); ; {
		h, finish, err := s.openServing(ctx, s.cfg, s.place, "warn", listen)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return h, finish, err
		}
		if strings.TrimPrefix(last, "http://") != listen || time.Now().After(end) || ctx.Err() != nil {
			break
		}
		time.Sleep(portPoll)
	}
	address, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, nil, err
	}
	h, finish, err := s.openServing(ctx, s.cfg, s.place, "warn", net.JoinHostPort(address, "0"))
	if err == nil {
		s.complain("toolplane: another program uses %s: serving at %s instead, where neither the extension nor a bookmark looks for it\n", listen, h.URL())
	}
	return h, finish, err
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
