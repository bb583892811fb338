package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// jsonField is a struct field as encoding/json sees it.
type jsonField struct {
	reflect.StructField
	name     string
	required bool
	rules    rules
}

// jsonFields lists a struct's fields in order, those of embedded structs in the place of the embedding.
func jsonFields(t reflect.Type) ([]jsonField, error) {
	if t.Kind() != reflect.Struct {
		return nil, nil
	}
	var fields []jsonField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" && options == "" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			inner, err := jsonFields(f.Type)
			if err != nil {
				return nil, err
			}
			fields = append(fields, inner...)
			continue
		}
		if name == "" {
			name = f.Name
		}
		rules, err := fieldRules(f)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		_, hasDefault := rules.value("default")
		optional := hasDefault || f.Type.Kind() == reflect.Pointer ||
			strings.Contains(","+options+",", ",omitempty,") || strings.Contains(","+options+",", ",omitzero,")
		fields = append(fields, jsonField{f, name, !optional, rules})
	}
	return fields, nil
}

// rules are what a field's jsonschema tag says: keywords and their JSON values, in order. enum stands in it once.
type rules []rule

type rule struct {
	keyword string
	value   json.RawMessage
}

func (r rules) value(keyword string) (json.RawMessage, bool) {
	for _, rule := range r {
		if rule.keyword == keyword {
			return rule.value, true
		}
	}
	return nil, false
}

// fieldRules reads the tags jsonschema and jsonschema_description.
func fieldRules(f reflect.StructField) (rules, error) {
	var out rules
	var enum, examples []byte
	if text := f.Tag.Get("jsonschema_description"); text != "" {
		out = append(out, rule{"description", quote(text)})
	}
	for _, part := range splitTag(f.Tag.Get("jsonschema")) {
		keyword, text, _ := strings.Cut(part, "=")
		var value json.RawMessage
		switch keyword {
		case "title", "description", "pattern", "format":
			value = quote(text)
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
			"minLength", "maxLength", "minItems", "maxItems":
			value = json.RawMessage(text)
		case "uniqueItems":
			value = json.RawMessage("true")
		case "default", "enum", "example":
			value = literal(text, f.Type)
		default:
			return nil, fmt.Errorf("the jsonschema tag has the unknown keyword %q", keyword)
		}
		if !json.Valid(value) {
			return nil, fmt.Errorf("the jsonschema tag's %s=%s isn't a value for a field of type %s", keyword, text, f.Type)
		}
		switch keyword {
		case "enum":
			enum = appendElement(enum, value)
		case "example":
			examples = appendElement(examples, value)
		default:
			out = append(out, rule{keyword, value})
		}
	}
	if enum != nil {
		out = append(out, rule{"enum", append(enum, ']')})
	}
	if examples != nil {
		out = append(out, rule{"examples", append(examples, ']')})
	}
	return out, nil
}

func appendElement(list, value []byte) []byte {
	if list == nil {
		return append([]byte{'['}, value...)
	}
	return append(append(list, ','), value...)
}

// literal reads a value in a tag: a string's stands there without quotes, any other as JSON.
func literal(text string, t reflect.Type) json.RawMessage {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.String && t != reflect.TypeFor[json.Number]() {
		return quote(text)
	}
	return json.RawMessage(text)
}

// splitTag splits at commas; \, is a comma in a value.
func splitTag(tag string) []string {
	if tag == "" {
		return nil
	}
	const escaped = "\x00"
	parts := strings.Split(strings.ReplaceAll(tag, `\,`, escaped), ",")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], escaped, ",")
	}
	return parts
}
