package tests

import (
	"strings"
	"testing"
)

// TestExactValues sends values all the way round: argument, plugin, answer, save, load in another run, return.
func TestExactValues(t *testing.T) {
	corpus := `{"i53":9007199254740993,"big":1` + strings.Repeat("0", 40) + `,"one":1.0,"negzero":-0.0,"nul":"\u0000","😀":"emoji key","nested":{"a":[null,true,false,[],{}]},"small":5e-324,"text":"ümläut ` + "\u202e" + ` 漢字"}`
	results := run(t, []snippet{
		{"send", `
import json
value = json.loads(inputs["corpus"])
value["long"] = "x" * (1 << 20)
answer = await fault.echo(**{"value": value})
assert repr(answer["value"]) == repr(value), "the plugin's answer differs"
return await save_result(answer["value"])
`},
		{"fetch", `
value = await load_result(_)
assert value.pop("long") == "x" * (1 << 20)
assert type(value["one"]) is float and type(value["big"]) is int and str(value["negzero"]) == "-0.0"
return value
`},
		{"previous", `return _`},
	}, "--fresh", faultPlugin(t), "--input", "corpus="+jsonString(t, corpus))
	for i, r := range results {
		if !r.OK {
			t.Fatalf("run %d: %+v", i+1, r.Error)
		}
	}
	for _, r := range results[1:] {
		got := string(r.Value)
		for _, want := range []string{`9007199254740993`, `1` + strings.Repeat("0", 40), `1.0`, `-0.0`, `\u0000`, `😀`, `5e-324`, `漢字`} {
			if !strings.Contains(got, want) {
				t.Errorf("returned value lacks %s: %s", want, got)
			}
		}
	}
	if string(results[1].Value) != string(results[2].Value) {
		t.Errorf("the previous value changed on its way:\n%s\n%s", results[1].Value, results[2].Value)
	}
}
