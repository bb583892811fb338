package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
)

// Describe returns what the module's describe export answers: an MCP ListToolsResult with this module's tools.
// Its error names the tool whose types have no JSON schema, or whose tags are wrong; a test that calls it finds that out
// before a host does.
func Describe() (json.RawMessage, error) {
	list := []byte{'['}
	for i, t := range tools {
		if i > 0 {
			list = append(list, ',')
		}
		text, err := t.describe()
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.name, err)
		}
		list = append(list, text...)
	}
	var o objectText
	o.add("tools", append(list, ']'))
	return o.text(), nil
}

func (t *tool) describe() (json.RawMessage, error) {
	input := json.RawMessage(`{"type":"object"}`)
	if t.in != rawType {
		if t.in.Kind() != reflect.Struct && t.in.Kind() != reflect.Map {
			return nil, fmt.Errorf("its input is a %s, but arguments are a struct, a map or json.RawMessage", t.in)
		}
		var err error
		if input, err = schemaOf(t.in, true); err != nil {
			return nil, fmt.Errorf("input: %w", err)
		}
	}
	output, err := schemaOf(t.out, false)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	var o, annotations objectText
	o.add("name", quote(t.name))
	for _, h := range t.hints {
		if h.name == "title" {
			o.add("title", []byte(h.json))
			continue
		}
		annotations.add(h.name, []byte(h.json))
	}
	o.add("description", quote(t.description))
	o.add("inputSchema", input)
	// MCP wants an output schema to be of an object; Toolplane takes any.
	if onToolplane() || bytes.HasPrefix(output, []byte(`{"type":"object"`)) {
		o.add("outputSchema", output)
	}
	if len(t.hints) > 0 {
		o.add("annotations", annotations.text())
	}
	return o.text(), nil
}

// Handle returns what the module's call export answers to a request {"method":"tools/call","params":{"name","arguments"}}:
// an MCP CallToolResult. It never fails: what goes wrong stands in the answer.
func Handle(ctx context.Context, request []byte) json.RawMessage {
	var r struct {
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return errorResult(ValueError("the request isn't an MCP tools/call in JSON: %s", err))
	}
	t := byName[r.Params.Name]
	if t == nil {
		return errorResult(LookupError("there is no tool called %q", r.Params.Name))
	}
	if len(r.Params.Arguments) == 0 || string(r.Params.Arguments) == "null" {
		r.Params.Arguments = json.RawMessage("{}")
	}
	const open = `{"structuredContent":`
	answer, err := t.call(ctx, r.Params.Arguments, []byte(open))
	if err != nil {
		return errorResult(err)
	}
	return finishResult(answer, len(open))
}

// finishResult completes {"structuredContent":VALUE. A text is MCP content; anything else is structured, and on a host
// that may know nothing of structured content, it is there as text, too.
func finishResult(answer []byte, at int) json.RawMessage {
	value := answer[at:]
	text := func(v []byte) []byte {
		return append(append([]byte(`{"content":[{"type":"text","text":`), v...), `}]`...)
	}
	switch {
	case len(value) > 0 && value[0] == '"':
		return append(text(value), '}')
	case onToolplane():
		return append(answer, `,"content":[]}`...)
	case len(value) > 0 && value[0] == '{':
		b := append(text(quote(string(value))), `,"structuredContent":`...)
		return append(append(b, value...), '}')
	}
	return append(text(quote(string(value))), '}')
}

func errorResult(err error) json.RawMessage {
	e := asError(err)
	message := quote(e.Message)
	var detail, structured, item, o objectText
	detail.add("kind", quote(e.Kind))
	detail.add("message", message)
	structured.add("error", detail.text())
	item.add("type", []byte(`"text"`))
	item.add("text", message)
	o.add("content", []byte(`[`+string(item.text())+`]`))
	o.add("structuredContent", structured.text())
	o.add("isError", []byte("true"))
	return o.text()
}

// Invoke calls a tool with arguments as JSON and returns its answer as JSON. It is for tests.
func Invoke(ctx context.Context, name, arguments string) (json.RawMessage, error) {
	t := byName[name]
	if t == nil {
		return nil, LookupError("there is no tool called %q", name)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil {
		return nil, argumentError(err)
	}
	return t.call(ctx, []byte(arguments), nil)
}
