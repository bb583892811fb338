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

func schemasTool() *mcp.Tool {
	return &mcp.Tool{
		Name:        "get_capability_schemas",
		Title:       "Get capability schemas",
		Description: "Describes capabilities in full: what they do, the JSON Schemas of their arguments and, where known, answers, and their Python names.",
		InputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 50, "description": "Canonical names, such as plugin:issues/list."}
			},
			"required": ["names"],
			"additionalProperties": false
		}`),
		OutputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"capabilities": {
					"type": "array",
					"items": {
						"type": "object",
						"properties": {
							"name": {"type": "string"},
							"title": {"type": "string"},
							"description": {"type": "string"},
							"call": {"type": "string", "description": "How a snippet calls it."},
							"aliases": {"type": "array", "items": {"type": "string"}, "description": "Python names. call_tool(name, arguments) always works too."},
							"alias_problem": {"type": "string", "description": "Why a Python name was left out."},
							"input_schema": {"description": "JSON Schema of the arguments."},
							"output_schema": {"description": "JSON Schema of the answer."},
							"annotations": {"description": "Hints of the provider, as it gave them."},
							"tags": {"type": "array", "items": {"type": "string"}}
						},
						"required": ["name", "call", "input_schema"]
					}
				},
				"unknown": {
					"type": "array",
					"items": {
						"type": "object",
						"properties": {"name": {"type": "string"}, "message": {"type": "string"}, "nearest": {"type": "array", "items": {"type": "string"}}},
						"required": ["name", "message", "nearest"]
					}
				},
				"notes": {"type": "array", "items": {"type": "string"}}
			},
			"required": ["capabilities", "unknown"]
		}`),
		Annotations: readOnly,
	}
}

type schemasAnswer struct {
	Capabilities []schema      `json:"capabilities"`
	Unknown      []unknownName `json:"unknown"`
	Notes        []string      `json:"notes,omitempty"`
}

type schema struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	Call         string          `json:"call"`
	Aliases      []string        `json:"aliases,omitempty"`
	AliasProblem string          `json:"alias_problem,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Tags         []string        `json:"tags,omitempty"`
}

type unknownName struct {
	Name    string   `json:"name"`
	Message string   `json:"message"`
	Nearest []string `json:"nearest"`
}

func (s *Server) schemas(ctx context.Context, _ *mcp.CallToolRequest, args arguments) (*answer, error) {
	if err := args.only("names"); err != nil {
		return nil, err
	}
	var names []string
	if err := args.get("names", &names, `a list of canonical names, such as ["plugin:issues/list"]`); err != nil {
		return nil, err
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
		out.Capabilities = append(out.Capabilities, s.describe(c))
	}
	if len(out.Unknown) > 0 {
		out.Notes = notes // what isn't available may be why
	}
	a, err := newAnswer(out, out.text())
	if err == nil {
		a.failed = len(out.Capabilities) == 0
	}
	return a, err
}

func (s *Server) describe(c capability.Capability) schema {
	out := schema{
		Name: c.Name, Title: c.Title, Description: c.Description, Call: c.CallShape(),
		InputSchema: c.InputSchema, OutputSchema: c.OutputSchema, Annotations: c.Annotations, Tags: c.Tags,
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
		fmt.Fprintf(&b, "  arguments: %s\n", c.InputSchema)
		if len(c.OutputSchema) > 0 {
			fmt.Fprintf(&b, "  answer: %s\n", c.OutputSchema)
		}
	}
	for _, u := range a.Unknown {
		fmt.Fprintln(&b, u.Message)
	}
	for _, n := range a.Notes {
		fmt.Fprintln(&b, n)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
