package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/capability"
)

const maxNames = 50

// Details of a description.
const (
	briefDetail    = "brief"    // call and one line
	detailedDetail = "detailed" // whole description, arguments
	fullDetail     = "full"     // everything that is known
)

func schemasTool() *mcp.Tool {
	return &mcp.Tool{
		Name:        "get_capability_schemas",
		Title:       "Get capability schemas",
		Description: "Describes capabilities: brief (one line), detailed (arguments' JSON Schema), full (answer's schema, tags, aliases).",
		InputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 50},
				"detail": {"enum": ["brief", "detailed", "full"], "default": "detailed"}
			},
			"required": ["names"],
			"additionalProperties": false
		}`),
		Annotations: readOnly,
	}
}

type schemasAnswer struct {
	Capabilities []schema      `json:"capabilities"`
	Unknown      []unknownName `json:"unknown"`
	// Omitted are names that didn't fit this answer.
	Omitted []string `json:"omitted,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

type schema struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	Call         string          `json:"call"`
	Aliases      []string        `json:"aliases,omitempty"`
	AliasProblem string          `json:"alias_problem,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Tags         []string        `json:"tags,omitempty"`

	summary string // of the description
}

type unknownName struct {
	Name    string   `json:"name"`
	Message string   `json:"message"`
	Nearest []string `json:"nearest"`
}

func (s *Server) schemas(ctx context.Context, _ *mcp.CallToolRequest, args arguments) (*answer, error) {
	if err := args.only("names", "detail"); err != nil {
		return nil, err
	}
	var names []string
	if err := args.get("names", &names, `a list of canonical names, such as ["plugin:issues/list"]`); err != nil {
		return nil, err
	}
	detail := detailedDetail
	if err := args.get("detail", &detail, "brief, detailed or full"); err != nil {
		return nil, err
	}
	if detail != briefDetail && detail != detailedDetail && detail != fullDetail {
		return nil, fmt.Errorf("detail must be brief, detailed or full, not %.40q", detail)
	}
	if len(names) == 0 {
		return nil, errors.New(`names is missing: give a list of canonical names, such as ["plugin:issues/list"]; search_capabilities finds them`)
	}
	if len(names) > maxNames {
		return nil, fmt.Errorf("names has %d elements, the limit is %d: ask in several calls", len(names), maxNames)
	}
	out := schemasAnswer{Capabilities: []schema{}, Unknown: []unknownName{}}
	notes := s.o.Wait(ctx)
	for _, name := range names {
		c, err := s.o.Describe(name)
		if err != nil {
			near := s.o.Registry.Nearest(name, 3)
			if near == nil {
				near = []string{}
			}
			out.Unknown = append(out.Unknown, unknownName{Name: name, Message: err.Error(), Nearest: near})
			continue
		}
		out.add(s.describe(c), detail, s.o.Fold.threshold())
	}
	if len(out.Omitted) > 0 {
		out.Notes = append(out.Notes, "Not all fit into one answer: ask for the omitted names in another call, or with detail=brief.")
	}
	if len(out.Unknown) > 0 {
		out.Notes = append(out.Notes, notes...) // what isn't available may be why
	}
	a, err := newAnswer(out, out.text())
	if err == nil {
		a.failed = len(out.Capabilities) == 0 && len(out.Omitted) == 0
	}
	return a, err
}

func (s *Server) describe(c capability.Capability) schema {
	out := schema{
		Name: c.Name, Title: c.Title, Description: c.Description, Call: c.CallShape(),
		InputSchema: c.InputSchema, OutputSchema: c.OutputSchema, Annotations: c.Annotations, Tags: c.Tags,
		summary: summary(c),
	}
	if len(out.InputSchema) == 0 {
		out.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if b, ok := s.o.Registry.Binding(c.Name); ok {
		out.Call, out.AliasProblem = b.Call, b.Problem
		if b.Flat != "" {
			out.Aliases = append(out.Aliases, b.Flat)
		}
		if b.Scope != "" && b.Tool != "" {
			out.Aliases = append(out.Aliases, b.Scope+"."+b.Tool)
		}
	}
	return out
}

// reduce leaves out what a detail doesn't have.
func (c schema) reduce(detail string) schema {
	if detail != fullDetail {
		c.Title, c.Aliases, c.OutputSchema, c.Annotations, c.Tags = "", nil, nil, nil, nil
	}
	if detail == briefDetail {
		c.InputSchema, c.Description = nil, c.summary
	}
	return c
}

func (c schema) bytes() int {
	return len(c.Name) + len(c.Call) + len(c.Description) + len(c.InputSchema) + len(c.OutputSchema) + len(c.Annotations) + 200
}

// add adds a description while there is room for it. The first one is there in any
// case, with less detail if need be, so that asking for one always helps.
func (a *schemasAnswer) add(c schema, detail string, room int) {
	for _, each := range a.Capabilities {
		room -= each.bytes()
	}
	reduced := c.reduce(detail)
	if reduced.bytes() > room && len(a.Capabilities) > 0 {
		a.Omitted = append(a.Omitted, c.Name)
		return
	}
	if reduced.bytes() > room {
		for _, less := range []string{detailedDetail, briefDetail} {
			if reduced = c.reduce(less); reduced.bytes() <= room {
				break
			}
		}
		a.Notes = append(a.Notes, fmt.Sprintf("%s is shown with less detail, because its schemas take %s.", c.Name, sizeText(len(c.InputSchema)+len(c.OutputSchema))))
	}
	a.Capabilities = append(a.Capabilities, reduced)
}

func (a schemasAnswer) text() string {
	var b strings.Builder
	for _, c := range a.Capabilities {
		fmt.Fprintf(&b, "%s\n  %s\n", c.Call, c.Name)
		if c.Description != "" {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(strings.TrimSpace(c.Description), "\n", "\n  "))
		}
		if c.AliasProblem != "" {
			fmt.Fprintf(&b, "  %s\n", c.AliasProblem)
		}
		if len(c.InputSchema) > 0 {
			fmt.Fprintf(&b, "  arguments: %s\n", c.InputSchema)
		}
		if len(c.OutputSchema) > 0 {
			fmt.Fprintf(&b, "  answer: %s\n", c.OutputSchema)
		}
	}
	for _, u := range a.Unknown {
		fmt.Fprintln(&b, u.Message)
	}
	if len(a.Omitted) > 0 {
		fmt.Fprintf(&b, "Omitted: %s\n", strings.Join(a.Omitted, ", "))
	}
	for _, n := range a.Notes {
		fmt.Fprintln(&b, n)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
