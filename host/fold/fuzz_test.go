package fold

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolplane/toolplane/host/jsonvalue"
)

var seedTexts = []string{
	`null`, `[1,2.5e3,-0.0,9007199254740993]`, `{"a":{"b":[1,"x"]},"a":2}`, `"\ud83d\ude00é\n"`, ` [ { } , [ ] , "" ] `,
	`{"rows":[{"id":1,"title":"one"},{"id":2,"title":"two","tags":["x"]},null],"total":2}`,
	`{"\u0061":1,"a":[{"$result":"res_x","path":"/rows"}]}`, strings.Repeat(`[{"a":`, 20) + `"deep"` + strings.Repeat(`}]`, 20),
	`["` + strings.Repeat("long é ", 40) + `",` + strings.Repeat("7", 150) + `]`, `{"":{"":{"":[[],{}]}}}`,
	// Texts that aren't JSON.
	``, `{`, `[1,]`, `{"a"`, `{"a":}`, `{:1}`, "\"\\", "[\"\xff\\u\"]", `]`, `}{`, `[[[[`, `{"a":1,"b"]`, `"\u12`, `,,`, `[:]`, `{"$result":`,
	`{"a":{"$result":"res_a"`, `{"a":{"$result"}}`, `{"a":{"$result":"res_a","path":`,
}

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{``, `$`, `$.rows[2].title`, `rows[-1]`, `/rows/2/a~1b~0`, `$["odd \u00e9"]['x\'"']`, `a b`, `[0:1]`, `..`, `rows[`, `$["`, "#/a", "\xff", `[*]`, `a.[0]`, `/`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePath(text)
		if err != nil {
			var at *PathError
			if !errors.As(err, &at) || at.Position < 1 || at.Position > utf8.RuneCountInString(text)+1 || at.Problem == "" || at.Example == "" {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		again, err := ParsePath(p.String())
		if len(p.String()) <= MaxPathBytes && (err != nil || again.String() != p.String()) {
			t.Fatalf("%q is %s, which is read as %s, %v", text, p, again, err)
		}
		if strings.HasPrefix(text, "/") && p.Pointer() != text {
			t.Fatalf("the pointer %q is written as %q", text, p.Pointer())
		}
	})
}

func FuzzFold(f *testing.F) {
	for _, seed := range seedTexts {
		f.Add([]byte(seed), 5, 500, 50, 8, 2560)
		f.Add([]byte(seed), 1, 3, 1, 1, 128)
	}
	f.Fuzz(func(t *testing.T, text []byte, items, characters, keys, levels, most int) {
		l := Limits{Items: items, Characters: characters, Keys: keys, Levels: levels, PreviewBytes: most, ShapeBytes: most}
		if jsonvalue.Check(text) == nil {
			checkFold(t, text, l)
			return
		}
		// Not JSON: no panic, and still within the bounds.
		l = l.withDefaults()
		if folded, ok := foldText(text, l); ok && (len(folded.Preview) > l.PreviewBytes || len(folded.Shape) > l.ShapeBytes) {
			t.Fatalf("preview %d bytes, shape %d bytes", len(folded.Preview), len(folded.Shape))
		}
	})
}

func FuzzQuery(f *testing.F) {
	for _, seed := range seedTexts {
		f.Add([]byte(seed), "rows[-1].title", "", 0, 2, 0, uint8(0))
		f.Add([]byte(seed), "", "a,b.c", 1, 1, 1, uint8(7))
		f.Add([]byte(seed), "/a/b", "", 1, 0, 1, uint8(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, path, fields string, offset, limit, page int, given uint8) {
		o := QueryOptions{Path: path}
		if given&1 != 0 {
			o.Offset = &offset
		}
		if given&2 != 0 {
			o.Limit = &limit
		}
		if given&4 != 0 && page < 1_000_000 { // the naive way counts them one by one
			o.Page = &page
		}
		if fields != "" && utf8.ValidString(fields) {
			o.Fields = strings.Split(fields, ",")
			o.Fields = o.Fields[:min(len(o.Fields), MaxFields)]
			if slices.ContainsFunc(o.Fields, func(s string) bool { return len(s) > MaxPathBytes }) {
				return
			}
		}
		good := jsonvalue.Check(text) == nil
		var root any
		if good {
			root = decode(t, text)
		}
		for _, grain := range []int{8, 32, grainBytes} {
			doc := &Document{raw: text, grain: grain}
			if good {
				checkQuery(t, doc, root, o)
				continue
			}
			// Not JSON: no panic, and no answer over the limit.
			o.MaxBytes = 64
			if a, err := Query(doc, o); err == nil && len(a.Value) > 64 {
				t.Fatalf("an answer of %d bytes", len(a.Value))
			}
		}
	})
}

func FuzzResolveHandles(f *testing.F) {
	for _, seed := range seedTexts {
		f.Add([]byte(seed))
	}
	f.Add([]byte(`{"a":{"$result":"res_a","path":"x"},"b":[{"\u0024result":"res_b"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		n := 0
		load := func(handle, _ string) (json.RawMessage, error) {
			n++
			if !strings.HasPrefix(handle, HandlePrefix) {
				t.Fatalf("handle %q", handle)
			}
			return json.RawMessage(`[-0.0]`), nil
		}
		got, err := ResolveHandles(text, HandleLimits{}, load)
		if !bytes.Equal(text, before) {
			t.Fatal("the arguments were changed")
		}
		if jsonvalue.Check(text) != nil {
			return // not JSON: no panic
		}
		if err != nil {
			if codeOf(err) != CodeInvalidInput || n != DefaultMaxHandles {
				t.Fatalf("%v after %d handles", err, n)
			}
			return
		}
		want, replaced := naiveResolve(decode(t, text), false)
		if repeats(decode(t, text)) {
			return // what a member that doesn't count names is loaded all the same
		}
		if err := jsonvalue.Check(got); err != nil || n != replaced || !same(decode(t, got), want) {
			t.Fatalf("%s became %s (%d handles, want %d), %v", text, got, n, replaced, err)
		}
		if n == 0 && !bytes.Equal(got, text) {
			t.Fatalf("%s became %s without a handle", text, got)
		}
	})
}

// naiveResolve replaces handles in a decoded value.
func naiveResolve(v any, inside bool) (any, int) {
	n := 0
	switch at := v.(type) {
	case []any:
		for i := range at {
			var m int
			at[i], m = naiveResolve(at[i], true)
			n += m
		}
	case *dict:
		handle, ok := at.values["$result"].(string)
		_, path := at.values["path"].(string)
		if inside && ok && strings.HasPrefix(handle, HandlePrefix) && !at.repeated && (len(at.keys) == 1 || len(at.keys) == 2 && path) {
			return []any{json.Number("-0.0")}, 1
		}
		for _, k := range at.keys {
			var m int
			at.values[k], m = naiveResolve(at.values[k], true)
			n += m
		}
	}
	return v, n
}

func repeats(v any) bool {
	switch at := v.(type) {
	case []any:
		return slices.ContainsFunc(at, repeats)
	case *dict:
		for _, k := range at.keys {
			if repeats(at.values[k]) {
				return true
			}
		}
		return at.repeated
	}
	return false
}
