package capability_test

import (
	"strconv"
	"strings"
	"testing"
)

func TestCallShape(t *testing.T) {
	for name, tc := range map[string]struct{ capability, schema, want string }{
		"no schema":      {"plugin:a/b", ``, `await a_b()`},
		"no arguments":   {"plugin:a/b", `{"type":"object"}`, `await a_b()`},
		"default":        {"plugin:issues/list", `{"type":"object","properties":{"count":{"type":"integer","default":100},"state":{"type":"string"}}}`, `await issues_list(count=<integer=100>, state=<string?>)`},
		"required first": {"plugin:issues/search", `{"type":"object","properties":{"limit":{"type":"integer","default":20},"query":{"type":"string"},"a":{}},"required":["a","query"]}`, `await issues_search(query=<string>, a=<any>, limit=<integer=20>)`},
		"order of schema": {"plugin:a/b", `{"properties":{"z":{"type":"string"},"m":{"type":"string"},"a":{"type":"string"}},"required":["a","m","z"]}`,
			`await a_b(z=<string>, m=<string>, a=<string>)`},
		"python literals": {"plugin:a/b", `{"properties":{"x":{"type":"boolean","default":true},"y":{"type":["null","string"],"default":null},"z":{"type":"array","items":{"type":"string"},"default":["é",false]},"o":{"type":"object","default":{"a":[1,null]}}}}`,
			`await a_b(x=<boolean=True>, y=<string|null=None>, z=<array of string=["é", False]>, o=<object={"a": [1, None]}>)`},
		"enum":            {"plugin:a/b", `{"properties":{"s":{"enum":["open","closed",null]},"c":{"const":3}}}`, `await a_b(s=<"open"|"closed"|None?>, c=<3?>)`},
		"long enum":       {"plugin:a/b", `{"properties":{"s":{"enum":[1,2,3,4,5,6,7,8,9,10]}}}`, `await a_b(s=<1|2|3|4|5|6|7|8|…?>)`},
		"big default":     {"plugin:a/b", `{"properties":{"id":{"type":"integer","default":9007199254740993}}}`, `await a_b(id=<integer=9007199254740993>)`},
		"long default":    {"plugin:a/b", `{"properties":{"s":{"type":"string","default":"` + strings.Repeat("x", 100) + `"}}}`, `await a_b(s=<string="` + strings.Repeat("x", 39) + `…>)`},
		"anyOf":           {"plugin:a/b", `{"properties":{"s":{"anyOf":[{"type":"null"},{"type":"string"},{"type":"array","items":{"type":"integer"}}]}}}`, `await a_b(s=<string|array of integer|null?>)`},
		"references":      {"plugin:a/b", `{"$ref":"#/$defs/in","$defs":{"in":{"properties":{"l":{"$ref":"#/$defs/la~1bel"}},"required":["l"]},"la/bel":{"type":"string"}}}`, `await a_b(l=<string>)`},
		"allOf":           {"plugin:a/b", `{"allOf":[{"properties":{"x":{"type":"string"}}},{"required":["x"],"properties":{"y":{"allOf":[{},{"type":"number"}]}}}]}`, `await a_b(x=<string>, y=<number?>)`},
		"recursive":       {"plugin:a/b", `{"properties":{"t":{"$ref":"#/$defs/t"}},"$defs":{"t":{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/t"}}]}}}`, `await a_b(t=<string|array of (string|array)?>)`},
		"only self":       {"plugin:a/b", `{"properties":{"t":{"$ref":"#/properties/t"}}}`, `await a_b(t=<any?>)`},
		"implied types":   {"plugin:a/b", `{"properties":{"o":{"properties":{}},"l":{"items":{}},"t":true}}`, `await a_b(o=<object?>, l=<array?>, t=<any?>)`},
		"odd argument":    {"plugin:a/b", `{"properties":{"per-page":{"type":"integer"},"x":{"type":"string"}},"required":["x"]}`, `await call_tool("plugin:a/b", {"x": <string>, "per-page": <integer?>})`},
		"keyword":         {"plugin:a/b", `{"properties":{"from":{"type":"string"}}}`, `await call_tool("plugin:a/b", {"from": <string?>})`},
		"soft keyword":    {"plugin:a/b", `{"properties":{"match":{"type":"string"},"type":{"type":"string"}}}`, `await a_b(match=<string?>, type=<string?>)`},
		"not normal form": {"plugin:a/b", `{"properties":{"\ufb01le":{"type":"string"}}}`, `await call_tool("plugin:a/b", {"ﬁle": <string?>})`},
		"odd provider":    {"plugin:3d/b", ``, `await call_tool("plugin:3d/b")`},
		"program":         {"cli:git", ``, `await git()`},
		"builtin program": {"cli:print", ``, `await call_tool("cli:print")`},
		"hyphens":         {"mcp:git-hub/create.issue/v2", ``, `await git_hub_create_issue_v2()`},
		"many optional": {"plugin:a/b", `{"properties":{` + manyProperties(14) + `}}`,
			`await a_b(p0=<any?>, p1=<any?>, p2=<any?>, p3=<any?>, p4=<any?>, p5=<any?>, p6=<any?>, p7=<any?>, p8=<any?>, p9=<any?>, p10=<any?>, p11=<any?>, …)`},
	} {
		t.Run(name, func(t *testing.T) {
			c := one(tc.capability, tc.schema)
			if got := c.CallShape(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			b, ok := registry(t, c).Binding(tc.capability)
			if !ok || b.Call != tc.want {
				t.Errorf("the registry says %s", b.Call)
			}
		})
	}
}

// A few lines can refer to each other as a tree without end; the shape of such a
// schema must come soon.
func TestCallShapeIsBounded(t *testing.T) {
	var refs []string
	for range 200 {
		refs = append(refs, `{"type":"array","items":{"$ref":"#/$defs/t"}}`)
	}
	c := one("plugin:a/b", `{"properties":{"t":{"$ref":"#/$defs/t"}},"$defs":{"t":{"anyOf":[`+strings.Join(refs, ",")+`]}}}`)
	if got := c.CallShape(); !strings.HasPrefix(got, "await a_b(t=<") {
		t.Errorf("got %s", got)
	}
}

func manyProperties(n int) string {
	var list []string
	for i := range n {
		list = append(list, `"p`+strconv.Itoa(i)+`":{}`)
	}
	return strings.Join(list, ",")
}
