package fold

import (
	"strconv"
	"strings"
)

// Path leads from a value to one inside it. The zero Path is the value itself.
// A Path is immutable.
type Path struct{ steps []step }

type step struct {
	kind  stepKind
	name  string // of a name or a token
	index int    // of an index; negative counts from the end
}

type stepKind uint8

const (
	nameStep  stepKind = iota // .title or ["title"]: a key of an object
	indexStep                 // [2]: an item of a list
	tokenStep                 // /2 or .2: an item of a list, or a key of an object
)

// String writes the path as a dot path: $.rows[2]["odd key"]. [ParsePath] reads
// it back.
func (p Path) String() string {
	b := []byte{'$'}
	for _, s := range p.steps {
		b = s.appendTo(b)
	}
	return string(b)
}

func (s step) appendTo(b []byte) []byte {
	switch {
	case s.kind == indexStep:
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(s.index), 10)
		return append(b, ']')
	case isIdentifier(s.name), s.kind == tokenStep && isIndex(s.name):
		return append(append(b, '.'), s.name...)
	}
	return append(appendQuoted(append(b, '['), s.name), ']')
}

// Pointer writes the path as a JSON pointer (RFC 6901): /rows/2/odd key. A
// negative index is written as it is, though no pointer can mean it; the paths
// in an [Answer] have none.
func (p Path) Pointer() string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var sb strings.Builder
	for _, s := range p.steps {
		sb.WriteByte('/')
		if s.kind == indexStep {
			sb.WriteString(strconv.Itoa(s.index))
		} else {
			sb.WriteString(escape.Replace(s.name))
		}
	}
	return sb.String()
}

// then is the path with one more step.
func (p Path) then(s step) Path {
	return Path{append(p.steps[:len(p.steps):len(p.steps)], s)}
}

// brief writes the path for a message: long names and long paths are shortened.
func (p Path) brief() string {
	const ends, runes = 5, 40
	b := []byte{'$'}
	for i, s := range p.steps {
		if len(p.steps) > 2*ends && i >= ends && i < len(p.steps)-ends {
			if i == ends {
				b = append(b, "…"...)
			}
			continue
		}
		s.name = shorten(s.name, runes)
		b = s.appendTo(b)
	}
	return string(b)
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// isIndex tells whether s is an index as RFC 6901 writes it.
func isIndex(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s == "0" || s != "" && s[0] != '0'
}
