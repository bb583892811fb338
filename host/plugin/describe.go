package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/jsonvalue"
)

const (
	maxTools            = 1000
	maxDescribeBytes    = 8 << 20
	maxDescriptionBytes = 32 << 10
)

var toolName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

// describedTool is one tool as `describe` tells it.
type describedTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// parseDescribe reads the answer of `describe`: an MCP ListToolsResult, or, as early servlets have it, one tool alone.
// A tool that is unusable becomes a problem and leaves the others alone.
func parseDescribe(id string, out []byte, skip []string) (caps []capability.Capability, problems []string, err error) {
	if len(out) > maxDescribeBytes {
		return nil, nil, fmt.Errorf("its description is %d bytes long, more than the %d that are read", len(out), maxDescribeBytes)
	}
	if len(bytes.TrimSpace(out)) == 0 {
		return nil, nil, fmt.Errorf("describe answered nothing; it has to answer {\"tools\":[…]}")
	}
	if err := jsonvalue.Check(out); err != nil {
		return nil, nil, fmt.Errorf("describe didn't answer JSON: %w", err)
	}
	var list struct {
		Tools *[]json.RawMessage `json:"tools"`
		Name  string             `json:"name"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, nil, fmt.Errorf("describe has to answer {\"tools\":[…]}: %w", err)
	}
	var tools []json.RawMessage
	switch {
	case list.Tools != nil:
		tools = *list.Tools
	case list.Name != "":
		tools = []json.RawMessage{out}
	default:
		return nil, nil, fmt.Errorf("describe has to answer {\"tools\":[…]}, but there is no \"tools\" in its answer")
	}
	if len(tools) > maxTools {
		problems = append(problems, fmt.Sprintf("describes %d tools: only the first %d are offered", len(tools), maxTools))
		tools = tools[:maxTools]
	}
	seen, skipped := map[string]bool{}, map[string]bool{}
	for i, raw := range tools {
		tool, err := parseTool(raw)
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("tool %d (%s) is left out: %s", i+1, clip(tool.Name, 60), err))
			continue
		case seen[tool.Name]:
			problems = append(problems, fmt.Sprintf("tool %d (%s) is left out: an earlier tool has the same name", i+1, tool.Name))
			continue
		}
		seen[tool.Name] = true
		if pattern := matching(skip, tool.Name); pattern != "" {
			skipped[pattern] = true
			continue
		}
		caps = append(caps, tool.capability(id))
	}
	for _, pattern := range skip {
		if !skipped[pattern] {
			problems = append(problems, fmt.Sprintf("skip_tools names %q, but no tool is called so", pattern))
		}
	}
	sort.Slice(caps, func(i, j int) bool { return caps[i].Name < caps[j].Name })
	return caps, problems, nil
}

func parseTool(raw json.RawMessage) (describedTool, error) {
	var t describedTool
	if err := json.Unmarshal(raw, &t); err != nil {
		var named struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal(raw, &named) // only to name the tool
		t.Name = named.Name
		return t, fmt.Errorf("it isn't described as an MCP tool: %w", err)
	}
	if !toolName.MatchString(t.Name) {
		return t, fmt.Errorf("a tool's name has 1 to 128 letters, digits, and _ . - (this one is %d bytes long)", len(t.Name))
	}
	if len(t.Description) > maxDescriptionBytes {
		return t, fmt.Errorf("its description is %d bytes long, more than %d", len(t.Description), maxDescriptionBytes)
	}
	if isNull(t.InputSchema) {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if err := objectSchema("inputSchema", t.InputSchema); err != nil {
		return t, err
	}
	if isNull(t.OutputSchema) {
		t.OutputSchema = nil
	} else if t.OutputSchema[0] != '{' {
		return t, fmt.Errorf("its outputSchema isn't an object")
	}
	if isNull(t.Annotations) || t.Annotations[0] != '{' {
		t.Annotations = nil
	}
	return t, nil
}

// objectSchema refuses schemas that no arguments object can fit. Whether it is a valid schema is checked by whoever
// compiles it.
func objectSchema(what string, schema json.RawMessage) error {
	var s struct {
		Type json.RawMessage `json:"type"`
	}
	if schema[0] != '{' || json.Unmarshal(schema, &s) != nil {
		return fmt.Errorf("its %s isn't an object", what)
	}
	if s.Type != nil && string(s.Type) != `"object"` {
		var types []string
		if json.Unmarshal(s.Type, &types) != nil || !slices.Contains(types, "object") {
			return fmt.Errorf("its %s has the type %s; arguments are always an object", what, clip(string(s.Type), 60))
		}
	}
	return nil
}

func (t describedTool) capability(id string) capability.Capability {
	title := t.Title
	if title == "" && t.Annotations != nil {
		var a struct{ Title string }
		if json.Unmarshal(t.Annotations, &a) == nil {
			title = a.Title
		}
	}
	return capability.Capability{
		Name: id + "/" + t.Name, Title: clip(title, 200), Description: strings.TrimSpace(t.Description),
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations,
	}
}

// matching returns the first pattern that name fits, or "".
func matching(patterns []string, name string) string {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil {
			return p
		}
	}
	return ""
}
