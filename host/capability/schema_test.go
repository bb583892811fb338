package capability_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
)

func TestSchemasThatAreLeftOut(t *testing.T) {
	for name, tc := range map[string]struct{ schema, says string }{
		"not JSON":              {`{"type":`, "its input schema isn't JSON"},
		"not a schema":          {`[]`, "its input schema"},
		"unknown type":          {`{"type":"int"}`, "isn't a valid JSON Schema"},
		"wrong keyword":         {`{"properties":{"a":{"minimum":"1"}}}`, "properties.a.minimum: expected number"},
		"no object":             {`{"type":"string"}`, "describes no object"},
		"nothing":               {`false`, "describes no object"},
		"remote reference":      {`{"$ref":"https://example.com/schema.json"}`, "schemas are never loaded"},
		"file reference":        {`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "schemas are never loaded"},
		"relative reference":    {`{"properties":{"a":{"$ref":"other.json"}}}`, "schemas are never loaded"},
		"remote meta-schema":    {`{"$schema":"https://example.com/meta.json","type":"object"}`, "schemas are never loaded"},
		"reference to nowhere":  {`{"properties":{"a":{"$ref":"#/$defs/none"}}}`, "$defs/none"},
		"look-ahead in a name":  {`{"patternProperties":{"^(?!x)":{}}}`, "patternProperties: Go's regular expressions can't express"},
		"too large":             {`{"description":"` + strings.Repeat("x", capability.MaxSchemaBytes) + `"}`, "the limit is 131072"},
		"too deep":              {strings.Repeat(`{"not":`, 300) + `{}` + strings.Repeat(`}`, 300), "deeper than 256"},
		"100,000 open brackets": {strings.Repeat(`[`, 100_000), "deeper than 256"},
	} {
		t.Run(name, func(t *testing.T) {
			r := capability.NewRegistry()
			err := r.Put(provider("plugin:a"), []capability.Capability{one("plugin:a/bad", tc.schema), one("plugin:a/good", "")})
			var p *capability.ProblemsError
			if !errors.As(err, &p) || len(p.Problems) != 1 || p.Problems[0].Name != "plugin:a/bad" || !p.Problems[0].LeftOut {
				t.Fatalf("Put: %v", err)
			}
			if !strings.Contains(err.Error(), tc.says) || len(err.Error()) > 600 {
				t.Errorf("got %q, want it to say %q", err, tc.says)
			}
			if _, _, err := r.Lookup("plugin:a/good"); err != nil {
				t.Errorf("the other capability went, too: %v", err)
			}
			_, _, err = r.Lookup("plugin:a/bad")
			e := wantError(t, err, capability.LookupError, capability.UnknownCapabilityError)
			if !strings.Contains(e.Message, "left out") {
				t.Errorf("Lookup doesn't say why: %s", e.Message)
			}
			if got := r.Problems(); len(got) != 1 || got[0] != p.Problems[0] {
				t.Errorf("Problems: %v", got)
			}
		})
	}
}

func TestSchemasThatAreTaken(t *testing.T) {
	for name, schema := range map[string]string{
		"draft-07":        `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/a"}}}`,
		"2020-12":         `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`,
		"own identifier":  `{"$id":"https://example.com/a.json","$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`,
		"the meta-schema": `{"type":"object","properties":{"schema":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`,
		"recursive":       `{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`,
		"unknown keyword": `{"type":"object","x-order":1}`,
		"true":            `true`,
	} {
		t.Run(name, func(t *testing.T) {
			r := registry(t, one("plugin:a/b", schema))
			if err := r.ValidateArguments("plugin:a/b", json.RawMessage(`{"a":"x","children":[]}`)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A schema that refers to itself without end must end, whatever the answer.
func TestSchemaCycles(t *testing.T) {
	r := registry(t, one("plugin:a/b", `{"type":"object","allOf":[{"$ref":"#"}]}`))
	err := r.ValidateArguments("plugin:a/b", json.RawMessage(`{}`))
	_ = wantError(t, err, capability.ValueError, capability.InvalidArgumentsError)
}

func TestSchemasAreNeverLoaded(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = w.Write([]byte(`{"type":"object"}`))
	}))
	defer server.Close()
	r := capability.NewRegistry()
	err := r.Put(provider("plugin:a"), []capability.Capability{one("plugin:a/b", `{"$ref":"`+server.URL+`"}`)})
	if err == nil || requests.Load() != 0 {
		t.Errorf("Put: %v after %d requests", err, requests.Load())
	}
}

func TestPatternThatGoCannotMatch(t *testing.T) {
	r := capability.NewRegistry()
	err := r.Put(provider("mcp:a"), []capability.Capability{
		one("mcp:a/b", `{"properties":{"s":{"type":"string","pattern":"^(?!x).*$"},"n":{"type":"integer"}}}`)})
	if err != nil {
		t.Fatalf("the tool was left out: %v", err)
	}
	problems := r.Problems()
	if len(problems) != 1 || problems[0].LeftOut || !strings.Contains(problems[0].Message, `"^(?!x).*$" isn't checked`) {
		t.Errorf("problems %v", problems)
	}
	if err := r.ValidateArguments("mcp:a/b", json.RawMessage(`{"s":"x"}`)); err != nil {
		t.Errorf("the pattern was checked somehow: %v", err)
	}
	if err := r.ValidateArguments("mcp:a/b", json.RawMessage(`{"s":1}`)); err == nil {
		t.Error("the rest of the schema isn't checked any more")
	}
}

// FuzzSchema feeds schemas and arguments from outside: whatever they are, the
// registry answers with an *Error or none, and shows some call.
func FuzzSchema(f *testing.F) {
	f.Add(listSchema, `{"count":1}`)
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(`{"properties":{"a":{"enum":[1e400,"x",null]}}}`, `{"a":1e400}`)
	f.Add(`{"anyOf":[{"required":["a"]},{"not":{}}],"unevaluatedProperties":false}`, `{"b":[[]]}`)
	f.Add(`{"$dynamicRef":"#x","$dynamicAnchor":"x","dependentRequired":{"a":["b"]},"propertyNames":{"pattern":"^a"}}`, `{"a":1,"c":2}`)
	f.Add(`{"properties":{"a":{"contains":{"type":"integer"},"minContains":2,"prefixItems":[{"multipleOf":0.01}]}}}`, `{"a":[0.015,"x"]}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		r := capability.NewRegistry()
		c := one("plugin:a/b", schema)
		if shape := c.CallShape(); shape == "" {
			t.Error("no call shape")
		}
		if err := r.Put(provider("plugin:a"), []capability.Capability{c}); err != nil {
			var p *capability.ProblemsError
			if !errors.As(err, &p) {
				t.Fatalf("Put: %v", err)
			}
			return
		}
		if err := r.ValidateArguments("plugin:a/b", json.RawMessage(args)); err != nil {
			var e *capability.Error
			if !errors.As(err, &e) || !e.Builtin.Valid() || e.Message == "" {
				t.Fatalf("ValidateArguments: %#v", err)
			}
		}
	})
}
