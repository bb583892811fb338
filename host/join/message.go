package join

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// message is one JSON-RPC message: its text, which is passed on as it is, and what
// the bridge has to know of it.
type message struct {
	text   []byte // one line
	id     string // the JSON text of the id; "" where there's none
	method string
	params json.RawMessage
}

func (m message) isRequest() bool  { return m.method != "" && m.id != "" }
func (m message) isResponse() bool { return m.method == "" && m.id != "" }

// split reads one message, or each of a batch.
func split(text []byte) ([]message, error) {
	text = bytes.TrimSpace(text)
	if len(text) > 0 && text[0] == '[' {
		var all []json.RawMessage
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, err
		}
		var out []message
		for _, one := range all {
			m, err := read(one)
			if err != nil {
				return nil, err
			}
			out = append(out, m)
		}
		return out, nil
	}
	m, err := read(text)
	if err != nil {
		return nil, err
	}
	return []message{m}, nil
}

func read(text []byte) (message, error) {
	var e struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return message{}, err
	}
	m := message{text: oneLine(text), method: e.Method, params: e.Params}
	if id := bytes.TrimSpace(e.ID); len(id) > 0 && string(id) != "null" {
		m.id = string(id)
	}
	if m.id == "" && m.method == "" {
		return message{}, errors.New("it is neither a request nor an answer")
	}
	return m, nil
}

// oneLine takes line breaks out of JSON text, where they can only stand between
// its parts.
func oneLine(text []byte) []byte {
	if !bytes.ContainsAny(text, "\r\n") {
		return text
	}
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, text)
}

// Codes of JSON-RPC errors; those without a name there are in the range that's
// left to implementations.
const (
	codeParse    = -32700
	codeInternal = -32603
	codeGone     = -32000
	codeTooLarge = -32003
)

// failure is the answer to a request that has none otherwise. id may be "".
func failure(id string, code int, format string, a ...any) []byte {
	if id == "" {
		id = "null"
	}
	text, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": json.RawMessage(id), "error": map[string]any{"code": code, "message": fmt.Sprintf(format, a...)},
	})
	if err != nil {
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return text
}

var errTooLong = errors.New("a line is too long")

// readLine reads up to a line break. One that's too long is skipped, with
// errTooLong.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > limit; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && err == nil:
			return nil, errTooLong
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		}
		return line, err
	}
}

// event is one server-sent event.
type event struct {
	id   string
	data []byte
}

// readEvent reads the next event that has data or an id.
func readEvent(r *bufio.Reader, limit int) (event, error) {
	var e event
	any := false
	for {
		line, err := readLine(r, limit)
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 || line[len(line)-1] != '\n' {
			return event{}, io.ErrUnexpectedEOF
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if any {
				return e, nil
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			e.id, any = string(value), true
		case "data":
			if len(e.data)+len(value) > limit {
				return event{}, errTooLong
			}
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data, any = append(e.data, value...), true
		}
	}
}
