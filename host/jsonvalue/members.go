package jsonvalue

import (
	"encoding/json"
	"errors"
)

// Member is one name of an object with the text of its value.
type Member struct {
	Name  string          // unescaped
	Value json.RawMessage // shares memory with the object's text
}

// ErrNotObject is what [Members] answers for a value of another type.
var ErrNotObject = errors.New("not a JSON object")

// Members takes an object apart one level deep, in the order of its text,
// duplicate names included. The text must have passed [Check]; on any other the
// answer is meaningless, but Members doesn't panic.
//
// Because the text is known to be good, this is a scan for brackets and quotes,
// several times faster than parsing again: an 8 MB value inside costs a few
// milliseconds.
func Members(object []byte) ([]Member, error) {
	i := skipSpace(object, 0)
	if i >= len(object) || object[i] != '{' {
		return nil, ErrNotObject
	}
	var members []Member
	for i++; ; {
		i = skipSpace(object, i)
		if i >= len(object) || object[i] != '"' {
			return members, nil // the closing brace
		}
		end := skipString(object, i)
		var name string
		if err := json.Unmarshal(object[i:end], &name); err != nil {
			return nil, err
		}
		i = skipSpace(object, end) + 1 // the colon
		start := skipSpace(object, i)
		i = skipValue(object, start)
		if start >= len(object) {
			return members, nil
		}
		members = append(members, Member{name, object[start:i:i]})
		i = skipSpace(object, i)
		if i < len(object) && object[i] == ',' {
			i++
		}
	}
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

// skipValue returns the index after the value that starts at text[i].
func skipValue(text []byte, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = skipString(text, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		default:
			if depth > 0 {
				i++
				continue
			}
			for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' && skipSpace(text, i) == i {
				i++
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return len(text)
}
