package mcpserver

import (
	"encoding/json"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/jsonvalue"
)

// FuzzExposedAnswer has providers answer anything that the bridge lets through:
// what is sent is JSON, and either folded or the answer's own items.
func FuzzExposedAnswer(f *testing.F) {
	f.Add(`{"a":1}`, `[{"type":"text","text":"x"}]`)
	f.Add(`"x"`, `[{"type":"image","data":"","mimeType":"x"},{"type":"text"}]`)
	f.Add(`[1]`, `[]`)
	f.Add(`null`, `{"type":"text"}`)
	f.Add(`{"folded":{}}`, ``)
	s := New(testOptions(f))
	tool := &exposedTool{name: "t", capability: capability.Capability{Name: "plugin:p/t"}}
	f.Fuzz(func(t *testing.T, value, content string) {
		if jsonvalue.Check([]byte(value)) != nil || content != "" && jsonvalue.Check([]byte(content)) != nil {
			return
		}
		answer := capability.Answer{Value: json.RawMessage(value)}
		if content != "" {
			answer.Content = json.RawMessage(content)
		}
		res, err := s.exposedResult(tool, answer)
		if err != nil {
			return
		}
		raw, err := json.Marshal(res)
		if err != nil || !json.Valid(raw) {
			t.Fatalf("%v: %s", err, raw)
		}
		if len(value)+len(content) < s.o.Fold.threshold() && res.Meta[metaHandle] != nil {
			t.Error("a small answer was folded")
		}
	})
}

// FuzzOutputSchema: whatever schema a provider gives, what's listed is a schema of
// objects, and one that moves keeps all its members.
func FuzzOutputSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{}}}`)
	f.Add(`{"type":"object","$id":"x"}`)
	f.Add(`{"type":["object"]}`)
	f.Add(`{"tYpe":"object"}`) // names are case-sensitive
	f.Add(`true`)
	f.Fuzz(func(t *testing.T, schema string) {
		if jsonvalue.Check([]byte(schema)) != nil {
			return
		}
		tool := &exposedTool{name: "t", capability: capability.Capability{Name: "plugin:p/t", InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(schema)}}
		for _, folds := range []bool{true, false} {
			raw, err := json.Marshal(tool.tool(folds))
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ InputSchema, OutputSchema map[string]any }
			if err := json.Unmarshal(raw, &got); err != nil || got.InputSchema["type"] != "object" || got.OutputSchema != nil && got.OutputSchema["type"] != "object" {
				t.Fatalf("%v: %s", err, raw)
			}
		}
	})
}

// FuzzToolArguments has clients send anything to the tools that decode arguments.
func FuzzToolArguments(f *testing.F) {
	f.Add(`{"handle":"res_x","offset":1}`)
	f.Add(`{"names":["a"],"detail":"full","query":"x","tags":["y"],"limit":1}`)
	f.Add(`null`)
	s := New(testOptions(f))
	f.Fuzz(func(t *testing.T, raw string) {
		args, err := parseArguments(json.RawMessage(raw))
		if err != nil {
			return
		}
		for _, tool := range []func(arguments) (*answer, error){
			func(a arguments) (*answer, error) { return s.query(t.Context(), nil, a) },
			func(a arguments) (*answer, error) { return s.search(t.Context(), nil, a) },
			func(a arguments) (*answer, error) { return s.schemas(t.Context(), nil, a) },
			func(a arguments) (*answer, error) { return s.reset(t.Context(), nil, a) },
		} {
			if a, err := tool(args); err == nil && !json.Valid(a.structured) || err != nil && err.Error() == "" {
				t.Errorf("%s: %+v, %v", raw, a, err)
			}
		}
	})
}
