package host

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/toolplane/toolplane/host/join"
	"github.com/toolplane/toolplane/host/mcpserver"
)

// NewMCP makes the server of one MCP client, whose data is kept apart under scope
// and subject.
func (h *Host) NewMCP(scope, subject string) *mcpserver.Server {
	return mcpserver.New(h.mcpOptions(scope, subject))
}

// mcpOptions is what every MCP server of this host stands on, whatever its
// transport.
func (h *Host) mcpOptions(scope, subject string) mcpserver.Options {
	return h.agentOptions(mcpserver.Options{
		Version:       h.version,
		Runner:        h.runner,
		Registry:      h.registry,
		Describe:      h.bridge.Describe,
		Wait:          h.Missing,
		Scope:         scope,
		Subject:       subject,
		RunTimeout:    h.cfg.Executor.RunTimeout,
		MaxRunTimeout: h.cfg.Executor.MaxRunTimeout,
		Store:         h.results != nil,
		Linger:        h.cfg.Server.ShutdownTimeout,
		Logger:        h.logger.With("part", "mcp"),
	})
}

// Missing waits, as [Host.WaitPlugins] does, for plugins that are being loaded and
// says in sentences which of them aren't there.
func (h *Host) Missing(ctx context.Context) []string {
	var out []string
	for _, p := range h.WaitPlugins(ctx) {
		switch p.State {
		case PluginFailed:
			out = append(out, fmt.Sprintf("The plugin %s isn't available: %s", p.Name, p.Error))
		case PluginLoading:
			out = append(out, fmt.Sprintf("The plugin %s is still being loaded; ask again later.", p.Name))
		}
	}
	return out
}

func (h *Host) mcpHTTPOptions() mcpserver.HTTPOptions {
	o := mcpserver.HTTPOptions{
		Options:      h.mcpOptions,
		Valid:        h.bearers.valid,
		MaxSessions:  h.cfg.MCP.MaxSessions,
		MaxInFlight:  h.cfg.Server.MaxInFlight,
		MaxBodyBytes: int64(h.cfg.Server.MaxFrameBytes),
		Idle:         h.cfg.MCP.SessionIdle,
		Logger:       h.logger.With("part", "mcp"),
	}
	o.Ended = func(scope string) {
		h.executor.DropScope(scope)
		if h.results != nil {
			h.results.DropScope(scope)
		}
	}
	return o
}

// serveMCP answers /mcp to those who present a token.
func (h *Host) serveMCP(w http.ResponseWriter, r *http.Request) {
	subject, err := h.bearers.authenticate(r)
	if err != nil {
		h.bearers.refuse(w, r, err)
		return
	}
	h.mcp.Serve(w, r, subject)
}

// serveJoin proves to a process of this user that this is the host that it looks
// for, before it presents its token.
func (h *Host) serveJoin(w http.ResponseWriter, r *http.Request) {
	secret, ok := h.bearers.secrets[joinSubject]
	if !ok || h.ending.Load() {
		serveNotFound(w, r)
		return
	}
	challenge, err := io.ReadAll(http.MaxBytesReader(w, r.Body, join.MaxChallengeBytes))
	if err != nil || len(challenge) == 0 {
		answerText(w, http.StatusBadRequest, fmt.Sprintf("the body must be a challenge of 1 to %d bytes", join.MaxChallengeBytes))
		return
	}
	answerText(w, http.StatusOK, join.Proof(secret, challenge))
}
