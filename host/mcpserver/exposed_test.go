package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/capability"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"plugin:a/*", "plugin:a/b", true}, {"plugin:a/*", "plugin:a/b/c", true}, {"plugin:a/*", "plugin:ab/c", false}, {"plugin:a/b", "plugin:a/b", true},
		{"plugin:a/b", "plugin:a/bc", false}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"a?c", "aéc", true}, {"*c", "abcc", true}, {"a*b*c", "axxbyyc", true},
		{"a*b*c", "axxbyy", false}, {"", "", true}, {"*", "", true}, {"", "a", false}, {"a**", "a", true}, {"[a]", "a", false},
	} {
		if got := glob(c.pattern, c.text); got != c.want {
			t.Errorf("glob(%q, %q) is %v", c.pattern, c.text, got)
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("a*b?c", "aXbYc")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || len(text) > 100 {
			return
		}
		if !strings.ContainsAny(pattern, "*?") && glob(pattern, text) != (string([]rune(pattern)) == string([]rune(text))) {
			t.Errorf("without wildcards glob isn't equality: %q %q", pattern, text)
		}
		if !glob("*", text) || !glob("*"+text+"*", text) && !strings.ContainsAny(text, "*?") {
			t.Errorf("%q isn't found in itself", text)
		}
	})
}

func TestExposureNames(t *testing.T) {
	r := capability.NewRegistry()
	put(t, r, "plugin:orders",
		capability.Capability{Name: "plugin:orders/list", Tags: []string{"Lookup"}}, capability.Capability{Name: "plugin:orders/get"},
		capability.Capability{Name: "plugin:orders/größe.x"}, capability.Capability{Name: "plugin:orders/" + strings.Repeat("long", 20)}, capability.Capability{Name: "plugin:orders/hidden", Hidden: true})
	put(t, r, "plugin:orders_list", capability.Capability{Name: "plugin:orders_list/x", Tags: []string{"lookup"}})
	put(t, r, "plugin:execute", capability.Capability{Name: "plugin:execute/code"})
	put(t, r, "cli:git", capability.Capability{Name: "cli:git"})
	var log bytes.Buffer
	names := func(patterns ...string) map[string]string {
		e := NewExposure(patterns, r, slog.New(slog.NewTextHandler(&log, nil)))
		out := map[string]string{}
		for _, tool := range e.tools() {
			out[tool.capability.Name] = tool.name
			if len(tool.name) > 64 || strings.Trim(tool.name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || tool.name == "" {
				t.Errorf("%v: a tool is called %q", patterns, tool.name)
			}
		}
		e.warn()
		e.warn()
		return out
	}
	all := names("plugin:orders/*", "cli:git")
	if all["plugin:orders/list"] != "orders_list" || all["plugin:orders/größe.x"] != "orders_gr__e_x" || all["cli:git"] != "git" || len(all) != 5 {
		t.Errorf("%v", all)
	}
	if got := names("tag:lookup"); len(got) != 2 || got["plugin:orders_list/x"] != "orders_list_x" {
		t.Errorf("%v", got)
	}
	if got := names("plugin:orders/* as *", "plugin:orders/get as read-one"); got["plugin:orders/list"] != "list" || got["plugin:orders/get"] != "read-one" {
		t.Errorf("%v", got)
	}
	// Of names that collide neither is the short one, and a tool of this server keeps its own.
	if got := names("plugin:orders/list as x", "plugin:orders/get as x"); got["plugin:orders/list"] == got["plugin:orders/get"] || got["plugin:orders/list"] == "x" || got["plugin:orders/get"] == "x" {
		t.Errorf("%v", got)
	}
	if got := names("plugin:execute/code"); fixedTools[got["plugin:execute/code"]] || !strings.HasPrefix(got["plugin:execute/code"], "execute_code_") {
		t.Errorf("%v", got)
	}
	if log.Len() != 0 {
		t.Errorf("warned without a reason: %s", log.String())
	}
	names("plugin:nothing/*", "cli:git", "tag:none")
	if got := log.String(); strings.Count(got, "nothing matches") != 2 || !strings.Contains(got, "plugin:nothing/*") || !strings.Contains(got, "tag:none") {
		t.Errorf("warnings: %s", got)
	}
	if NewExposure(nil, r, nil) != nil {
		t.Error("an exposure of nothing")
	}
}

// exposing makes options that expose capabilities of one plugin, which answer by
// the function.
func exposing(t *testing.T, o Options, answer func(capability.Invocation) (capability.Answer, *capability.Error), caps ...capability.Capability) Options {
	t.Helper()
	r := capability.NewRegistry()
	put(t, r, "plugin:p", caps...)
	o.Registry, o.Index, o.Expose = r, indexOf(t, r), NewExposure([]string{"plugin:p/*"}, r, nil)
	o.Call = func(_ context.Context, inv capability.Invocation) (capability.Answer, *capability.Error) {
		return answer(inv)
	}
	return o
}

func TestExposedTools(t *testing.T) {
	const (
		image    = `{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png","annotations":{"audience":["user"],"priority":0.5}}`
		audio    = `{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}`
		resource = `{"type":"resource","resource":{"uri":"test://x","mimeType":"text/plain","text":"inside"}}`
		text     = `{"type":"text","text":"hello"}`
	)
	answers := map[string]capability.Answer{
		"plugin:p/text":       {Value: json.RawMessage(`"hello"`), Content: json.RawMessage(`[` + text + `]`)},
		"plugin:p/mixed":      {Value: json.RawMessage(`[]`), Content: json.RawMessage(`[` + text + `,` + image + `,` + audio + `,` + resource + `]`)},
		"plugin:p/structured": {Value: json.RawMessage(`{"n":9007199254740993,"f":1.0}`), Content: json.RawMessage(`[{"type":"text","text":"n is large"}]`)},
		"plugin:p/bare":       {Value: json.RawMessage(`[1,2.0]`)},
		"plugin:p/bare_text":  {Value: json.RawMessage(`"a\"b"`)},
		"plugin:p/broken":     {Value: json.RawMessage(`1`), Content: json.RawMessage(`[{"text":"no type"}]`)},
		"plugin:p/promise":    {Value: json.RawMessage(`"text"`), Content: json.RawMessage(`[` + text + `]`)},
	}
	var seen []capability.Invocation
	o := testOptions(t)
	o.Subject = "ada"
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	o = exposing(t, o, func(inv capability.Invocation) (capability.Answer, *capability.Error) {
		seen = append(seen, inv)
		if inv.Capability == "plugin:p/fails" {
			return capability.Answer{}, capability.Errorf(capability.ValueError, "InvalidArgumentsError", "count is too large")
		}
		return answers[inv.Capability], nil
	},
		capability.Capability{Name: "plugin:p/text", Title: "Text", Description: "Says hello.", Annotations: json.RawMessage(`{"readOnlyHint":true,"destructiveHint":false,"x":1}`),
			InputSchema: json.RawMessage(`{"properties":{"name":{"type":"string"}}}`)},
		capability.Capability{Name: "plugin:p/mixed"}, capability.Capability{Name: "plugin:p/structured", OutputSchema: schema},
		capability.Capability{Name: "plugin:p/bare", OutputSchema: json.RawMessage(`{"type":"array"}`)}, capability.Capability{Name: "plugin:p/bare_text"},
		capability.Capability{Name: "plugin:p/fails"}, capability.Capability{Name: "plugin:p/broken"}, capability.Capability{Name: "plugin:p/promise", OutputSchema: schema})
	client := connect(t, o, nil)
	tools := listTools(t, client)
	if got := tools["p_text"]; got == nil || got.Title != "Text" || got.Description != "Says hello." || !got.Annotations.ReadOnlyHint || *got.Annotations.DestructiveHint ||
		got.InputSchema.(map[string]any)["type"] != "object" || got.InputSchema.(map[string]any)["properties"] == nil {
		t.Errorf("%+v", got)
	}
	if tools["p_bare"].OutputSchema != nil || tools["p_structured"].OutputSchema == nil {
		t.Error("the wrong output schemas are listed")
	}
	raw := initialized(t, New(o))
	defer raw.end()
	for name, want := range map[string]string{
		"p_text":       `{"content":[` + text + `]}`,
		"p_mixed":      `{"content":[` + text + `,` + image + `,` + audio + `,` + resource + `]}`,
		"p_structured": `{"content":[{"type":"text","text":"n is large"}],"structuredContent":{"n":9007199254740993,"f":1.0}}`,
		"p_bare":       `{"content":[{"type":"text","text":"[1,2.0]"}]}`,
		"p_bare_text":  `{"content":[{"type":"text","text":"a\"b"}]}`,
		"p_fails":      `{"content":[{"type":"text","text":"InvalidArgumentsError: count is too large"}],"isError":true}`,
	} {
		// As sent, since the client would decode the numbers.
		if _, got := raw.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"name":"x"}}`, name)); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	if inv := seen[0]; inv.Scope != "test" || inv.Subject != "ada" || string(inv.Arguments) != `{"name":"x"}` || inv.Progress != nil {
		t.Errorf("%+v", inv)
	}
	for name, says := range map[string]string{"p_broken": "has no type", "p_promise": "output schema promises"} {
		if res := call(t, client, name, `{}`); !res.IsError || !strings.Contains(textOf(res), says) {
			t.Errorf("%s: %s", name, textOf(res))
		}
	}
	if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "p_none"}); err == nil {
		t.Error("a tool that isn't there answered")
	}
}

func TestExposedAnswersFold(t *testing.T) {
	list := rows(100 << 10)
	object := `{"rows":` + list + `}`
	quoted := func(s string) string { return string(jsonString(s)) }
	textItem := func(s string) string { return `[{"type":"text","text":` + quoted(s) + `}]` }
	const defs = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/row"}}},"required":["rows"],"$defs":{"row":{"type":"object","required":["id"]}}}`
	const tied = `{"type":"object","properties":{"a":{"type":"array"},"rows":{"$ref":"#/properties/a"}}}`
	cases := map[string]struct {
		answer capability.Answer
		schema string
		stored string // "" if it's whole
		kept   string // what stays as structured content
	}{
		"json_text":     {answer: capability.Answer{Value: json.RawMessage(quoted(list)), Content: json.RawMessage(textItem(list))}, stored: list},
		"spaced_text":   {answer: capability.Answer{Value: json.RawMessage(quoted(" " + object + "\n")), Content: json.RawMessage(textItem(" " + object + "\n"))}, stored: object},
		"plain_text":    {answer: capability.Answer{Value: json.RawMessage(quoted("<" + list)), Content: json.RawMessage(textItem("<" + list))}, stored: quoted("<" + list)},
		"structured":    {answer: capability.Answer{Value: json.RawMessage(object), Content: json.RawMessage(textItem("short"))}, stored: object},
		"with_schema":   {answer: capability.Answer{Value: json.RawMessage(object), Content: json.RawMessage(textItem(object))}, schema: defs, stored: object},
		"tied_schema":   {answer: capability.Answer{Value: json.RawMessage(object), Content: json.RawMessage(textItem("short"))}, schema: tied},
		"laid_out":      {answer: capability.Answer{Value: json.RawMessage(`{"n":1}`), Content: json.RawMessage(textItem("| " + list))}, stored: quoted("| " + list), kept: `{"n":1}`},
		"several_texts": {answer: capability.Answer{Value: json.RawMessage(`[]`), Content: json.RawMessage(`[{"type":"text","text":"a"},{"type":"text","text":` + quoted(list) + `}]`)}},
		"an_image":      {answer: capability.Answer{Value: json.RawMessage(`[]`), Content: json.RawMessage(`[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("AAAA", 10_000) + `"}]`)}},
		"looks_like_it": {answer: capability.Answer{Value: json.RawMessage(`{"folded":{"handle":"res_x","preview":1,"shape":{}}}`), Content: json.RawMessage(textItem("x"))}},
		"small":         {answer: capability.Answer{Value: json.RawMessage(`"x"`), Content: json.RawMessage(textItem("x"))}},
	}
	var caps []capability.Capability
	for name, c := range cases {
		caps = append(caps, capability.Capability{Name: "plugin:p/" + name, OutputSchema: json.RawMessage(c.schema)})
	}
	slices.SortFunc(caps, func(a, b capability.Capability) int { return strings.Compare(a.Name, b.Name) })
	o := testOptions(t)
	o = exposing(t, o, func(inv capability.Invocation) (capability.Answer, *capability.Error) {
		return cases[strings.TrimPrefix(inv.Capability, "plugin:p/")].answer, nil
	}, caps...)
	client := connect(t, o, nil)
	tools := listTools(t, client)
	for name, c := range cases {
		res := call(t, client, "p_"+name, `{}`)
		handle, _ := res.Meta[metaHandle].(map[string]any)
		if schema := tools["p_"+name].OutputSchema; schema != nil {
			if err := fits(t, schema, res.StructuredContent); err != nil {
				t.Errorf("%s: the answer doesn't fit the schema that is listed: %v", name, err)
			}
			if err := fits(t, schema, map[string]any{"folded": 1}); err == nil && c.schema == defs {
				t.Errorf("%s: the listed schema takes anything", name)
			}
		} else if c.schema != "" {
			t.Errorf("%s lists no schema", name)
		}
		if c.stored == "" {
			if res.Meta[metaHandle] != nil || strings.Contains(textOf(res), "result_query") || len(res.Content) == 0 {
				t.Errorf("%s was folded: %.200s", name, textOf(res))
			}
			continue
		}
		if handle == nil || len(res.Content) != 1 || !strings.Contains(textOf(res), fmt.Sprint(handle["handle"])) || len(textOf(res)) > 500 {
			t.Errorf("%s wasn't folded: %.500s", name, textOf(res))
			continue
		}
		stored, _, err := o.Results.View(New(o).owner(), fmt.Sprint(handle["handle"]))
		if err != nil || string(stored) != c.stored {
			t.Errorf("%s: stored %.100s…, want %.100s…: %v", name, stored, c.stored, err)
		}
		raw, _ := json.Marshal(res.StructuredContent)
		if c.kept != "" && string(raw) != c.kept {
			t.Errorf("%s: the structured content became %.200s", name, raw)
		}
		if c.kept == "" && !strings.HasPrefix(string(raw), `{"folded":{`) {
			t.Errorf("%s: %.200s", name, raw)
		}
	}
	// Where nothing can be put aside the schemas are as they were given.
	o.Results = nil
	o = exposing(t, o, func(capability.Invocation) (capability.Answer, *capability.Error) {
		return cases["structured"].answer, nil
	},
		capability.Capability{Name: "plugin:p/with_schema", OutputSchema: json.RawMessage(defs)})
	client = connect(t, o, nil)
	if s := listTools(t, client)["p_with_schema"].OutputSchema.(map[string]any); s["anyOf"] != nil {
		t.Error("the schema admits a folded form that can't be")
	}
	res := call(t, client, "p_with_schema", `{}`)
	if raw, _ := json.Marshal(res.StructuredContent); len(raw) < 90<<10 || !strings.Contains(textOf(res), "Warning") {
		t.Errorf("%d bytes, %s", len(raw), textOf(res))
	}
}

func fits(t *testing.T, schema, value any) error {
	t.Helper()
	raw, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved.Validate(value)
}

func TestExposedProgress(t *testing.T) {
	o := testOptions(t)
	got := make(chan string, 4)
	r := capability.NewRegistry()
	put(t, r, "plugin:p", capability.Capability{Name: "plugin:p/slow"})
	o.Registry, o.Index, o.Expose = r, indexOf(t, r), NewExposure([]string{"plugin:p/slow"}, r, nil)
	o.Call = func(_ context.Context, inv capability.Invocation) (capability.Answer, *capability.Error) {
		inv.Progress(1, 4, "a quarter")
		return capability.Answer{Value: json.RawMessage("1")}, nil
	}
	client := connect(t, o, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		got <- fmt.Sprint(r.Params.Progress, "/", r.Params.Total, " ", r.Params.Message)
	}})
	params := &mcp.CallToolParams{Name: "p_slow"}
	params.SetProgressToken("t")
	if _, err := client.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "1/4 a quarter" {
		t.Error(s)
	}
}
