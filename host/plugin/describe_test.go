package plugin

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseDescribe(t *testing.T) {
	long := strings.Repeat("x", 300)
	out := `{"tools":[
		{"name":"good","title":"Good","description":" Does good. ","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":100000000000000000000000}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
		{"name":"` + long + `","inputSchema":{"type":"object"}},
		{"name":"good","description":"An impostor.","inputSchema":{"type":"object"}},
		{"name":"","inputSchema":{"type":"object"}},
		{"name":"a/b","inputSchema":{"type":"object"}},
		{"name":"list_schema","inputSchema":[]},
		{"name":"string_schema","inputSchema":{"type":"string"}},
		{"name":"wrong","inputSchema":{"type":"object"},"description":7},
		{"name":"bad_output","inputSchema":{"type":"object"},"outputSchema":"x"},
		{"name":"wordy","description":"` + strings.Repeat("x", 40000) + `","inputSchema":{"type":"object"}},
		"text",
		{"name":"no_schema"},
		{"name":"null_schema","inputSchema":null,"outputSchema":null,"annotations":null},
		{"name":"object_or_null","inputSchema":{"type":["object","null"]},"annotations":{"title":"From the annotations"}},
		{"name":"skipped","inputSchema":{}}
	]}`
	caps, problems, err := parseDescribe("plugin:p", []byte(out), []string{"skip*", "nonesuch"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range caps {
		names = append(names, c.Name)
	}
	if want := []string{"plugin:p/good", "plugin:p/no_schema", "plugin:p/null_schema", "plugin:p/object_or_null"}; !slices.Equal(names, want) {
		t.Errorf("tools %q, want %q", names, want)
	}
	good := caps[0]
	if good.Title != "Good" || good.Description != "Does good." || !strings.Contains(string(good.InputSchema), "100000000000000000000000") ||
		string(good.Annotations) != `{"readOnlyHint":true}` || string(good.OutputSchema) != `{"type":"object"}` {
		t.Errorf("good is %+v", good)
	}
	if caps[3].Title != "From the annotations" || string(caps[1].InputSchema) != `{"type":"object"}` || caps[2].OutputSchema != nil {
		t.Errorf("got %+v", caps[1:])
	}
	all := strings.Join(problems, "\n")
	for _, want := range []string{
		"tool 2 (" + strings.Repeat("x", 60) + "…) is left out: a tool's name has 1 to 128 letters",
		"tool 3 (good) is left out: an earlier tool has the same name",
		"tool 4 () is left out", "tool 5 (a/b) is left out",
		"tool 6 (list_schema) is left out: its inputSchema isn't an object",
		"tool 7 (string_schema) is left out: its inputSchema has the type \"string\"",
		"tool 8 (wrong) is left out: it isn't described as an MCP tool",
		"tool 9 (bad_output) is left out: its outputSchema isn't an object",
		"tool 10 (wordy) is left out: its description is 40000 bytes long",
		"tool 11 () is left out",
		`skip_tools names "nonesuch", but no tool is called so`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no problem says %q:\n%s", want, all)
		}
	}
	if len(problems) != 11 {
		t.Errorf("%d problems:\n%s", len(problems), all)
	}
}

func TestParseDescribeOneTool(t *testing.T) {
	caps, problems, err := parseDescribe("plugin:p", []byte(`{"name":"only","description":"d","inputSchema":{"type":"object"}}`), nil)
	if err != nil || len(caps) != 1 || caps[0].Name != "plugin:p/only" || len(problems) > 0 {
		t.Errorf("got %v, %q, %v", caps, problems, err)
	}
}

func TestParseDescribeRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ out, want string }{
		"nothing":       {"", "answered nothing"},
		"not JSON":      {"tools", "didn't answer JSON"},
		"invalid UTF-8": {"{\"tools\":[],\"x\":\"\xff\"}", "invalid UTF-8"},
		"no tools":      {`{}`, `there is no "tools"`},
		"an array":      {`[]`, `has to answer {"tools":[…]}`},
		"tools: object": {`{"tools":{}}`, `has to answer {"tools":[…]}`},
		"too long":      {strings.Repeat(" ", maxDescribeBytes+1), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := parseDescribe("plugin:p", []byte(tc.out), nil); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestParseDescribeTooManyTools(t *testing.T) {
	var tools []string
	for i := range maxTools + 5 {
		tools = append(tools, fmt.Sprintf(`{"name":"t%d"}`, i))
	}
	caps, problems, err := parseDescribe("plugin:p", []byte(`{"tools":[`+strings.Join(tools, ",")+`]}`), nil)
	if err != nil || len(caps) != maxTools || len(problems) != 1 {
		t.Errorf("%d tools, problems %q, error %v", len(caps), problems, err)
	}
}

func FuzzParseDescribe(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`))
	f.Add([]byte(`{"tools":[1,null,"x",{"name":"a"},{"name":"a"},{"name":"b","inputSchema":{"type":["object"]},"annotations":{"title":1}}]}`))
	f.Add([]byte(`{"name":"a"}`))
	f.Fuzz(func(t *testing.T, out []byte) {
		caps, _, err := parseDescribe("plugin:p", out, []string{"skip*"})
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, c := range caps {
			if seen[c.Name] || !toolName.MatchString(strings.TrimPrefix(c.Name, "plugin:p/")) || len(c.InputSchema) == 0 || c.InputSchema[0] != '{' {
				t.Fatalf("offered %q with the schema %s", c.Name, c.InputSchema)
			}
			seen[c.Name] = true
		}
	})
}
