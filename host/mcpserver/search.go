package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/capability"
)

const (
	defaultHits = 20
	maxHits     = 100
	// maxSummary bounds a capability's description in a list, in characters.
	maxSummary = 200
)

func searchTool() *mcp.Tool {
	return &mcp.Tool{
		Name:  "search_capabilities",
		Title: "Search capabilities",
		Description: "Finds what a snippet can call, best first. Each hit has the Python call to use in execute_code, with argument types and defaults. " +
			"An empty query lists everything by name; page with offset.",
		InputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"query": {"type": "string", "description": "Words to look for in names, descriptions, arguments and tags. Empty: everything."},
				"limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
				"offset": {"type": "integer", "minimum": 0, "maximum": 1000000, "default": 0, "description": "Hits to leave out at the start."}
			},
			"additionalProperties": false
		}`),
		OutputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"hits": {
					"type": "array",
					"items": {
						"type": "object",
						"properties": {
							"name": {"type": "string", "description": "Canonical name, for call_tool and get_capability_schemas."},
							"call": {"type": "string", "description": "How a snippet calls it."},
							"description": {"type": "string"}
						},
						"required": ["name", "call", "description"]
					}
				},
				"total": {"type": "integer", "description": "All hits of this query."},
				"next_offset": {"type": "integer", "description": "Offset of the next page, if there is one."},
				"notes": {"type": "array", "items": {"type": "string"}, "description": "What isn't available, and hints."}
			},
			"required": ["hits", "total"]
		}`),
		Annotations: readOnly,
	}
}

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)}

type searchAnswer struct {
	Hits       []searchHit `json:"hits"`
	Total      int         `json:"total"`
	NextOffset int         `json:"next_offset,omitempty"`
	Notes      []string    `json:"notes,omitempty"`
}

type searchHit struct {
	Name        string `json:"name"`
	Call        string `json:"call"`
	Description string `json:"description"`
}

func (s *Server) search(ctx context.Context, _ *mcp.CallToolRequest, args arguments) (*answer, error) {
	if err := args.only("query", "limit", "offset"); err != nil {
		return nil, err
	}
	var query string
	if err := args.get("query", &query, "a text"); err != nil {
		return nil, err
	}
	limit, err := args.integer("limit", defaultHits, 1, maxHits)
	if err != nil {
		return nil, err
	}
	offset, err := args.integer("offset", 0, 0, 1_000_000)
	if err != nil {
		return nil, err
	}
	out := searchAnswer{Hits: []searchHit{}, Notes: s.o.Wait(ctx)}
	all := s.o.Registry.Search(query, 0)
	out.Total = len(all)
	for _, hit := range all[min(offset, len(all)):min(offset+limit, len(all))] {
		out.Hits = append(out.Hits, searchHit{Name: hit.Capability.Name, Call: hit.Call, Description: summary(hit.Capability)})
	}
	if offset+limit < len(all) {
		out.NextOffset = offset + limit
	}
	if len(all) == 0 {
		out.Notes = append(out.Notes, s.nothingFound(query))
	}
	return newAnswer(out, out.text())
}

// nothingFound says how many capabilities there are, and which come closest.
func (s *Server) nothingFound(query string) string {
	n := len(s.o.Registry.List())
	if n == 0 {
		return "There are no capabilities: no plugin is configured, or none could be loaded."
	}
	note := fmt.Sprintf("Nothing matches. There are %d capabilities; an empty query lists them.", n)
	if near := s.o.Registry.Nearest(query, 3); len(near) > 0 {
		note += " The nearest: " + strings.Join(near, ", ") + "."
	}
	return note
}

func (a searchAnswer) text() string {
	var b strings.Builder
	for _, h := range a.Hits {
		fmt.Fprintf(&b, "%s\n  %s\n", h.Call, h.Name)
		if h.Description != "" {
			fmt.Fprintf(&b, "  %s\n", h.Description)
		}
	}
	if a.NextOffset > 0 {
		fmt.Fprintf(&b, "%d of %d; go on with offset=%d\n", len(a.Hits), a.Total, a.NextOffset)
	}
	for _, n := range a.Notes {
		fmt.Fprintln(&b, n)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// summary is the first line of a description, or the title, bounded.
func summary(c capability.Capability) string {
	text, _, _ := strings.Cut(strings.TrimSpace(c.Description), "\n")
	if text == "" {
		text = c.Title
	}
	if r := []rune(text); len(r) > maxSummary {
		text = string(r[:maxSummary-1]) + "…"
	}
	return text
}

func newAnswer(structured any, text string) (*answer, error) {
	raw, err := json.Marshal(structured)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return &answer{structured: raw, text: text}, nil
}
