package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// listPatience is how long a listing of the tools waits for plugins that are being
// loaded, whose capabilities are in it, unless the options say otherwise. It's
// below what clients grant a server's start; they're told of what comes later.
const listPatience = 3 * time.Second

const (
	methodListTools    = "tools/list"
	methodCallTool     = "tools/call"
	methodReadResource = "resources/read"
	methodSetLevel     = "logging/setLevel"
	toolsChanged       = "notifications/tools/list_changed"
)

// listing keeps the tools that the SDK serves in step with the registry.
type listing struct {
	mu       sync.Mutex
	current  bool // revision is valid
	revision uint64
	catalog  string            // what the description of execute_code has inline
	exposed  map[string]string // tool name to definition

	version atomic.Uint64 // grows with each change
	told    atomic.Uint64 // the version that the client has listed, plus one; 0 before
	logging atomic.Bool   // the client has asked for log messages
}

// receive brings the tools up to date before requests that depend on them.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case methodListTools:
			patience, cancel := context.WithTimeout(ctx, s.o.ListPatience)
			s.settle(patience)
			cancel()
			s.refresh()
			version := s.listing.version.Load()
			res, err := next(ctx, method, req)
			if err == nil {
				s.listing.told.Store(version + 1)
			}
			return res, err
		case methodCallTool:
			if call, ok := req.(*mcp.CallToolRequest); ok && !fixedTools[call.Params.Name] && s.o.Expose != nil {
				s.settle(ctx)
				s.refresh()
			}
		case methodReadResource:
			if read, ok := req.(*mcp.ReadResourceRequest); ok && strings.HasPrefix(read.Params.URI, uriResults) {
				// Not by the SDK, whose error for what isn't there repeats the handle.
				return s.readResult(read.Params.URI)
			}
		case methodSetLevel:
			s.listing.logging.Store(true)
		}
		return next(ctx, method, req)
	}
}

// send leaves out the news of a change for a client that has listed the tools
// since, or never: the SDK sends one for each change, also for those that a
// listing makes.
func (s *Server) send(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		told := s.listing.told.Load()
		if method == toolsChanged && (told == 0 || told == s.listing.version.Load()+1) {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}

// settle waits for plugins that are being loaded.
func (s *Server) settle(ctx context.Context) {
	s.o.Wait(ctx)
	if s.o.Expose != nil && ctx.Err() == nil {
		s.o.Expose.warn()
	}
}

// refresh gives the SDK the tools as they are now.
func (s *Server) refresh() {
	l := &s.listing
	l.mu.Lock()
	defer l.mu.Unlock()
	revision := s.o.Registry.Revision()
	if l.current && l.revision == revision {
		return
	}
	l.current, l.revision = true, revision
	if catalog := s.inlineCatalog(); catalog != l.catalog {
		l.catalog = catalog
		s.mcp.AddTool(executeTool(s.o, catalog), s.tool(s.execute))
		l.version.Add(1)
	}
	s.refreshExposed()
}

// refreshExposed adds, replaces and removes the tools that stand for capabilities.
func (s *Server) refreshExposed() {
	l := &s.listing
	if s.o.Expose == nil {
		return
	}
	wanted := map[string]string{}
	for _, t := range s.o.Expose.tools() {
		tool := t.tool(s.folds())
		definition, err := json.Marshal(tool)
		if err != nil {
			s.o.Logger.Error("capability not exposed", "capability", t.capability.Name, "error", err)
			continue
		}
		if l.exposed[tool.Name] != string(definition) {
			if err := s.addTool(tool, s.exposed(t)); err != nil {
				s.o.Logger.Error("capability not exposed", "capability", t.capability.Name, "error", err)
				continue
			}
			l.version.Add(1)
		}
		wanted[tool.Name] = string(definition)
	}
	for name := range l.exposed {
		if _, ok := wanted[name]; !ok {
			s.mcp.RemoveTools(name)
			l.version.Add(1)
		}
	}
	l.exposed = wanted
}

// addTool adds a tool whose definition a provider made; the SDK panics over what
// it doesn't take.
func (s *Server) addTool(tool *mcp.Tool, handler mcp.ToolHandler) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	s.mcp.AddTool(tool, handler)
	return nil
}

// folds reports whether large answers can be put aside at all.
func (s *Server) folds() bool { return s.o.Fold.Enabled && s.o.Results != nil }

// inlineCatalog lists how everything is called, while that's little.
func (s *Server) inlineCatalog() string {
	bindings := s.o.Registry.Bindings()
	if len(bindings) == 0 || len(bindings) > s.o.InlineCapabilities {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nAll capabilities (=default; ? may be left out):")
	caps := s.o.Registry.List()
	about := make(map[string]string, len(caps))
	for _, c := range caps {
		about[c.Name] = clip(summary(c), maxInlineSummary)
	}
	for _, each := range bindings {
		if b.Len() > maxInlineBytes {
			return "" // few, but with long names or many arguments
		}
		fmt.Fprintf(&b, "\n- %s", each.Call)
		if about[each.Name] != "" {
			fmt.Fprintf(&b, " # %s", about[each.Name])
		}
	}
	return b.String()
}

const (
	maxInlineSummary = 60 // characters of each description
	maxInlineBytes   = 6 << 10
)

// clip keeps the first n characters of a line.
func clip(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
