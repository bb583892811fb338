package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MCP's logging is deprecated as of the protocol of 2026-07-28, and works in all
// versions for at least a year from then. Clients use it, so it's served; what
// refers to it is in this file.

func withLogging(c *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	c.Logging = &mcp.LoggingCapabilities{} //nolint:staticcheck // SA1019: see above
	return c
}

// logger returns what sends a snippet's output as log messages, or nil where the
// client hasn't asked for any. The SDK knows from which level on.
func (s *Server) logger(ctx context.Context, req *mcp.CallToolRequest) func(stream, text string) {
	_, asked := req.Params.GetMeta()[mcp.MetaKeyLogLevel] //nolint:staticcheck // SA1019: see above
	if !asked && !s.listing.logging.Load() {
		return nil
	}
	return func(stream, text string) {
		_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Logger: "execute_code." + stream, Data: text}) //nolint:staticcheck // SA1019: see above
	}
}

// output passes on what a run prints, as it prints it: as progress where the
// client has sent a token, and as log messages where it has asked for those. It's
// nil when nobody wants it. A failure to do so is not the run's: the client is
// gone, and the end of its session ends the run.
func (s *Server) output(ctx context.Context, req *mcp.CallToolRequest) func(stream, text string) {
	token, log := req.Params.GetProgressToken(), s.logger(ctx, req)
	if token == nil && log == nil {
		return nil
	}
	sent := 0
	return func(stream, text string) {
		sent += len(text)
		if token != nil {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(sent), Message: text})
		}
		if log != nil {
			log(stream, text)
		}
	}
}
