package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/jsonvalue"
)

// callInput is what a guest's `call` is given. The arguments stand in it as they were sent.
func callInput(tool string, arguments json.RawMessage) []byte {
	name, err := json.Marshal(tool)
	if err != nil {
		panic(err) // a string always marshals
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	b := make([]byte, 0, len(name)+len(arguments)+64)
	b = append(b, `{"method":"tools/call","params":{"name":`...)
	b = append(b, name...)
	b = append(b, `,"arguments":`...)
	b = append(b, arguments...)
	return append(b, `}}`...)
}

// parseAnswer reads an MCP CallToolResult. Values are carried as the guest wrote them, never decoded and encoded again.
//
// The answer's value is structuredContent where there is one, else the text of a single text item as a JSON string,
// else the content array. Some servlets write null for what they leave out, so a null structuredContent counts only when
// no content stands next to it.
func parseAnswer(what string, out []byte) (capability.Answer, *capability.Error) {
	if len(bytes.TrimSpace(out)) == 0 {
		return capability.Answer{}, pluginErrorf("%s answered nothing; a plugin answers with an MCP CallToolResult", what)
	}
	members, err := splitObject(out)
	if err != nil {
		if bad := jsonvalue.Check(out); bad != nil {
			err = bad
		}
		return capability.Answer{}, pluginErrorf("%s gave an answer that isn't an MCP CallToolResult in JSON: %w", what, err)
	}
	var content, structured, isError json.RawMessage
	for _, m := range members {
		into := map[string]*json.RawMessage{"content": &content, "structuredContent": &structured, "isError": &isError}[m.name]
		if into == nil {
			continue
		}
		if *into != nil {
			return capability.Answer{}, pluginErrorf("%s gave an answer with %q in it twice", what, m.name)
		}
		*into = m.value
	}
	var items []contentItem
	if !isNull(content) {
		if err := json.Unmarshal(content, &items); err != nil {
			return capability.Answer{}, pluginErrorf("%s gave an answer whose content isn't an array of MCP content items", what)
		}
	} else {
		content = nil
	}
	var failed bool
	if !isNull(isError) {
		if err := json.Unmarshal(isError, &failed); err != nil {
			return capability.Answer{}, pluginErrorf("%s gave an answer whose isError is neither true nor false", what)
		}
	}
	if failed {
		return capability.Answer{}, reportedError(what, structured, items)
	}
	if isNull(structured) && len(items) > 0 {
		structured = nil
	}
	switch {
	case structured != nil:
		return capability.Answer{Value: structured, Content: content}, nil
	case content == nil:
		return capability.Answer{}, pluginErrorf("%s gave an answer with neither content nor structuredContent; a plugin answers with an MCP CallToolResult", what)
	case len(items) == 1 && items[0].Type == "text" && len(items[0].Text) > 0 && items[0].Text[0] == '"':
		return capability.Answer{Value: items[0].Text, Content: content}, nil
	}
	return capability.Answer{Value: content, Content: content}, nil
}

type contentItem struct {
	Type string          `json:"type"`
	Text json.RawMessage `json:"text"`
}

func isNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// reportedError is an error that the tool itself reported with isError. Toolplane's SDK says in
// structuredContent.error.kind which builtin to raise; the message is the plugin's own.
func reportedError(what string, structured json.RawMessage, items []contentItem) *capability.Error {
	var detail struct {
		Error struct{ Kind, Message string } `json:"error"`
	}
	if !isNull(structured) {
		_ = json.Unmarshal(structured, &detail) // of another shape: then the content tells
	}
	message := detail.Error.Message
	if message == "" {
		var texts []string
		for _, it := range items {
			var text string
			if it.Type == "text" && json.Unmarshal(it.Text, &text) == nil && text != "" {
				texts = append(texts, text)
			}
		}
		message = strings.Join(texts, "\n")
	}
	if message == "" {
		return pluginErrorf("%s reported an error without saying which", what)
	}
	e := pluginErrorf("%s", clip(message, maxMessageBytes))
	switch kind := capability.Builtin(detail.Error.Kind); kind {
	case capability.ValueError, capability.PermissionError, capability.LookupError, capability.TimeoutError, capability.MemoryError:
		e.Builtin = kind
	}
	return e
}

type member struct {
	name  string
	value json.RawMessage
}

// splitObject returns the members of the object that text is, in order, each value as it stands in text and checked
// with jsonvalue.Check: a value may nest as deep in an answer as anywhere else.
func splitObject(text []byte) ([]member, error) {
	s := splitter{text: text}
	var members []member
	if !s.next('{') {
		return nil, errors.New("not an object")
	}
	if s.next('}') {
		return nil, s.end()
	}
	for {
		s.space()
		key := s.value()
		if err := jsonvalue.Check(key); err != nil || key[0] != '"' {
			return nil, fmt.Errorf("no member name at offset %d", s.at-len(key))
		}
		var m member
		if err := json.Unmarshal(key, &m.name); err != nil {
			return nil, err
		}
		if !s.next(':') {
			return nil, fmt.Errorf("no colon after %.40q", m.name)
		}
		s.space()
		m.value = s.value()
		if err := jsonvalue.Check(m.value); err != nil {
			return nil, fmt.Errorf("%.40q: %w", m.name, err)
		}
		members = append(members, m)
		if s.next('}') {
			return members, s.end()
		}
		if !s.next(',') {
			return nil, fmt.Errorf("no comma after %.40q", m.name)
		}
	}
}

// splitter finds where a value ends without judging it.
type splitter struct {
	text []byte
	at   int
}

func (s *splitter) space() {
	for s.at < len(s.text) && bytes.IndexByte([]byte(" \t\r\n"), s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *splitter) next(want byte) bool {
	s.space()
	if s.at < len(s.text) && s.text[s.at] == want {
		s.at++
		return true
	}
	return false
}

func (s *splitter) end() error {
	if s.space(); s.at < len(s.text) {
		return fmt.Errorf("more text after the object's end, at offset %d", s.at)
	}
	return nil
}

func (s *splitter) value() []byte {
	start, depth := s.at, 0
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '"':
			s.skipString()
			if depth == 0 {
				return s.text[start:s.at:s.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return s.text[start:s.at:s.at]
			}
			if depth--; depth == 0 {
				s.at++
				return s.text[start:s.at:s.at]
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return s.text[start:s.at:s.at]
			}
		}
		s.at++
	}
	return s.text[start:s.at:s.at]
}

// skipString moves past a string; an unfinished one ends with the text.
func (s *splitter) skipString() {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return
		}
	}
	s.at = len(s.text)
}
