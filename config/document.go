package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// maxFileBytes bounds a configuration file, far above what a person writes.
const maxFileBytes = 256 << 10

// A document is a parsed file that still knows its lines.
type document struct {
	file string // as shown in messages
	tree map[string]any
	meta toml.MetaData
	root map[string]toml.Primitive
}

// parse reads TOML. A syntax error comes back as Problems with its line.
func parse(file string, data []byte) (*document, error) {
	d := &document{file: file}
	if _, err := toml.Decode(string(data), &d.tree); err != nil {
		var pe toml.ParseError
		if !errors.As(err, &pe) {
			return nil, Problems{{File: file, Text: strings.TrimPrefix(err.Error(), "toml: ")}}
		}
		return nil, Problems{{File: file, Line: max(pe.Position.Line, 1), Text: "this isn't TOML: " + pe.Message}}
	}
	var err error
	if d.meta, err = toml.Decode(string(data), &d.root); err != nil {
		return nil, Problems{{File: file, Text: err.Error()}}
	}
	return d, nil
}

// line returns the line on which a key stands, 1 being the first, or 0 when the
// document doesn't have the key.
func (d *document) line(path ...string) int {
	if d == nil || len(path) == 0 {
		return 0
	}
	level := d.root
	for _, name := range path[:len(path)-1] {
		value, ok := level[name]
		if !ok {
			return 0
		}
		if level, ok = d.children(value); !ok {
			return 0
		}
	}
	value, ok := level[path[len(path)-1]]
	if !ok {
		return 0
	}
	return d.position(value)
}

// position returns the line of a value.
//
// The parser keeps positions to itself, but puts them into the error of a value
// that refuses to be decoded; so a value is decoded that does just that.
func (d *document) position(value toml.Primitive) int {
	var pe toml.ParseError
	if errors.As(d.meta.PrimitiveDecode(value, refuser{}), &pe) && pe.Position.Line > 0 {
		return pe.Position.Line
	}
	// A table that no line opens ("a" of [a.b]) has no position of its own: take
	// that of the first thing in it.
	children, _ := d.children(value)
	first := 0
	for _, child := range children {
		if l := d.position(child); l > 0 && (first == 0 || l < first) {
			first = l
		}
	}
	return first
}

func (d *document) children(value toml.Primitive) (map[string]toml.Primitive, bool) {
	var level map[string]toml.Primitive
	err := d.meta.PrimitiveDecode(value, &level)
	return level, err == nil
}

// refuser is a TOML value that can't be decoded.
type refuser struct{}

var errRefused = errors.New("refused")

func (refuser) UnmarshalTOML(any) error { return errRefused }

// describeValue names a TOML value for a message: its type, and the value
// itself when it's short.
func describeValue(v any) string {
	switch v := v.(type) {
	case string:
		if len(v) > 40 {
			return "a text"
		}
		return fmt.Sprintf("the text %q", v)
	case int64:
		return fmt.Sprintf("the number %d", v)
	case float64:
		return fmt.Sprintf("the number %v", v)
	case bool:
		return fmt.Sprint(v)
	case time.Time:
		return "a date or time"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "a list of tables"
	}
	return fmt.Sprintf("a %T", v)
}
