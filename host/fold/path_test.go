package fold_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/fold"
)

func TestParsePath(t *testing.T) {
	for text, want := range map[string]struct{ dotted, pointer string }{
		"":                          {"$", ""},
		"$":                         {"$", ""},
		"rows":                      {"$.rows", "/rows"},
		"$.rows":                    {"$.rows", "/rows"},
		"$.rows[2].title":           {"$.rows[2].title", "/rows/2/title"},
		"rows[2].title":             {"$.rows[2].title", "/rows/2/title"},
		"/rows/2/title":             {"$.rows.2.title", "/rows/2/title"},
		"rows.2.title":              {"$.rows.2.title", "/rows/2/title"},
		"[0]":                       {"$[0]", "/0"},
		"$[0][10]":                  {"$[0][10]", "/0/10"},
		"rows[-1]":                  {"$.rows[-1]", "/rows/-1"},
		`$["odd key"]`:              {`$["odd key"]`, "/odd key"},
		`$['odd.key'].x`:            {`$["odd.key"].x`, "/odd.key/x"},
		`["a"]['b']`:                {`$.a.b`, "/a/b"},
		`$[""]`:                     {`$[""]`, "/"},
		"/":                         {`$[""]`, "/"},
		"//":                        {`$[""][""]`, "//"},
		"/a~1b/m~0n/~01":            {`$["a/b"]["m~n"]["~1"]`, "/a~1b/m~0n/~01"},
		`$["a\"b\\c\u00e9\n"]`:      {`$["a\"b\\cé\n"]`, "/a\"b\\cé\n"},
		`$['it\'s']`:                {`$["it's"]`, "/it's"},
		`$['say "hi"']`:             {`$["say \"hi\""]`, `/say "hi"`},
		`$["\ud83d\ude00"]`:         {`$["😀"]`, "/😀"},
		"$.größe":                   {`$["größe"]`, "/größe"},
		"/rows/-":                   {`$.rows["-"]`, "/rows/-"},
		"/01":                       {`$["01"]`, "/01"},
		"$.content-type":            {`$["content-type"]`, "/content-type"},
		"$ref":                      {`$["$ref"]`, "/$ref"},
		"$.$defs.x":                 {`$["$defs"].x`, "/$defs/x"},
		`$["2"]`:                    {`$["2"]`, "/2"},
		"/$.rows":                   {`$["$.rows"]`, "/$.rows"},
		"rows[999999999999999]":     {"$.rows[999999999999999]", "/rows/999999999999999"},
		"/rows/9999999999999999999": {"$.rows.9999999999999999999", "/rows/9999999999999999999"},
	} {
		p, err := fold.ParsePath(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if p.String() != want.dotted || p.Pointer() != want.pointer {
			t.Errorf("%q: %s and %q, want %s and %q", text, p, p.Pointer(), want.dotted, want.pointer)
		}
		again, err := fold.ParsePath(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q: %s is read back as %s, %v", text, p, again, err)
		}
	}
}

func TestParsePathRefuses(t *testing.T) {
	for text, want := range map[string]struct {
		position         int
		problem, example string
	}{
		"$.":                      {3, "ends where a name is expected", "$.title"},
		"rows.":                   {6, "ends where a name is expected", "rows.title"},
		"$.rows[2]title":          {10, "'t' can't follow here", `$.rows[2]["title"]`},
		"$..title":                {3, "any depth", ""},
		"$.rows.[2]":              {8, "without a dot", "$.rows[2]"},
		"rows[":                   {5, "isn't closed", "rows[0]"},
		"rows[2":                  {5, "isn't closed", "rows[2]"},
		"rows]":                   {5, `without "["`, ""},
		"rows[]":                  {6, "without brackets", "rows"},
		"rows[*].title":           {6, "without brackets", "rows"},
		"$.rows.*":                {8, "wildcards aren't supported", "fields"},
		"rows[0:10]":              {6, "offset and limit", `path "rows" with offset 0 and limit 10`},
		"[1:]":                    {2, "offset and limit", `path "$"`},
		"rows[01]":                {6, "no index", "rows[2]"},
		"rows[-0]":                {6, "no index", ""},
		"rows[--1]":               {6, "must be quoted", ""},
		"rows[1.5]":               {6, "must be quoted", ""},
		"rows[1000000000000000]":  {6, "no index", ""},
		"rows[title]":             {6, "must be quoted", `rows["title"]`},
		"$.odd key":               {6, "' ' can't follow here", `$["odd key"]`},
		"größe mal":               {6, "' ' can't follow here", `$["größe mal"]`},
		"$. x":                    {3, "' ' can't start a name", `$[" x"]`},
		"a(b)":                    {2, "'(' can't follow", `$["a(b)"]`},
		`$["a`:                    {3, "quote isn't closed", ""},
		`$["a"`:                   {6, `"]" is expected`, ""},
		`$["a"x]`:                 {6, `"]" is expected`, ""},
		`$["\x"]`:                 {3, "isn't a JSON string", ""},
		`$["\ud800"]`:             {3, "isn't a JSON string", ""},
		"$[\"a\nb\"]":             {5, "control character", ""},
		"rows/2":                  {5, "don't mix", "/rows/2"},
		"$/rows/2":                {2, "don't mix", "/rows/2"},
		"/a~b":                    {3, "must be followed by 0", "/a~1b"},
		"/a~":                     {3, "must be followed by 0", ""},
		"#/rows":                  {1, `without "#"`, "/rows"},
		"a\xff":                   {1, "UTF-8", ""},
		strings.Repeat("a", 5000): {1, "4096 are the limit", ""},
	} {
		_, err := fold.ParsePath(text)
		var e *fold.PathError
		if !errors.As(err, &e) {
			t.Errorf("%q: %v, want a *PathError", text, err)
			continue
		}
		if e.Path != text || e.Position != want.position {
			t.Errorf("%q: position %d, want %d (%v)", text, e.Position, want.position, err)
		}
		if !strings.Contains(e.Problem, want.problem) {
			t.Errorf("%q: %q doesn't say %q", text, e.Problem, want.problem)
		}
		if !strings.Contains(e.Example, want.example) || e.Example == "" {
			t.Errorf("%q: example %q, want %q", text, e.Example, want.example)
		}
		if len(err.Error()) > 600 {
			t.Errorf("%q: a message of %d bytes", text, len(err.Error()))
		}
	}
}
