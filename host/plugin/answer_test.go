package plugin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/jsonvalue"
)

func TestParseAnswer(t *testing.T) {
	deep := strings.Repeat("[", jsonvalue.MaxDepth) + strings.Repeat("]", jsonvalue.MaxDepth)
	for name, tc := range map[string]struct{ out, value, content string }{
		"structured":                   {`{"content":[],"structuredContent":{"a":1.0}}`, `{"a":1.0}`, `[]`},
		"structured wins over content": {`{"content":[{"type":"text","text":"{}"}],"structuredContent":{"a":1}}`, `{"a":1}`, `[{"type":"text","text":"{}"}]`},
		"structured alone":             {`{"structuredContent":[1, 2]}`, `[1, 2]`, ``},
		"structured null alone":        {`{"structuredContent":null}`, `null`, ``},
		"structured null, no items":    {`{"structuredContent":null,"content":[]}`, `null`, `[]`},
		"structured null and a text":   {`{"structuredContent":null,"content":[{"type":"text","text":"a"}]}`, `"a"`, `[{"type":"text","text":"a"}]`},
		"text is never parsed":         {`{"content":[{"type":"text","text":"[1,2]"}]}`, `"[1,2]"`, `[{"type":"text","text":"[1,2]"}]`},
		"text as written":              {`{"content":[{"text":"\u00fc\/","type":"text"}],"isError":false}`, `"\u00fc\/"`, `[{"text":"\u00fc\/","type":"text"}]`},
		"two texts":                    {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		"image":                        {`{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}`, `[{"type":"image","data":"AA==","mimeType":"image/png"}]`, `[{"type":"image","data":"AA==","mimeType":"image/png"}]`},
		"no items":                     {`{"content":[]}`, `[]`, `[]`},
		"isError null":                 {`{"content":[],"isError":null,"_meta":{"x":1},"future":0}`, `[]`, `[]`},
		"numbers are carried":          {`{"structuredContent":{"n":[9007199254740993,10000000000000000000000000000000000000000,1.0,-0.0,1E+2]}}`, `{"n":[9007199254740993,10000000000000000000000000000000000000000,1.0,-0.0,1E+2]}`, ``},
		"strings are carried":          {`{"structuredContent":{"😀":"\u0000\ud83d\ude00"}}`, `{"😀":"\u0000\ud83d\ude00"}`, ``},
		"duplicates are carried":       {`{"structuredContent":{"a":1,"a":2}}`, `{"a":1,"a":2}`, ``},
		"as deep as anywhere":          {`{"structuredContent":` + deep + `}`, deep, ``},
		"space around":                 {" \n{ \"structuredContent\" : 1 } \n", `1`, ``},
		"escaped member name":          {`{"\u0073tructuredContent":1}`, `1`, ``},
		"null content and structured":  {`{"content":null,"structuredContent":1}`, `1`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := parseAnswer("plugin:p/t", []byte(tc.out))
			if err != nil {
				t.Fatal(err)
			}
			if string(a.Value) != tc.value || string(a.Content) != tc.content {
				t.Errorf("value %s, content %s", a.Value, a.Content)
			}
		})
	}
}

func TestParseAnswerRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ out, want string }{
		"empty":                {"", "answered nothing"},
		"space":                {" \n", "answered nothing"},
		"not JSON":             {"hello", "isn't JSON"},
		"not an object":        {"[1]", "not an object"},
		"neither member":       {`{"ok":true}`, "neither content nor structuredContent"},
		"null content":         {`{"content":null}`, "neither content nor structuredContent"},
		"content isn't a list": {`{"content":{}}`, "content isn't an array"},
		"items aren't objects": {`{"content":["a"]}`, "content isn't an array of MCP content items"},
		"isError is a string":  {`{"content":[],"isError":"yes"}`, "isError is neither"},
		"twice":                {`{"content":[],"structuredContent":1,"structuredContent":2}`, `"structuredContent" in it twice`},
		"NaN":                  {`{"structuredContent":{"rows":[NaN]}}`, "value.structuredContent.rows[0]"},
		"too deep":             {`{"structuredContent":` + strings.Repeat("[", 513) + strings.Repeat("]", 513) + `}`, "deeper than 512"},
		"overflow":             {`{"structuredContent":1e400}`, "out of range"},
		"lone surrogate":       {`{"structuredContent":"\ud800"}`, "lone surrogate"},
		"invalid UTF-8":        {"{\"structuredContent\":\"caf\xe9\"}", "invalid UTF-8"},
		"UTF-8 in a name":      {"{\"caf\xe9\":1,\"content\":[]}", "invalid UTF-8"},
		"more after it":        {`{"content":[]}{}`, "after the end"},
		"error of no words":    {`{"content":[],"isError":true}`, "reported an error without saying which"},
		"error in two texts":   {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"isError":true}`, "a\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := parseAnswer("plugin:p/t", []byte(tc.out))
			if err == nil {
				t.Fatalf("accepted: %s", a.Value)
			}
			if err.Type != "PluginError" || !strings.Contains(err.Message, tc.want) {
				t.Errorf("got %s: %s, want …%s…", err.Type, err.Message, tc.want)
			}
		})
	}
}

func TestCallInputCarriesArguments(t *testing.T) {
	const arguments = `{"n":1.0, "big":10000000000000000000000000000000000000000,"a":1,"a":2}`
	if got := string(callInput("echo", json.RawMessage(arguments))); got != `{"method":"tools/call","params":{"name":"echo","arguments":`+arguments+`}}` {
		t.Errorf("got %s", got)
	}
	if got := string(callInput("noop", nil)); got != `{"method":"tools/call","params":{"name":"noop","arguments":{}}}` {
		t.Errorf("got %s", got)
	}
}

// FuzzParseAnswer holds the splitter to encoding/json: what one accepts as an object of acceptable values, the other
// splits in the same way.
func FuzzParseAnswer(f *testing.F) {
	for _, seed := range []string{`{"content":[],"structuredContent":{"a":[1,"}"]}}`, `{"a":"\"","b":1}`, `{}`, `{"a":1,}`, `{"a":[1}]}`, `{"a" 1}`, `{"a":"`, `{"isError":true,"content":[{"type":"text","text":"x"}]}`, "{\"\\u0061\":0}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		parseAnswer("plugin:p/t", out) //nolint:errcheck // must not panic, whatever it returns
		members, err := splitObject(out)
		if err == nil {
			// Only nesting can be deeper by one level than Check allows for the whole.
			if bad := jsonvalue.Check(out); bad != nil && !strings.Contains(bad.Error(), "deeper than") {
				t.Fatalf("split what isn't acceptable: %v", bad)
			}
			var want map[string]json.RawMessage
			if err := json.Unmarshal(out, &want); err != nil {
				t.Fatalf("split what encoding/json refuses: %v", err)
			}
			got := map[string]string{}
			for _, m := range members {
				got[m.name] = string(m.value)
			}
			if len(got) != len(want) {
				t.Fatalf("%d members, want %d", len(got), len(want))
			}
			for name, value := range want {
				if got[name] != string(value) {
					t.Fatalf("member %q is %q, want %q", name, got[name], value)
				}
			}
			return
		}
		var object map[string]json.RawMessage
		if jsonvalue.Check(out) == nil && json.Unmarshal(out, &object) == nil && object != nil {
			t.Fatalf("refused an object: %v", err)
		}
	})
}
