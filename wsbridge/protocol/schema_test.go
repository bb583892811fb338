package protocol

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaID = "https://github.com/toolplane/toolplane/wsbridge/protocol/schema.json"

func compileSchema(t *testing.T) func(def string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(schemaID, doc); err != nil {
		t.Fatal(err)
	}
	return func(def string) *jsonschema.Schema {
		t.Helper()
		name := strings.NewReplacer(" ", "%20", "/", "~1").Replace(def)
		schema, err := compiler.Compile(schemaID + "#/$defs/" + name)
		if err != nil {
			t.Fatalf("compile %s: %v", def, err)
		}
		return schema
	}
}

// Each valid vector fits the schema of its side (and of the answer to its method), and each invalid one that is JSON doesn't,
// except where the vector says that a schema can't see it.
func TestSchemaAgreesWithVectors(t *testing.T) {
	compile := compileSchema(t)
	for _, v := range readVectors(t) {
		if v.Code == CodeParse {
			continue
		}
		t.Run(v.file+"/"+v.Name, func(t *testing.T) {
			frame, err := jsonschema.UnmarshalJSON(strings.NewReader(v.Frame))
			if err != nil {
				t.Fatal(err)
			}
			for _, side := range v.sides(t) {
				def := map[Side]string{FromPage: "from page", FromHost: "from host"}[side]
				if v.Answers != "" {
					def = "answer " + v.Answers
				}
				err := compile(def).Validate(frame)
				if accepted := err == nil; accepted != (v.Valid || v.SchemaAccepts) {
					t.Errorf("%q: accepted = %v: %v", def, accepted, err)
				}
			}
		})
	}
}

// The Go payload types and the schema name the same members and require the same ones.
func TestSchemaAgreesWithGoTypes(t *testing.T) {
	var doc struct {
		Defs map[string]struct {
			Required   []string
			Properties map[string]any
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(Schema), &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var check func(typ reflect.Type)
	check = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			check(typ.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[typ] {
			return
		}
		seen[typ] = true
		def, ok := doc.Defs[typ.Name()]
		if !ok {
			t.Errorf("schema has no $defs/%s", typ.Name())
			return
		}
		var required []string
		for _, f := range fieldsOf(typ).fields {
			if !f.optional {
				required = append(required, f.name)
			}
			if _, ok := def.Properties[f.name]; !ok {
				t.Errorf("%s.%s isn't in the schema", typ.Name(), f.name)
			}
			check(typ.Field(f.index).Type)
		}
		if len(def.Properties) != typ.NumField() {
			t.Errorf("%s: schema has %d properties, Go %d fields", typ.Name(), len(def.Properties), typ.NumField())
		}
		slices.Sort(required)
		slices.Sort(def.Required)
		if !slices.Equal(required, def.Required) {
			t.Errorf("%s: schema requires %v, Go %v", typ.Name(), def.Required, required)
		}
	}
	for _, m := range methods {
		check(reflect.TypeOf(m.NewParams()))
		if m.NewResult != nil {
			check(reflect.TypeOf(m.NewResult()))
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d types were compared", len(seen))
	}
}
