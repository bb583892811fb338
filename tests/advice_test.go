package tests

import (
	"fmt"
	"strings"
	"testing"
)

// TestAdviceWorks returns what JSON doesn't have from a snippet in a real browser. The error names the place, the type and an expression, and a
// second snippet with just that expression returns the value.
func TestAdviceWorks(t *testing.T) {
	const fake = "class %[1]s:\n    def %[2]s(self, **options): return %[3]s\n%[1]s.__module__ = '%[4]s'\nv = %[1]s()"
	cases := []struct {
		name, setup string
		// is names what it was, and use is the advice. x stands for the place of the value.
		is, use string
		// value is what the advised expression returns.
		value string
	}{
		{"set", "v = {'b', 'a'}", "type set", "sorted(x)", `["a","b"]`},
		{"mixed set", "v = {('a', 1)}", "type set", "list(x)", `[["a",1]]`},
		{"frozenset", "v = frozenset([2, 1])", "type frozenset", "sorted(x)", "[1,2]"},
		{"bytes of text", "v = 'é'.encode()", "type bytes", "x.decode()", `"é"`},
		{"bytes", "v = bytes([255, 0])", "type bytes", "base64.b64encode(x).decode()", `"/wA="`},
		{"memoryview", "v = memoryview(b'ab')", "type memoryview", "bytes(x).decode()", `"ab"`},
		{"Decimal", "import decimal\nv = decimal.Decimal('1.10')", "type Decimal", "str(x)", `"1.10"`},
		{"dataclass", "import dataclasses\n@dataclasses.dataclass\nclass P:\n    a: int\nv = P(1)", "type P (a dataclass)", "dataclasses.asdict(x)", `{"a":1}`},
		{"generator", "v = (i * i for i in range(3))", "type generator", "list(x)", "[0,1,4]"},
		{"map", "v = map(str, [1])", "type map", "list(x)", `["1"]`},
		{"async generator", "async def g():\n    yield 1\nv = g()", "type async_generator", "[item async for item in x]", "[1]"},
		{"coroutine", "async def f(): return 7\nv = f()", "type coroutine and was never awaited", "await x", "7"},
		{"future", "import asyncio\nv = asyncio.ensure_future(asyncio.sleep(0, 'late'))", "was never awaited", "await x", `"late"`},
		{"module", "import math\nv = math", "the module math", "what you need of it, such as x.__name__", `"math"`},
		{"class", "v = int", "the class int", "x.__name__", `"int"`},
		{"function", "def v(): return 'answer'", "the function v", "its answer, x()", `"answer"`},
		{"enum", "import enum\nclass E(enum.Enum): A = 'a'\nv = E.A", "type E", "x.value", `"a"`},
		{"complex", "v = 1 + 2j", "type complex", "[x.real, x.imag]", "[1.0,2.0]"},
		{"timedelta", "import datetime\nv = datetime.timedelta(minutes=1)", "type timedelta", "x.total_seconds()", "60.0"},
		{"exception", "v = ValueError('why')", "type ValueError", "str(x)", `"why"`},
		{"mapping", "import types\nv = types.MappingProxyType({'a': 1})", "type mappingproxy", "dict(x)", `{"a":1}`},
		{"range", "v = range(3)", "type range", "list(x)", "[0,1,2]"},
		{"object", "class O: pass\nv = O()\nv.a = 1", "type O", "vars(x)", `{"a":1}`},
		{"JavaScript object", "import js\nv = js.Array.of(1, 2)", "a JavaScript object", "x.to_py()", "[1,2]"},
		{"NaN", "v = float('nan')", "nan", "None, or a string such as repr(x)", `"nan"`},
		{"lone surrogate", `v = "a\ud800"`, "lone surrogate", `x.encode("utf-8", "replace").decode()`, `"a?"`},
		{"integer keys", "v = {1: 'a'}", "the key 1 of type int", "{str(k): v for k, v in x.items()}", `{"1":"a"}`},
		{"a long integer", "v = 16 ** 5000", "4,300 digits", "hex(x)", ""},
		{"numpy array", fmt.Sprintf(fake, "ndarray", "tolist", "[1, 2]", "numpy"), "type ndarray", "x.tolist()", "[1,2]"},
		{"numpy scalar", fmt.Sprintf(fake, "float64", "item", "1.5", "numpy"), "type float64", "x.item()", "1.5"},
		{"DataFrame", fmt.Sprintf(fake, "DataFrame", "to_json", `'[{"a":1}]' if options == {"orient": "records"} else None`, "pandas.core.frame"),
			"type DataFrame", `json.loads(x.to_json(orient="records"))`, `[{"a":1}]`},
		{"Series", fmt.Sprintf(fake, "Series", "to_json", `'[1]' if options == {"orient": "values"} else None`, "pandas.core.series"),
			"type Series", `json.loads(x.to_json(orient="values"))`, "[1]"},
		{"polars", fmt.Sprintf(fake, "DataFrame", "to_dicts", `[{"a": 1}]`, "polars.dataframe.frame"), "type DataFrame", "x.to_dicts()", `[{"a":1}]`},
	}
	const place, shown = `data["rows"][0]`, "value.rows[0]"
	var snippets []snippet
	for i, c := range cases {
		setup := c.setup + "\ndata = {'rows': [v]}\n"
		expression := c.use
		for _, words := range []string{"what you need of it, such as ", "None, or a string such as ", "its answer, "} {
			expression = strings.TrimPrefix(expression, words)
		}
		if c.value == "" {
			expression = "len(" + expression + ") > 5000"
		}
		snippets = append(snippets,
			snippet{fmt.Sprintf("refused%d", i), setup + "return data"},
			snippet{fmt.Sprintf("advised%d", i), "import base64, dataclasses, json\n" + setup + "return " + replaceX(expression, place)})
	}
	results := run(t, snippets, "--fresh")
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			refused, advised := results[2*i], results[2*i+1]
			if refused.OK {
				t.Fatalf("it was returned: %s", refused.Value)
			}
			if refused.Error.Builtin != "ValueError" || refused.Error.Type != "ReturnValueError" {
				t.Errorf("%s/%s: %s", refused.Error.Type, refused.Error.Builtin, refused.Error.Message)
			}
			for _, part := range []string{shown, c.is, "use " + replaceX(c.use, place)} {
				if !strings.Contains(refused.Error.Message, part) {
					t.Errorf("the message lacks %q: %s", part, refused.Error.Message)
				}
			}
			want := c.value
			if want == "" {
				want = "true"
			}
			got := strings.ReplaceAll(string(advised.Value), ", ", ",")
			if got = strings.ReplaceAll(got, ": ", ":"); got != want {
				t.Errorf("what it advises returns %s %+v, want %s", advised.Value, advised.Error, want)
			}
		})
	}
}

// replaceX puts the place of a value where an advice says x.
func replaceX(advice, place string) string {
	var out strings.Builder
	for i, r := range advice {
		alone := (i == 0 || !isWordByte(advice[i-1])) && (i+1 == len(advice) || !isWordByte(advice[i+1]))
		if r == 'x' && alone {
			out.WriteString(place)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func isWordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// TestUnawaitedCalls hides a capability call that nobody awaits, in a real browser.
func TestUnawaitedCalls(t *testing.T) {
	cases := []struct{ name, code string }{
		{"discarded", "issues.list(count=1)\nreturn 1"},
		{"last expression", "issues.list(count=1)"},
		{"returned", "return issues.list(count=1)"},
		{"in a list in a dict", "return {'a': [1, issues.list(count=1)]}"},
		{"in a tuple", "return 1, issues.list(count=1)"},
		{"as a key", "return {issues.list(count=1): 1}"},
		{"assigned, then printed", "r = issues.list(count=1)\nprint(r)"},
		{"assigned and forgotten", "r = issues.list(count=1)\nreturn 1"},
		{"in an f-string", "return f'{issues.list(count=1)}'"},
		{"in a closure", "def f(r=issues.list(count=1)): return r\nreturn 1"},
		{"subscripted", "return issues.list(count=1)['issues']"},
		{"iterated", "for r in issues.list(count=1): pass"},
		{"an attribute", "return issues.list(count=1).issues"},
		{"compared", "return issues.list(count=1) == 1"},
		{"in a function", "def f():\n    issues.list(count=1)\nf()\nreturn 1"},
		{"in a comprehension", "return [issues.list(count=n) for n in (1, 2)]"},
		{"as an argument", "return await issues.get(id=issues.list(count=1))"},
		{"saved", "return await save_result(issues.list(count=1))"},
		{"deleted", "r = issues.list(count=1)\ndel r\nreturn 1"},
	}
	var snippets []snippet
	for i, c := range cases {
		snippets = append(snippets, snippet{fmt.Sprintf("unawaited%d", i), c.code})
	}
	// In a session, too, where it stays in a variable, and the next run isn't blamed.
	snippets = append(snippets, snippet{"next", "return 1"})
	for _, mode := range [][]string{{"--fresh"}, nil} {
		results := run(t, snippets, append(mode, issuesPlugin)...)
		for i, c := range cases {
			r := results[i]
			if r.OK || r.Error.Type != "UnawaitedToolCallError" && !strings.Contains(r.Error.Message, "await issues.list(") {
				t.Errorf("%s %v: value %s, error %+v", c.name, mode, r.Value, r.Error)
				continue
			}
			if !strings.Contains(r.Error.Message, "await issues.list(count=") {
				t.Errorf("%s %v: the message doesn't say what to write: %s", c.name, mode, r.Error.Message)
			}
		}
		if last := results[len(cases)]; string(last.Value) != "1" {
			t.Errorf("the run after %v: %s %+v", mode, last.Value, last.Error)
		}
	}
}
