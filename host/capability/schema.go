package capability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// anyObject is the input schema of a capability that gives none.
const anyObject = `{"type":"object"}`

// location is the base that relative references are resolved against. It has a
// path, since against an opaque one they would all resolve to itself.
const location = "toolplane:///schema.json"

// compile turns an input or output schema into a validator. A schema without
// $schema is 2020-12. Nothing is ever loaded: a $ref must stay inside the schema,
// or name one of the standard meta-schemas.
//
// Patterns are matched by Go's regexp, which takes linear time and knows no
// look-around. A pattern that it can't read isn't a reason to lose the tool: the
// keyword isn't checked here, and warnings say so. Under patternProperties it is,
// since there a guess either way would be wrong.
func compile(raw json.RawMessage) (schema *jsonschema.Schema, warnings []string, err error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage(anyObject)
	}
	if len(raw) > MaxSchemaBytes {
		return nil, nil, fmt.Errorf("has %d bytes, the limit is %d", len(raw), MaxSchemaBytes)
	}
	if depth := nesting(raw); depth > maxSchemaDepth {
		return nil, nil, fmt.Errorf("nests deeper than %d levels", maxSchemaDepth)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, fmt.Errorf("isn't JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) {
		if re, err := regexp.Compile(pattern); err == nil {
			return re, nil
		}
		return unchecked(pattern), nil
	})
	if err := c.AddResource(location, doc); err != nil {
		return nil, nil, schemaError(err)
	}
	if schema, err = c.Compile(location); err != nil {
		return nil, nil, schemaError(err)
	}
	if warnings, err = uncheckedPatterns(doc); err != nil {
		return nil, nil, err
	}
	return schema, warnings, nil
}

// compileInput also wants a schema that an object can fit: arguments are one.
func compileInput(raw json.RawMessage) (*jsonschema.Schema, []string, error) {
	schema, warnings, err := compile(raw)
	if err != nil {
		return nil, nil, err
	}
	if schema.Bool != nil && !*schema.Bool ||
		schema.Types != nil && !schema.Types.IsEmpty() && !strings.Contains(schema.Types.String(), "object") {
		return nil, nil, errors.New(`describes no object; arguments are one, so its type must be "object"`)
	}
	return schema, warnings, nil
}

type noLoader struct{}

var errRemote = errors.New(`schemas are never loaded; put the definition into $defs and refer to it as "#/$defs/NAME"`)

func (noLoader) Load(string) (any, error) { return nil, errRemote }

// unchecked stands for a pattern that Go can't match.
type unchecked string

func (u unchecked) MatchString(string) bool { return true }
func (u unchecked) String() string          { return string(u) }

// uncheckedPatterns finds what compile's regexp engine had to let pass.
func uncheckedPatterns(doc any) (warnings []string, err error) {
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for name, sub := range v {
				if pattern, ok := sub.(string); ok && name == "pattern" {
					if _, e := regexp.Compile(pattern); e != nil {
						warnings = append(warnings, fmt.Sprintf(
							"the pattern %s isn't checked, because Go's regular expressions can't express it", quote(clip(pattern, 80))))
					}
				}
				if patterns, ok := sub.(map[string]any); ok && name == "patternProperties" {
					for pattern := range patterns {
						if _, e := regexp.Compile(pattern); e != nil && err == nil {
							err = fmt.Errorf("patternProperties: Go's regular expressions can't express %s; write it without look-around",
								quote(clip(pattern, 80)))
						}
					}
				}
				walk(sub)
			}
		}
	}
	walk(doc)
	return warnings, err
}

// schemaError says what is wrong in a schema in one line, without the library's
// own framing.
func schemaError(err error) error {
	var load *jsonschema.LoadURLError
	var invalid *jsonschema.SchemaValidationError
	var regex *jsonschema.InvalidRegexError
	switch {
	case errors.As(err, &load):
		return fmt.Errorf("refers to %s: %w", clip(load.URL, 120), errRemote)
	case errors.As(err, &invalid):
		var v *jsonschema.ValidationError
		if errors.As(invalid.Err, &v) {
			if found := violations(v, nil); len(found) > 0 {
				return fmt.Errorf("isn't a valid JSON Schema: %s", found[0])
			}
		}
	case errors.As(err, &regex):
		return fmt.Errorf("holds the pattern %s, which isn't one that Go's regular expressions know", quote(clip(regex.Regex, 80)))
	}
	return fmt.Errorf("isn't usable: %s", clip(strings.ReplaceAll(err.Error(), location, ""), 300))
}

// nesting returns how deep a JSON text nests, without recursion.
func nesting(raw []byte) int {
	depth, deepest := 0, 0
	inString := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString:
			switch c {
			case '\\':
				i++
			case '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{', c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return deepest
}

// decode reads a JSON text for the validator: numbers keep their digits, but for
// those whose exact value would be absurdly long to write out (1e-999999). These
// become the float that every reader downstream sees, since the validator
// computes with exact fractions.
func decode(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more text after the end of the value")
	}
	return tame(v), nil
}

func tame(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			if n, ok := item.(json.Number); ok {
				v[name] = tameNumber(n)
			} else {
				tame(item)
			}
		}
	case []any:
		for i, item := range v {
			if n, ok := item.(json.Number); ok {
				v[i] = tameNumber(n)
			} else {
				tame(item)
			}
		}
	case json.Number:
		return tameNumber(v)
	}
	return v
}

func tameNumber(n json.Number) json.Number {
	if !strings.ContainsAny(string(n), "eE.") || len(n) <= 40 && !strings.ContainsAny(string(n), "eE") {
		return n
	}
	f, err := n.Float64()
	if err != nil {
		return n // out of range, which the bridge refuses before
	}
	text, err := json.Marshal(f)
	if err != nil {
		return n
	}
	return json.Number(text)
}
