package host

import (
	"github.com/toolplane/toolplane/host/mcpserver"
)

// agentOptions adds to the options of an MCP server what it reads and keeps.
func (h *Host) agentOptions(o mcpserver.Options) mcpserver.Options {
	if h.results != nil { // a nil *Store isn't a nil Results
		o.Results = h.results
	}
	o.Fold = mcpserver.FoldOptions{Enabled: h.cfg.Fold.Enabled, ThresholdBytes: int(h.cfg.Fold.ThresholdBytes)}
	return o
}
