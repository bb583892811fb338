package mcpserver

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/capability"
)

// tool is the definition that is listed. With folds, the output schema admits the
// folded form, where that can be said.
func (t *exposedTool) tool(folds bool) *mcp.Tool {
	c := t.capability
	tool := &mcp.Tool{Name: t.name, Title: c.Title, Description: c.Description, InputSchema: inputSchema(c.InputSchema)}
	if len(c.Annotations) > 0 {
		var a mcp.ToolAnnotations
		if json.Unmarshal(c.Annotations, &a) == nil {
			tool.Annotations = &a
		}
	}
	if schema, ok := outputSchema(c); ok {
		tool.OutputSchema = schema
		if folds && t.foldable() {
			tool.OutputSchema = admitFolded(schema)
		}
	}
	return tool
}

// inputSchema makes the object schema that MCP asks for.
func inputSchema(raw json.RawMessage) json.RawMessage {
	var s map[string]json.RawMessage
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	if string(bytes.TrimSpace(s["type"])) == `"object"` {
		return raw
	}
	s["type"] = json.RawMessage(`"object"`) // arguments are always an object
	out, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return out
}

// outputSchema returns the schema of the answers, if MCP can have it: there it
// describes an object.
func outputSchema(c capability.Capability) (schema json.RawMessage, ok bool) {
	var s map[string]any // not a struct, whose names fit whatever their case
	if len(c.OutputSchema) == 0 || json.Unmarshal(c.OutputSchema, &s) != nil || s["type"] != "object" {
		return nil, false
	}
	return c.OutputSchema, true
}

// foldable tells whether answers may come folded: where no schema is listed, and
// where the schema can be put beside another one. It can't where it refers to its
// own parts by their place, other than to definitions, which move along.
func (t *exposedTool) foldable() bool {
	schema, ok := outputSchema(t.capability)
	if !ok {
		return true
	}
	var s any
	return json.Unmarshal(schema, &s) == nil && movable(s)
}

func movable(s any) bool {
	switch s := s.(type) {
	case []any:
		for _, v := range s {
			if !movable(v) {
				return false
			}
		}
	case map[string]any:
		for key, v := range s {
			switch key {
			case "$ref":
				ref, _ := v.(string)
				if !strings.HasPrefix(ref, "#/$defs/") && !strings.HasPrefix(ref, "#/definitions/") {
					return false
				}
			case "$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef":
				if _, text := v.(string); text {
					return false
				}
			}
			if !movable(v) {
				return false
			}
		}
	}
	return true
}

// admitFolded is a schema that a folded answer fits as well. What refers to
// definitions still finds them at the root.
func admitFolded(schema json.RawMessage) json.RawMessage {
	var s map[string]json.RawMessage
	if json.Unmarshal(schema, &s) != nil {
		return schema
	}
	root := map[string]json.RawMessage{"type": json.RawMessage(`"object"`)}
	for _, name := range []string{"$schema", "$defs", "definitions"} {
		if v, ok := s[name]; ok {
			root[name] = v
			delete(s, name)
		}
	}
	own, err := json.Marshal(s)
	if err != nil {
		return schema
	}
	root["anyOf"] = json.RawMessage(`[` + string(own) + `,{"type":"object","properties":{"folded":` + foldedSchema + `},"required":["folded"],"additionalProperties":false}]`)
	out, err := json.Marshal(root)
	if err != nil {
		return schema
	}
	return out
}
