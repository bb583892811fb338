package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/jsonvalue"
)

// exposed handles the calls of one exposed tool.
func (s *Server) exposed(t *exposedTool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
		inv := capability.Invocation{Scope: s.o.Scope, Subject: s.o.Subject, Capability: t.capability.Name, Arguments: req.Params.Arguments}
		if token := req.Params.GetProgressToken(); token != nil {
			inv.Progress = func(done, total float64, message string) {
				// A failure isn't the call's: the client is gone, and the end of its session ends the call.
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: total, Message: message})
			}
		}
		answer, failure := s.o.Call(ctx, inv)
		if failure != nil {
			return toolError(fmt.Errorf("%s: %w", failure.Type, failure)), nil
		}
		res, err := s.exposedResult(t, answer)
		if err != nil {
			return toolError(err), nil
		}
		return res, nil
	}
}

// rawContent is a content item as its provider wrote it, of whatever kind.
type rawContent struct {
	mcp.TextContent // for the interface; nothing of it is used
	raw             json.RawMessage
}

// MarshalJSON implements [mcp.Content].
func (c *rawContent) MarshalJSON() ([]byte, error) { return c.raw, nil }

// exposedAnswer is an answer taken apart.
type exposedAnswer struct {
	items      []json.RawMessage
	structured json.RawMessage // an object, or nil
	// text is that of the only item, if that's what it is; textOnly says so.
	text     string
	textOnly bool
}

func takeApart(answer capability.Answer) (exposedAnswer, error) {
	var a exposedAnswer
	value := bytes.TrimSpace(answer.Value)
	if answer.Content != nil {
		if err := json.Unmarshal(answer.Content, &a.items); err != nil {
			return a, fmt.Errorf("its content isn't a list: %w", err)
		}
	}
	if len(value) > 0 && value[0] == '{' {
		a.structured = value
	}
	if len(a.items) == 0 {
		// A provider that answers with a value alone. Clients read content.
		text := string(value)
		if len(value) > 0 && value[0] == '"' {
			if err := json.Unmarshal(value, &text); err != nil {
				return a, err
			}
		}
		item, err := json.Marshal(&mcp.TextContent{Text: text})
		if err != nil {
			return a, err
		}
		a.items = []json.RawMessage{item}
	}
	for i, raw := range a.items {
		var item map[string]any // not a struct, whose names fit whatever their case
		if json.Unmarshal(raw, &item) != nil {
			return a, fmt.Errorf("item %d of its content isn't an object", i)
		}
		if kind, ok := item["type"].(string); !ok || kind == "" {
			return a, fmt.Errorf("item %d of its content has no type", i)
		}
		if len(a.items) == 1 && item["type"] == "text" {
			a.text, a.textOnly = item["text"].(string)
		}
	}
	return a, nil
}

func (a exposedAnswer) whole() *mcp.CallToolResult {
	res := &mcp.CallToolResult{}
	for _, raw := range a.items {
		res.Content = append(res.Content, &rawContent{raw: raw})
	}
	if a.structured != nil {
		res.StructuredContent = a.structured
	}
	return res
}

// exposedResult turns an answer into a result, folded if it's large. Images, audio,
// resources and several texts stay as they are.
func (s *Server) exposedResult(t *exposedTool, answer capability.Answer) (*mcp.CallToolResult, error) {
	a, err := takeApart(answer)
	if err != nil {
		return nil, fmt.Errorf("%s gave an answer that can't be passed on: %w", t.capability.Name, err)
	}
	_, promised := outputSchema(t.capability)
	if promised && a.structured == nil {
		return nil, fmt.Errorf("%s gave an answer without the structured content that its output schema promises; "+
			"call it from execute_code, which takes any answer", t.capability.Name)
	}
	if !a.textOnly || !t.foldable() {
		return a.whole(), nil
	}
	if a.structured != nil {
		f, warning := s.fold(a.structured)
		if f != nil {
			return f.result(t, true)
		}
		// What is structured is small, or couldn't be put aside; its text may be large
		// all the same, as when it's laid out for people.
		res := a.whole()
		warnWhole(res, warning)
		if warning == "" {
			if f, _ := s.fold(textValue(a.text)); f != nil {
				folded, err := f.result(t, false)
				if err != nil {
					return nil, err
				}
				folded.StructuredContent = a.structured
				return folded, nil
			}
		}
		return res, nil
	}
	f, warning := s.fold(textValue(a.text))
	if f != nil {
		return f.result(t, true)
	}
	res := a.whole()
	warnWhole(res, warning)
	return res, nil
}

// result stands for a whole answer.
func (f *folded) result(t *exposedTool, structured bool) (*mcp.CallToolResult, error) {
	res := &mcp.CallToolResult{Meta: f.meta(), Content: []mcp.Content{&mcp.TextContent{Text: f.line("The answer of " + t.name)}}}
	if !structured {
		return res, nil
	}
	raw, err := json.Marshal(struct {
		Folded *folded `json:"folded"`
	}{f})
	if err != nil {
		return nil, fmt.Errorf("encode the folded answer of %s: %w", t.name, err)
	}
	res.StructuredContent = json.RawMessage(raw)
	return res, nil
}

// textValue is a text as a JSON value: the one that it spells, or else a string.
func textValue(text string) json.RawMessage {
	if raw := bytes.TrimSpace([]byte(text)); len(raw) > 0 && jsonvalue.Check(raw) == nil {
		return raw
	}
	return jsonString(text)
}
