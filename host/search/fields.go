package search

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolplane/toolplane/host/capability"
)

// field is where in a capability a word stands.
type field struct {
	name   string
	weight float64 // of a match
	length float64 // how much a long text weakens it, from 0 to 1: b of BM25
}

// fields, the weightiest first. The order is also that of fieldTexts.
var fields = [...]field{
	{"tool", 5, 0.3},
	{"provider", 4, 0.3},
	{"title", 3, 0.3},
	{"tags", 3, 0.1},
	{"arguments", 2, 0.3},
	{"description", 1.2, 0.6},
	{"details", 0.6, 0.6},
	{"kind", 0.4, 0},
}

// fieldTexts are the texts of the fields of one capability.
type fieldTexts [len(fields)][]string

const (
	// maxFieldBytes bounds what is indexed of one field. It holds any description
	// that was written for a reader.
	maxFieldBytes  = 16 << 10
	maxSchemaDepth = 32
)

func textsOf(c capability.Capability) fieldTexts {
	var kind, provider, tool string
	if n, err := capability.ParseName(c.Name); err == nil {
		kind, provider, tool = n.Kind, n.Provider, n.Tool
	} else {
		tool = c.Name
	}
	if tool == "" { // cli:git
		provider, tool = "", provider
	}
	var s schemaTexts
	s.read(c.InputSchema)
	return fieldTexts{
		{tool},
		{provider},
		{c.Title},
		c.Tags,
		s.names,
		{c.Description},
		s.details,
		{kind},
	}
}

// wordsOf splits the texts of one field, up to maxFieldBytes.
func (s *splitter) wordsOf(texts []string) []word {
	var out []word
	left := maxFieldBytes
	for _, text := range texts {
		if left <= 0 {
			break
		}
		text = text[:min(left, len(text))] // a rune cut in two ends a word as well as any other
		left -= len(text)
		out = append(out, s.split(text)...)
	}
	return out
}

// schemaTexts is what an input schema says in words.
type schemaTexts struct {
	names   []string // of the arguments
	details []string // of what is in them, their descriptions, their allowed texts
	root    map[string]any
	refs    int // followed so far
}

func (s *schemaTexts) read(schema json.RawMessage) {
	if len(schema) == 0 {
		return
	}
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	if dec.Decode(&s.root) != nil {
		return
	}
	s.walk(s.root, 0, 0)
}

// walk reads a schema. nesting is 0 for that of the arguments themselves.
func (s *schemaTexts) walk(node any, nesting, depth int) {
	if depth > maxSchemaDepth {
		return
	}
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			s.walk(item, nesting, depth+1)
		}
	case map[string]any:
		for _, keyword := range slices.Sorted(maps.Keys(node)) {
			value := node[keyword]
			switch keyword {
			case "properties":
				members, _ := value.(map[string]any)
				for _, name := range slices.Sorted(maps.Keys(members)) {
					if nesting == 0 {
						s.names = append(s.names, name)
					} else {
						s.details = append(s.details, name)
					}
					s.walk(members[name], nesting+1, depth+1)
				}
			case "title", "description", "const":
				if text, ok := value.(string); ok {
					s.details = append(s.details, text)
				}
			case "enum":
				values, _ := value.([]any)
				for _, v := range values {
					if text, ok := v.(string); ok {
						s.details = append(s.details, text)
					}
				}
			case "allOf", "anyOf", "oneOf", "if", "then", "else":
				s.walk(value, nesting, depth+1)
			case "items", "prefixItems", "additionalProperties", "contains":
				s.walk(value, nesting+1, depth+1)
			case "patternProperties", "dependentSchemas":
				members, _ := value.(map[string]any)
				for _, name := range slices.Sorted(maps.Keys(members)) {
					s.walk(members[name], nesting+1, depth+1)
				}
			case "$ref":
				if pointer, ok := value.(string); ok {
					s.walk(s.resolve(pointer), nesting, depth+1)
				}
			}
		}
	}
}

// resolve follows a reference into the same schema. References that repeat each
// other could spell a text of any length, so only so many are followed.
func (s *schemaTexts) resolve(pointer string) any {
	rest, ok := strings.CutPrefix(pointer, "#/")
	if s.refs++; !ok || s.refs > 64 {
		return nil
	}
	var at any = s.root
	for step := range strings.SplitSeq(rest, "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}
