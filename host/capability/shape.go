package capability

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a call shape, so that a tool with a huge schema can't fill a page.
const (
	maxShownOptional = 12 // of the arguments that may be left out
	maxShownEnum     = 8
	maxShownLiteral  = 40 // runes
	maxTypeDepth     = 6
	maxTypeSteps     = 2000 // subschemas looked at
)

// parameter is one argument of a capability, as its schema describes it.
type parameter struct {
	name     string
	typ      string // integer, array of string, "open"|"closed", …
	def      string // default as a Python literal, or ""
	required bool
}

// parameters lists the properties of an input schema in the schema's own order,
// required ones first. What can't be read gives none: the schema itself is
// checked elsewhere.
func parameters(schema json.RawMessage) []parameter {
	s := shaper{root: schema, steps: maxTypeSteps}
	var found []parameter
	s.collect(schema, &found, 0)
	out := make([]parameter, 0, len(found))
	for _, required := range []bool{true, false} {
		for _, p := range found {
			if p.required == required {
				out = append(out, p)
			}
		}
	}
	return out
}

// callShape writes a call; callee is "" where only call_tool works.
func callShape(name, callee string, params []parameter) string {
	keywordsOnly := true
	for _, p := range params {
		keywordsOnly = keywordsOnly && isParameter(p.name)
	}
	asDict := callee == "" || !keywordsOnly
	var args []string
	optional := 0
	for _, p := range params {
		if !p.required {
			if optional++; optional > maxShownOptional {
				args = append(args, "…")
				break
			}
		}
		typ := "<" + p.typ + ">"
		switch {
		case p.required:
		case p.def != "":
			typ = "<" + p.typ + "=" + p.def + ">"
		default:
			typ = "<" + p.typ + "?>"
		}
		if asDict {
			args = append(args, quote(p.name)+": "+typ)
		} else {
			args = append(args, p.name+"="+typ)
		}
	}
	list := strings.Join(args, ", ")
	if !asDict {
		return "await " + callee + "(" + list + ")"
	}
	if list != "" {
		list = ", {" + list + "}"
	}
	return "await call_tool(" + quote(name) + list + ")"
}

// shaper reads types out of one schema, whose root local references point into.
type shaper struct {
	root  json.RawMessage
	steps int // left; a few references can spell a tree of any size
}

// enter tells whether one more subschema may be looked at.
func (s *shaper) enter(depth int) bool {
	s.steps--
	return depth <= maxTypeDepth && s.steps >= 0
}

// collect gathers the properties of a schema and of what it includes.
func (s *shaper) collect(schema json.RawMessage, out *[]parameter, depth int) {
	o := parseObject(schema)
	if o == nil || !s.enter(depth) {
		return
	}
	if ref := o.get("$ref"); ref != nil {
		s.collect(s.resolve(ref), out, depth+1)
	}
	for _, part := range parseList(o.get("allOf")) {
		s.collect(part, out, depth+1)
	}
	for _, m := range parseObject(o.get("properties")) {
		if slices.ContainsFunc(*out, func(p parameter) bool { return p.name == m.name }) {
			continue
		}
		p := parameter{name: m.name, typ: s.typeOf(m.value, 0)}
		if def := parseObject(m.value).get("default"); def != nil {
			p.def = literal(def)
		}
		*out = append(*out, p)
	}
	required := map[string]bool{}
	for _, r := range parseList(o.get("required")) {
		var name string
		if json.Unmarshal(r, &name) == nil {
			required[name] = true
		}
	}
	for i := range *out {
		p := &(*out)[i]
		p.required = p.required || required[p.name]
	}
}

// resolve follows a reference into the same schema, such as #/$defs/label. It
// returns nil for any other.
func (s *shaper) resolve(ref json.RawMessage) json.RawMessage {
	var pointer string
	if json.Unmarshal(ref, &pointer) != nil {
		return nil
	}
	rest, ok := strings.CutPrefix(pointer, "#/")
	if !ok {
		return nil
	}
	at := s.root
	for step := range strings.SplitSeq(rest, "/") {
		at = parseObject(at).get(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	return at
}

// typeOf names the type that a schema admits; "any" where it says nothing.
func (s *shaper) typeOf(schema json.RawMessage, depth int) string {
	o := parseObject(schema)
	if o == nil || !s.enter(depth) {
		return "any"
	}
	if ref := o.get("$ref"); ref != nil {
		if to := s.resolve(ref); to != nil {
			return s.typeOf(to, depth+1)
		}
	}
	if c := o.get("const"); c != nil {
		return literal(c)
	}
	if values := parseList(o.get("enum")); len(values) > 0 {
		var names []string
		for _, v := range values {
			if len(names) == maxShownEnum {
				names = append(names, "…")
				break
			}
			names = append(names, literal(v))
		}
		return strings.Join(names, "|")
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var types []string
		for _, branch := range parseList(o.get(keyword)) {
			types = append(types, s.typeOf(branch, depth+1))
		}
		if t := union(types); t != "" {
			return t
		}
	}
	var types []string
	if one := o.get("type"); one != nil {
		var name string
		if json.Unmarshal(one, &name) == nil {
			types = []string{name}
		} else {
			_ = json.Unmarshal(one, &types) // a wrong type leaves it empty
		}
	}
	for i, t := range types {
		if t == "array" {
			switch item := s.typeOf(o.get("items"), depth+1); {
			case item == "any":
			case strings.Contains(item, "|"):
				types[i] = "array of (" + item + ")"
			default:
				types[i] = "array of " + item
			}
		}
	}
	if t := union(types); t != "" {
		return t
	}
	for _, part := range parseList(o.get("allOf")) {
		if t := s.typeOf(part, depth+1); t != "any" {
			return t
		}
	}
	switch {
	case o.get("properties") != nil:
		return "object"
	case o.get("items") != nil:
		return "array"
	}
	return "any"
}

// union joins types, each once, with null last.
func union(types []string) string {
	var out []string
	null := false
	seen := map[string]bool{}
	for _, t := range types {
		switch {
		case t == "null" || t == "None":
			null = true
		case !seen[t]:
			seen[t] = true
			out = append(out, t)
		}
	}
	if null {
		out = append(out, "null")
	}
	return strings.Join(out, "|")
}

// literal writes a JSON value as Python does, shortened.
func literal(raw json.RawMessage) string {
	var sb strings.Builder
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	writeLiteral(&sb, dec)
	return clip(sb.String(), maxShownLiteral)
}

func writeLiteral(sb *strings.Builder, dec *json.Decoder) {
	tok, err := dec.Token()
	if err != nil {
		return
	}
	switch v := tok.(type) {
	case nil:
		sb.WriteString("None")
	case bool:
		if v {
			sb.WriteString("True")
		} else {
			sb.WriteString("False")
		}
	case json.Number:
		sb.WriteString(v.String())
	case string:
		sb.WriteString(quote(v))
	case json.Delim:
		sb.WriteString(v.String())
		for first := true; dec.More() && sb.Len() <= 4*maxShownLiteral; first = false {
			if !first {
				sb.WriteString(", ")
			}
			if v == '{' {
				writeLiteral(sb, dec)
				sb.WriteString(": ")
			}
			writeLiteral(sb, dec)
		}
		if end, err := dec.Token(); err == nil {
			if d, ok := end.(json.Delim); ok {
				sb.WriteString(d.String())
			}
		}
	}
}

// quote writes a string the way that JSON and Python share.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
