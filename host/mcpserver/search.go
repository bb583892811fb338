package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/search"
)

// Index finds capabilities by words. A *search.Index that follows the registry is
// one.
type Index interface {
	// Sync waits until what the registry holds can be found.
	Sync(ctx context.Context) error
	Search(ctx context.Context, q search.Query) (search.Page, error)
}

const (
	// maxSummary bounds a capability's description in a list, in characters.
	maxSummary = 200
	// maxPageBytes bounds a page of hits: it comes before any of them is used.
	maxPageBytes = 8 << 10
)

func searchTool() *mcp.Tool {
	return &mcp.Tool{
		Name:  "search_capabilities",
		Title: "Search capabilities",
		Description: "Finds what a snippet can call, best first, with the exact Python call for execute_code (=default; ? may be left out). " +
			"An empty query lists all.",
		InputSchema: json.RawMessage(fmt.Sprintf(`{
			"type": "object",
			"properties": {
				"query": {"type": "string", "description": "words; typos are fine"},
				"tags": {"type": "array", "items": {"type": "string"}},
				"limit": {"type": "integer", "minimum": 1, "maximum": %d, "default": %d},
				"offset": {"type": "integer", "minimum": 0, "default": 0}
			},
			"additionalProperties": false
		}`, search.MaxLimit, search.DefaultLimit)),
		Annotations: readOnly,
	}
}

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}

type searchAnswer struct {
	Hits       []searchHit `json:"hits"`
	Total      int         `json:"total"`
	NextOffset int         `json:"next_offset,omitempty"`
	Notes      []string    `json:"notes,omitempty"`
}

type searchHit struct {
	Name        string   `json:"name"`
	Call        string   `json:"call"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

func (s *Server) search(ctx context.Context, _ *mcp.CallToolRequest, args arguments) (*answer, error) {
	if err := args.only("query", "tags", "limit", "offset"); err != nil {
		return nil, err
	}
	var q search.Query
	for _, err := range []error{
		args.get("query", &q.Text, "a text"),
		args.get("tags", &q.Tags, `a list of texts, such as ["lookup"]`),
		args.get("limit", &q.Limit, "a whole number"),
		args.get("offset", &q.Offset, "a whole number"),
	} {
		if err != nil {
			return nil, err
		}
	}
	if args.has("limit") && q.Limit == 0 {
		return nil, fmt.Errorf("limit is 0, it can be 1 to %d", search.MaxLimit)
	}
	out := searchAnswer{Hits: []searchHit{}, Notes: s.o.Wait(ctx)}
	if err := s.o.Index.Sync(ctx); err != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("The newest capabilities may be missing: %v.", err))
	}
	page, err := s.o.Index.Search(ctx, q)
	var bad *search.QueryError
	if errors.As(err, &bad) {
		param := bad.Param
		if param == "text" {
			param = "query"
		}
		return nil, fmt.Errorf("%s %s", param, bad.Message)
	}
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	out.Total, out.NextOffset = page.Total, page.NextOffset
	bytes := 0
	for i, hit := range page.Hits {
		h := searchHit{Name: hit.Capability.Name, Call: hit.Call, Description: summary(hit.Capability), Tags: hit.Capability.Tags}
		bytes += len(h.Name) + len(h.Call) + len(h.Description)
		if i > 0 && bytes > maxPageBytes {
			out.NextOffset = q.Offset + i
			break
		}
		out.Hits = append(out.Hits, h)
	}
	if page.Total == 0 {
		out.Notes = append(out.Notes, nothingFound(q, page))
	}
	return newAnswer(out, out.text())
}

// nothingFound says how many capabilities there are, and what comes closest.
func nothingFound(q search.Query, page search.Page) string {
	if page.Known == 0 {
		return "There are no capabilities: no plugin is configured, or none could be loaded. The resource toolplane://namespace shows what this server has."
	}
	note := fmt.Sprintf("Nothing matches. There are %d capabilities; an empty query lists them.", page.Known)
	if len(page.Closest) > 0 {
		what := "The nearest: "
		if len(q.Tags) > 0 {
			what = "The nearest, whatever the tags: "
		}
		note += " " + what + strings.Join(page.Closest, ", ") + "."
	}
	if len(page.Tags) > 0 {
		note += " Tags in use: " + strings.Join(page.Tags, ", ") + "."
	}
	return note
}

func (a searchAnswer) text() string {
	var b strings.Builder
	for _, h := range a.Hits {
		fmt.Fprintf(&b, "%s\n  %s", h.Call, h.Name)
		if h.Description != "" {
			fmt.Fprintf(&b, " — %s", h.Description)
		}
		if len(h.Tags) > 0 {
			fmt.Fprintf(&b, " [%s]", strings.Join(h.Tags, ", "))
		}
		b.WriteByte('\n')
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
