package sdk

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"time"
)

// Schemer is a type that says itself which JSON schema it has.
type Schemer interface {
	JSONSchema() json.RawMessage
}

// objectText builds a JSON object with its members in order, so that a description is the same each time.
type objectText struct{ b []byte }

func (o *objectText) add(name string, value []byte) {
	if o.b == nil {
		o.b = []byte{'{'}
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(append(o.b, quote(name)...), ':')
	o.b = append(o.b, value...)
}

func (o *objectText) text() json.RawMessage {
	if o.b == nil {
		return json.RawMessage("{}")
	}
	return append(o.b, '}')
}

// schemaOf returns the JSON Schema (2020-12) of a Go type as encoding/json encodes it.
func schemaOf(t reflect.Type, input bool) (json.RawMessage, error) {
	g := generator{input: input, defs: map[reflect.Type]json.RawMessage{}, open: map[reflect.Type]bool{}, referred: map[reflect.Type]string{}}
	schema, err := g.schema(t, nil)
	if err != nil || len(g.referred) == 0 {
		return schema, err
	}
	var defs, whole objectText
	for t, name := range g.referred { // one, unless types that contain themselves are nested
		defs.add(name, g.defs[t])
	}
	whole.add("$defs", defs.text())
	whole.b = append(append(whole.b, ','), schema[1:]...)
	return whole.b, nil
}

type generator struct {
	input    bool
	open     map[reflect.Type]bool // being built: a second sight of it is a reference
	referred map[reflect.Type]string
	defs     map[reflect.Type]json.RawMessage
}

var (
	rawType       = reflect.TypeFor[json.RawMessage]()
	numberType    = reflect.TypeFor[json.Number]()
	bigIntType    = reflect.TypeFor[big.Int]()
	timeType      = reflect.TypeFor[time.Time]()
	schemerType   = reflect.TypeFor[Schemer]()
	appenderType  = reflect.TypeFor[Appender]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	textType      = reflect.TypeFor[encoding.TextMarshaler]()
)

func implements(t, iface reflect.Type) bool {
	return t.Implements(iface) || reflect.PointerTo(t).Implements(iface)
}

// schema builds the schema of t, with the keywords that a field's tag adds.
func (g *generator) schema(t reflect.Type, extra rules) (json.RawMessage, error) {
	nullable := false
	for t.Kind() == reflect.Pointer {
		t, nullable = t.Elem(), true
	}
	var o objectText
	kind := func(name string) {
		if nullable {
			o.add("type", []byte(`[`+strconv.Quote(name)+`,"null"]`))
		} else {
			o.add("type", []byte(strconv.Quote(name)))
		}
	}
	switch {
	case implements(t, schemerType):
		schema := reflect.New(t).Interface().(Schemer).JSONSchema()
		if len(schema) < 2 || schema[0] != '{' || !json.Valid(schema) {
			return nil, fmt.Errorf("the JSONSchema method of %s doesn't return an object", t)
		}
		return schema, nil
	case t == rawType || t.Kind() == reflect.Interface:
	case t == numberType:
		kind("number")
	case t == bigIntType:
		kind("integer")
	case t == timeType:
		kind("string")
		o.add("format", []byte(`"date-time"`))
	case implements(t, marshalerType) && !implements(t, appenderType):
	case implements(t, textType):
		kind("string")
	case t.Kind() == reflect.Struct:
		return g.structSchema(t, nullable, extra)
	default:
		if err := g.plain(&o, kind, t); err != nil {
			return nil, err
		}
	}
	addRules(&o, extra, nullable)
	return o.text(), nil
}

// plain adds the keywords of a type that encoding/json knows how to encode by itself.
func (g *generator) plain(o *objectText, kind func(string), t reflect.Type) error {
	switch t.Kind() {
	case reflect.Bool:
		kind("boolean")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		kind("integer")
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		kind("integer")
		o.add("minimum", []byte("0"))
	case reflect.Float32, reflect.Float64:
		kind("number")
	case reflect.String:
		kind("string")
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
			kind("string")
			o.add("contentEncoding", []byte(`"base64"`))
			return nil
		}
		items, err := g.schema(t.Elem(), nil)
		if err != nil {
			return err
		}
		kind("array")
		o.add("items", items)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return fmt.Errorf("%s has no JSON schema: its keys aren't strings", t)
		}
		values, err := g.schema(t.Elem(), nil)
		if err != nil {
			return err
		}
		kind("object")
		o.add("additionalProperties", values)
	default:
		return fmt.Errorf("%s has no JSON schema", t)
	}
	return nil
}

func (g *generator) structSchema(t reflect.Type, nullable bool, extra rules) (json.RawMessage, error) {
	reference := func() json.RawMessage {
		return json.RawMessage(`{"$ref":"#/$defs/` + g.referred[t] + `"}`)
	}
	if g.open[t] {
		g.referred[t] = t.Name()
		return orNull(reference(), nullable, extra), nil
	}
	g.open[t] = true
	defer delete(g.open, t)
	fields, err := jsonFields(t)
	if err != nil {
		return nil, err
	}
	var properties objectText
	var required []byte
	for _, f := range fields {
		s, err := g.schema(f.Type, f.rules)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		properties.add(f.name, s)
		if f.required {
			required = appendElement(required, quote(f.name))
		}
	}
	var o objectText
	o.add("type", []byte(`"object"`))
	o.add("properties", properties.text())
	if required != nil {
		o.add("required", append(required, ']'))
	}
	if g.input {
		o.add("additionalProperties", []byte("false"))
	}
	if _, recursive := g.referred[t]; recursive {
		g.defs[t] = o.text()
		return orNull(reference(), nullable, extra), nil
	}
	if nullable || len(extra) == 0 {
		return orNull(o.text(), nullable, extra), nil
	}
	addRules(&o, extra, false)
	return o.text(), nil
}

// orNull allows null in the place of a struct, and puts a field's keywords next to a schema that can't take them in.
func orNull(schema json.RawMessage, nullable bool, extra rules) json.RawMessage {
	if !nullable && len(extra) == 0 {
		return schema
	}
	var o objectText
	if nullable {
		o.add("anyOf", []byte(`[`+string(schema)+`,{"type":"null"}]`))
	} else {
		o.add("allOf", []byte(`[`+string(schema)+`]`))
	}
	addRules(&o, extra, nullable)
	return o.text()
}

func addRules(o *objectText, extra rules, nullable bool) {
	for _, r := range extra {
		if r.keyword == "enum" && nullable {
			r.value = append(r.value[:len(r.value)-1:len(r.value)-1], `,null]`...)
		}
		o.add(r.keyword, r.value)
	}
}
