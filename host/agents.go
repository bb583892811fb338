package host

import (
	"context"

	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/executor"
	"github.com/toolplane/toolplane/host/mcpserver"
)

// agentOptions adds to the options of an MCP server what it searches, calls, reads
// and keeps.
func (h *Host) agentOptions(o mcpserver.Options) mcpserver.Options {
	if h.results != nil { // a nil *Store isn't a nil Results
		o.Results = h.results
	}
	if h.cfg.Session.Enabled {
		o.Session = pythonSession{h.executor, o.Scope, o.Subject}
	}
	o.Fold = mcpserver.FoldOptions{Enabled: h.cfg.Fold.Enabled, ThresholdBytes: int(h.cfg.Fold.ThresholdBytes)}
	o.Index = h.index
	o.InlineCapabilities = h.cfg.MCP.InlineCapabilities
	o.Expose = h.exposure
	o.Call = h.callExposed
	return o
}

// pythonSession is the namespace that the runs of one MCP client share.
type pythonSession struct {
	executor       *executor.Executor
	scope, subject string
}

// Reset implements [mcpserver.Session].
func (s pythonSession) Reset(ctx context.Context) (forgot string, err error) {
	return s.executor.ResetSession(ctx, s.scope, s.subject)
}

// callExposed runs a capability outside of any run, for a tool that stands for it.
// It waits for its plugin as the calls of runs do.
func (h *Host) callExposed(ctx context.Context, inv capability.Invocation) (capability.Answer, *capability.Error) {
	if err := h.plugins.await(ctx, inv.Capability); err != nil {
		return capability.Answer{}, err
	}
	return h.bridge.Answer(ctx, bridge.Caller{Scope: inv.Scope, Subject: inv.Subject, RunID: inv.RunID},
		bridge.Request{Name: inv.Capability, Arguments: inv.Arguments, Progress: inv.Progress})
}

// Unmatched lists the patterns of [mcp] expose that no capability fits. It waits
// for the plugins, as [Host.WaitPlugins] does.
func (h *Host) Unmatched(ctx context.Context) []string {
	if h.exposure == nil {
		return nil
	}
	h.WaitPlugins(ctx)
	return h.exposure.Unmatched()
}
