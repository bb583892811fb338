package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	uriGuide     = "toolplane://guide"
	uriNamespace = "toolplane://namespace"

	markdown = "text/markdown"

	// maxManifest bounds the capabilities that the manifest lists.
	maxManifest = 500
)

func (s *Server) addResources() {
	s.mcp.AddResource(&mcp.Resource{
		URI: uriGuide, Name: "guide", Title: "How to drive this server", MIMEType: markdown,
		Description: "Short: finding, calling, keeping and slicing.",
	}, s.text(func(context.Context) string { return s.guide() }))
	s.mcp.AddResource(&mcp.Resource{
		URI: uriNamespace, Name: "namespace", Title: "What a snippet finds", MIMEType: markdown,
		Description: "Globals, capabilities and limits, as they are now.",
	}, s.text(s.manifest))
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: uriResults + "{handle}", Name: "result", Title: "A stored result", MIMEType: "application/json",
		Description: "A folded or saved value in full, as JSON. result_query reads parts.",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return s.readResult(req.Params.URI)
	})
}

func (s *Server) text(write func(context.Context) string) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: markdown, Text: write(ctx)}}}, nil
	}
}

// readResult returns a stored value, of this scope only. Whatever opens nothing
// gets one answer.
func (s *Server) readResult(uri string) (*mcp.ReadResourceResult, error) {
	if s.o.Results != nil {
		if value, _, err := s.o.Results.View(s.owner(), strings.TrimPrefix(uri, uriResults)); err == nil {
			return &mcp.ReadResourceResult{
				Cacheable: mcp.Cacheable{CacheScope: private},
				Contents:  []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(value)}},
			}, nil
		}
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found: " + errHandle.Message}
}

// guide says how to drive this server.
func (s *Server) guide() string {
	var b strings.Builder
	b.WriteString(`# Driving Toolplane

1. **Find.** ` + "`search_capabilities(query)`" + ` shows how each capability is called from Python. An empty query lists all. ` +
		"`get_capability_schemas`" + ` has the details, when a call isn't clear.
2. **Call in code.** One ` + "`execute_code`" + ` can call many capabilities, at once with ` + "`await asyncio.gather(...)`" + `, and filter, join and count their answers. What the snippet returns is all that you read.
`)
	if s.o.Store {
		b.WriteString(`3. **Keep.** ` + "`h = await save_result(value)`" + ` keeps a value on the host; in a later snippet ` + "`value = await load_result(h)`" + `. An argument ` +
			"`{\"$result\": h, \"path\": \"/rows\"}`" + ` hands it, or a part of it, to a capability without passing through you.
`)
	}
	if s.folds() {
		fmt.Fprintf(&b, `4. **Read parts.** An answer over %s is folded: you get a preview, the shape, and a handle. `+"`result_query(handle, path, offset, limit, fields)`"+` reads slices; `+
			"`load_result(handle)`"+` in a snippet has all of it, which is better for filtering and counting.
`, sizeText(s.o.Fold.threshold()))
	}
	b.WriteString(`
## When something fails
- ` + "`NameError`, `UnknownCapabilityError`" + `: search again; the error names what comes closest. The resource toolplane://namespace lists everything.
- ` + "`InvalidArgumentsError`" + ` names the argument and shows the call.
- ` + "`RunTimeoutError`" + `: pass timeout_seconds, fetch less, or gather calls.
- ` + "`RESULT_HANDLE_NOT_FOUND`" + `: handles expire, and belong to this session; run again for a new one.
- ` + "`RESULT_SLICE_TOO_LARGE`" + ` names a limit that fits.
`)
	return b.String()
}

// manifest is what a snippet finds, as this configuration really is.
func (s *Server) manifest(ctx context.Context) string {
	notes := s.o.Wait(ctx)
	bindings := s.o.Registry.Bindings()
	var b strings.Builder
	b.WriteString("# What a snippet finds\n\n")
	b.WriteString("- `call_tool(name, arguments)` and the capabilities below, all awaited\n")
	if s.o.Store {
		b.WriteString("- `save_result(value, label=None)`, `load_result(handle)`, awaited\n")
	} else {
		b.WriteString("- no `save_result` and `load_result`: the result store is turned off\n")
	}
	b.WriteString("- `inputs[\"name\"]`, `_` (the previous value), `ToolError`\n")
	if s.o.Session == nil {
		b.WriteString("- a fresh interpreter in each run: nothing else stays from the run before\n")
	} else {
		b.WriteString("- variables of earlier runs, until reset_session\n")
	}
	fmt.Fprintf(&b, "- time limit %s s, at most %s s with timeout_seconds\n", seconds(s.o.RunTimeout), seconds(s.o.MaxRunTimeout))
	if s.folds() {
		fmt.Fprintf(&b, "- values over %s are folded: result_query reads them\n", sizeText(s.o.Fold.threshold()))
	} else {
		b.WriteString("- values are never folded: return little\n")
	}
	fmt.Fprintf(&b, "\n## Capabilities (%d)\n\n", len(bindings))
	about := map[string]string{}
	for _, c := range s.o.Registry.List() {
		about[c.Name] = summary(c)
	}
	for i, each := range bindings {
		if i == maxManifest {
			fmt.Fprintf(&b, "- and %d more: search_capabilities finds them\n", len(bindings)-i)
			break
		}
		fmt.Fprintf(&b, "- `%s` — %s", strings.ReplaceAll(each.Call, "`", "'"), each.Name)
		if about[each.Name] != "" {
			fmt.Fprintf(&b, ": %s", about[each.Name])
		}
		if each.Problem != "" {
			fmt.Fprintf(&b, " (%s)", each.Problem)
		}
		b.WriteByte('\n')
	}
	if len(bindings) == 0 {
		b.WriteString("None: no plugin is configured, or none could be loaded.\n")
	}
	if s.o.Expose != nil {
		b.WriteString("\n## Tools of their own\n\n")
		for _, t := range s.o.Expose.tools() {
			fmt.Fprintf(&b, "- %s: %s\n", t.name, t.capability.Name)
		}
		for _, pattern := range s.o.Expose.Unmatched() {
			fmt.Fprintf(&b, "- nothing matches `%s`\n", pattern)
		}
	}
	if len(notes) > 0 {
		b.WriteString("\n## Not available\n\n")
		for _, n := range notes {
			fmt.Fprintf(&b, "- %s\n", n)
		}
	}
	return b.String()
}
