package sdk

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"
)

type everyKind struct {
	Bool     bool              `json:"bool"`
	Int      int               `json:"int" jsonschema:"minimum=-5,maximum=10,example=3,example=4"`
	Uint     uint8             `json:"uint"`
	Float    float64           `json:"float" jsonschema:"exclusiveMinimum=0,multipleOf=0.5"`
	Text     string            `json:"text" jsonschema:"minLength=1,maxLength=9,pattern=^a\\,b$,format=email" jsonschema_description:"With a \"quote\", and a comma."`
	Choice   string            `json:"choice" jsonschema:"enum=a,enum=b c,default=a,title=The choice"`
	Size     int               `json:"size" jsonschema:"enum=1,enum=2"`
	Bytes    []byte            `json:"bytes"`
	List     []string          `json:"list" jsonschema:"minItems=1,maxItems=3,uniqueItems"`
	Pair     [2]int            `json:"pair"`
	Map      map[string]int    `json:"map,omitempty"`
	Any      any               `json:"any,omitzero"`
	Raw      json.RawMessage   `json:"raw"`
	Number   json.Number       `json:"number"`
	Big      big.Int           `json:"big"`
	BigPtr   *big.Int          `json:"big_ptr"`
	Time     time.Time         `json:"time"`
	Inner    inner             `json:"inner" jsonschema_description:"Nested."`
	InnerPtr *inner            `json:"inner_ptr"`
	MaybeInt *int              `json:"maybe_int" jsonschema:"enum=1,enum=2"`
	Maps     map[string][]bool `json:"maps,omitempty"`
	embedded
	Skipped    int `json:"-"`
	unexported int
	NoTag      int
}

type inner struct {
	A int `json:"a"`
	B int `json:"b,omitempty" jsonschema:"default=7"`
}

type embedded struct {
	Embedded string `json:"embedded,omitempty"`
}

func TestSchemaOfEveryKind(t *testing.T) {
	_ = everyKind{unexported: 1}
	schema, err := schemaOf(reflect.TypeFor[everyKind](), true)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Type                 string
		Properties           map[string]json.RawMessage
		Required             []string
		AdditionalProperties *bool
	}
	if err := json.Unmarshal(schema, &got); err != nil {
		t.Fatalf("%v in %s", err, schema)
	}
	for name, want := range map[string]string{
		"bool":      `{"type":"boolean"}`,
		"int":       `{"type":"integer","minimum":-5,"maximum":10,"examples":[3,4]}`,
		"uint":      `{"type":"integer","minimum":0}`,
		"float":     `{"type":"number","exclusiveMinimum":0,"multipleOf":0.5}`,
		"text":      `{"type":"string","description":"With a \"quote\", and a comma.","minLength":1,"maxLength":9,"pattern":"^a,b$","format":"email"}`,
		"choice":    `{"type":"string","default":"a","title":"The choice","enum":["a","b c"]}`,
		"size":      `{"type":"integer","enum":[1,2]}`,
		"bytes":     `{"type":"string","contentEncoding":"base64"}`,
		"list":      `{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":3,"uniqueItems":true}`,
		"pair":      `{"type":"array","items":{"type":"integer"}}`,
		"map":       `{"type":"object","additionalProperties":{"type":"integer"}}`,
		"any":       `{}`,
		"raw":       `{}`,
		"number":    `{"type":"number"}`,
		"big":       `{"type":"integer"}`,
		"big_ptr":   `{"type":["integer","null"]}`,
		"time":      `{"type":"string","format":"date-time"}`,
		"inner":     `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer","default":7}},"required":["a"],"additionalProperties":false,"description":"Nested."}`,
		"inner_ptr": `{"anyOf":[{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer","default":7}},"required":["a"],"additionalProperties":false},{"type":"null"}]}`,
		"maybe_int": `{"type":["integer","null"],"enum":[1,2,null]}`,
		"maps":      `{"type":"object","additionalProperties":{"type":"array","items":{"type":"boolean"}}}`,
		"embedded":  `{"type":"string"}`,
		"NoTag":     `{"type":"integer"}`,
	} {
		if string(got.Properties[name]) != want {
			t.Errorf("%s: %s, want %s", name, got.Properties[name], want)
		}
		delete(got.Properties, name)
	}
	if len(got.Properties) > 0 {
		t.Errorf("also has %v", got.Properties)
	}
	if want := "bool int uint float text size bytes list pair raw number big time inner NoTag"; strings.Join(got.Required, " ") != want {
		t.Errorf("required %q, want %q", got.Required, want)
	}
	if got.AdditionalProperties == nil || *got.AdditionalProperties {
		t.Error("an input allows unknown arguments")
	}
	if out, err := schemaOf(reflect.TypeFor[inner](), false); err != nil || strings.Contains(string(out), "additionalProperties") {
		t.Errorf("an output forbids more members: %s, %v", out, err)
	}
}

type tree struct {
	Name     string `json:"name"`
	Children []tree `json:"children,omitempty"`
	Parent   *tree  `json:"parent,omitempty"`
}

func TestSchemaOfTypeThatContainsItself(t *testing.T) {
	got, err := schemaOf(reflect.TypeFor[struct {
		Root tree `json:"root"`
	}](), false)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"$defs":{"tree":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/tree"}},` +
		`"parent":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]}},"required":["name"]}},` +
		`"type":"object","properties":{"root":{"$ref":"#/$defs/tree"}},"required":["root"]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if whole, err := schemaOf(reflect.TypeFor[tree](), false); err != nil || !strings.HasSuffix(string(whole), `,"$ref":"#/$defs/tree"}`) {
		t.Errorf("the type itself: %s, %v", whole, err)
	}
}

type celsius float64

func (celsius) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"number","minimum":-273.15}`)
}

type badSchemer struct{}

func (badSchemer) JSONSchema() json.RawMessage { return json.RawMessage(`true`) }

func TestSchemaFromMethod(t *testing.T) {
	if got, err := schemaOf(reflect.TypeFor[map[string]celsius](), false); err != nil || string(got) != `{"type":"object","additionalProperties":{"type":"number","minimum":-273.15}}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestSchemaErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		of   reflect.Type
		want string
	}{
		"channel":  {reflect.TypeFor[struct{ C chan int }](), "C: chan int has no JSON schema"},
		"function": {reflect.TypeFor[func()](), "func() has no JSON schema"},
		"map keys": {reflect.TypeFor[map[int]string](), "its keys aren't strings"},
		"keyword": {reflect.TypeFor[struct {
			A int `jsonschema:"minimun=1"`
		}](), `unknown keyword "minimun"`},
		"value": {reflect.TypeFor[struct {
			A int `jsonschema:"minimum=one"`
		}](), "minimum=one isn't a value for a field of type int"},
		"default": {reflect.TypeFor[struct {
			A int `jsonschema:"default=x"`
		}](), "default=x isn't a value"},
		"schema method": {reflect.TypeFor[badSchemer](), "doesn't return an object"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := schemaOf(tc.of, true); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %s, %v; want …%s…", got, err, tc.want)
			}
		})
	}
}
