package capability

import (
	"bytes"
	"encoding/json"
	"slices"
)

// object is a JSON object with its members in the order of its text, which
// encoding/json forgets and which is the order its author chose for readers.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

// parseObject returns nil for anything but an object.
func parseObject(raw json.RawMessage) object {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	out := object{}
	for dec.More() {
		tok, err := dec.Token()
		name, ok := tok.(string)
		if err != nil || !ok {
			return nil
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil
		}
		// The last of two equal names counts, as for every other reader of schemas.
		if i := slices.IndexFunc(out, func(m member) bool { return m.name == name }); i >= 0 {
			out[i].value = value
			continue
		}
		out = append(out, member{name, value})
	}
	return out
}

func (o object) get(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func parseList(raw json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}
