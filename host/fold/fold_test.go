package fold_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolplane/toolplane/host/fold"
	"github.com/toolplane/toolplane/host/jsonvalue"
)

// padded makes a text large enough to be folded.
func padded(text string) json.RawMessage {
	return json.RawMessage(text + strings.Repeat(" ", fold.MinThresholdBytes))
}

func mustFold(t testing.TB, text json.RawMessage, l fold.Limits) fold.Folded {
	t.Helper()
	f, ok := fold.Fold(text, l)
	if !ok {
		t.Fatalf("%.100s isn't folded", text)
	}
	return f
}

// roomy lets every preview be as large as the other limits allow.
var roomy = fold.Limits{ThresholdBytes: fold.MinThresholdBytes, PreviewBytes: 64 << 10, ShapeBytes: 64 << 10}

func TestFold(t *testing.T) {
	long := strings.Repeat("x", 101)
	for name, tc := range map[string]struct {
		text, preview, shape string
		limits               fold.Limits
	}{
		"list of 7": {
			text: `[1,2,3,4,5,6,7]`, preview: `[1,2,3,4,5]`,
			shape: `{"type":"array","length":7,"items":{"type":"integer"}}`},
		"numbers as written": {
			text:    `[9007199254740993, 1.0, -0.0, 1e5, 1E-999]`,
			preview: `[9007199254740993,1.0,-0.0,1e5,1E-999]`,
			shape:   `{"type":"array","length":5,"items":{"type":"integer|number"}}`},
		"number of 101 digits": {
			text: strings.Repeat("7", 101), preview: `"` + strings.Repeat("7", 99) + `…"`, shape: `{"type":"integer"}`},
		"number of 100 digits": {
			text: strings.Repeat("7", 100), preview: strings.Repeat("7", 100), shape: `{"type":"integer"}`},
		"string of 500": {
			text: `"` + strings.Repeat("é", 500) + `"`, preview: `"` + strings.Repeat("é", 500) + `"`,
			shape: `{"type":"string","length":500}`},
		"string of 501": {
			text: `"` + strings.Repeat("é", 501) + `"`, preview: `"` + strings.Repeat("é", 499) + `…"`,
			shape: `{"type":"string","length":501}`},
		"surrogate pairs stay whole": {
			text: `"a` + strings.Repeat(`\ud83d\ude00`, 501) + `"`, preview: `"a` + strings.Repeat(`\ud83d\ude00`, 498) + `…"`,
			shape: `{"type":"string","length":502}`},
		"an escape stays whole": {
			text: `"\\\\\\\"\n\u0041"`, preview: `"\\\\\\\"…"`, limits: fold.Limits{Characters: 5},
			shape: `{"type":"string","length":6}`},
		"names as written, white space gone": {
			text: "{ \"b\" : 1 ,\n \"a\\u0021\" : [ ] , \"\" : { } }", preview: `{"b":1,"a\u0021":[],"":{}}`,
			shape: `{"type":"object","keys":{"b":{"type":"integer"},"a!":{"type":"array","length":0},"":{"type":"object"}}}`},
		"the last of equal names, in the place of the first": {
			text: `{"a":{"x":1},"b":2,"\u0061":[3]}`, preview: `{"\u0061":[3],"b":2}`,
			shape: `{"type":"object","keys":{"a":{"type":"object|array","length":1,"keys":{"x":{"type":"integer"}},"items":{"type":"integer"}},"b":{"type":"integer"}}}`},
		"more keys than shown": {
			text: `{"a":1,"b":2,"c":3,"c":4,"d":5}`, preview: `{"a":1,"b":2}`, limits: fold.Limits{Keys: 2},
			shape: `{"type":"object","keys":{"a":{"type":"integer"},"b":{"type":"integer"}},"moreKeys":2}`},
		"a key of 101 characters isn't shown": {
			text: `{"` + long + `":1,"` + long[1:] + `":2}`, preview: `{"` + long[1:] + `":2}`,
			shape: `{"type":"object","keys":{"` + long[1:] + `":{"type":"integer"}},"moreKeys":1}`},
		"nested too deep": {
			text: `[[[1]],[[]],{"a":{"b":1}},{}]`, preview: `[["[…]"],[[]],{"a":"{…}"},{}]`, limits: fold.Limits{Levels: 2},
			shape: `{"type":"array","length":4,"items":{"type":"object|array","length":1,` +
				`"keys":{"a":{"type":"object","moreKeys":1}},"items":{"type":"array","length":1}}}`},
		"items of all kinds share a shape": {
			text:    `[null,true,"ab",1.5,{"a":null},{"a":1,"b":[]},[1,2,3]]`,
			preview: `[null,true,"ab",1.5,{"a":null}]`,
			shape: `{"type":"array","length":7,"items":{"type":"object|array|string|number|boolean|null","length":3,` +
				`"keys":{"a":{"type":"integer|null"},"b":{"type":"array","length":0}},"items":{"type":"integer"}}}`},
		"what looks like a fold is a value": {
			text: `{"preview":1,"shape":{"type":"array"},"handle":"res_x"}`, preview: `{"preview":1,"shape":{"type":"array"},"handle":"res_x"}`,
			shape: `{"type":"object","keys":{"preview":{"type":"integer"},"shape":{"type":"object","keys":{"type":{"type":"string","length":5}}},"handle":{"type":"string","length":5}}}`},
		"null": {text: `null`, preview: `null`, shape: `{"type":"null"}`},
	} {
		t.Run(name, func(t *testing.T) {
			l := tc.limits
			l.ThresholdBytes, l.PreviewBytes, l.ShapeBytes = roomy.ThresholdBytes, roomy.PreviewBytes, roomy.ShapeBytes
			f := mustFold(t, padded(tc.text), l)
			if string(f.Preview) != tc.preview {
				t.Errorf("preview %s\nwant    %s", f.Preview, tc.preview)
			}
			if string(f.Shape) != tc.shape {
				t.Errorf("shape %s\nwant  %s", f.Shape, tc.shape)
			}
			if f.Bytes != len(tc.text)+fold.MinThresholdBytes {
				t.Errorf("%d bytes", f.Bytes)
			}
		})
	}
}

func TestThreshold(t *testing.T) {
	text := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
	for _, tc := range []struct {
		threshold, bytes int
		folds            bool
	}{
		{0, fold.DefaultThresholdBytes, false},
		{0, fold.DefaultThresholdBytes + 1, true},
		{2000, 2000, false},
		{2000, 2001, true},
		{1, fold.MinThresholdBytes, false},
		{-5, fold.MinThresholdBytes, false},
		{1, fold.MinThresholdBytes + 1, true},
	} {
		if _, ok := fold.Fold(text(tc.bytes), fold.Limits{ThresholdBytes: tc.threshold}); ok != tc.folds {
			t.Errorf("threshold %d, %d bytes: folds %v", tc.threshold, tc.bytes, ok)
		}
	}
}

// nest writes an object of n keys (or a list of n items) in each place of one, levels deep.
func nest(levels, n int, list bool, leaf string) string {
	if levels == 0 {
		return leaf
	}
	inner := nest(levels-1, n, list, leaf)
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if !list {
			fmt.Fprintf(&b, `"key %02d":`, i)
		}
		b.WriteString(inner)
	}
	if list {
		return "[" + b.String() + "]"
	}
	return "{" + b.String() + "}"
}

// pathological are texts whose previews would explode without a bound.
func pathological() map[string]string {
	var wide, names strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&wide, `,"%d":%d`, i, i)
	}
	for i := range 10_000 {
		fmt.Fprintf(&names, `,"%s%d":null`, strings.Repeat(`\u2603`, 94), i)
	}
	return map[string]string{
		"50 keys, 3 levels":        nest(3, 50, false, `"leaf"`),
		"5 items, 8 levels":        nest(8, 5, true, `1`),
		"5 keys, 7 levels":         nest(7, 5, false, `0`),
		"50 keys, escaped strings": nest(2, 50, false, `"`+strings.Repeat(`\ud83d\ude00`, 100)+`"`),
		"100,000 keys":             `{` + wide.String()[1:] + `}`,
		"10,000 long keys":         `{` + names.String()[1:] + `}`,
		"one string":               `"` + strings.Repeat(`\ud83d\ude00`, 100_000) + `"`,
		"512 levels":               strings.Repeat(`[{"a":`, 256) + `"` + strings.Repeat("1", 20_000) + `"` + strings.Repeat(`}]`, 256),
		"long numbers":             `[` + strings.Repeat(strings.Repeat("1", 4300)+`,`, 99) + `0]`,
		"a key of 1 MB":            `{"` + strings.Repeat("k", 1<<20) + `":{"a":1}}`,
		"control characters":       nest(2, 50, false, `"`+strings.Repeat(`\u0001`, 200)+`"`),
	}
}

// TestBound is the promise that a preview and a shape fit, whatever the text.
func TestBound(t *testing.T) {
	for name, text := range pathological() {
		if err := jsonvalue.Check([]byte(text)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, l := range []fold.Limits{
			{ThresholdBytes: 1024},
			{ThresholdBytes: 1024, PreviewBytes: 128, ShapeBytes: 128},
			{ThresholdBytes: 1024, PreviewBytes: 40_000, ShapeBytes: 20_000, Items: 100, Characters: 10_000, Keys: 500, Levels: 16},
			{ThresholdBytes: 1024, PreviewBytes: 1 << 40, ShapeBytes: 1 << 40, Items: 1 << 40, Characters: 1 << 40, Keys: 1 << 40, Levels: 1 << 40},
			{ThresholdBytes: 1024, PreviewBytes: -1, ShapeBytes: -1, Items: -1, Characters: -1, Keys: -1, Levels: -1},
		} {
			f := mustFold(t, json.RawMessage(text), l)
			preview, shape := l.PreviewBytes, l.ShapeBytes
			if preview == 0 {
				preview, shape = fold.DefaultPreviewBytes, fold.DefaultShapeBytes
			}
			preview, shape = min(max(preview, fold.MinPartBytes), 256<<10), min(max(shape, fold.MinPartBytes), 256<<10)
			if len(f.Preview) > preview || len(f.Shape) > shape {
				t.Errorf("%s: preview %d of %d bytes, shape %d of %d", name, len(f.Preview), preview, len(f.Shape), shape)
			}
			for _, part := range []json.RawMessage{f.Preview, f.Shape} {
				if err := jsonvalue.Check(part); err != nil || !utf8.Valid(part) {
					t.Errorf("%s: %s: %v", name, part, err)
				}
			}
		}
	}
}

// TestContextBudget keeps what a client gets for a large answer small: preview,
// shape and, as a client may be sent them, the same again as text in a string.
func TestContextBudget(t *testing.T) {
	texts := pathological()
	texts["issue records"] = string(records(1 << 20))
	for name, text := range texts {
		f := mustFold(t, json.RawMessage(text), fold.Limits{})
		total := len(f.Preview) + len(f.Shape)
		t.Logf("%-26s %8d bytes: preview %4d, shape %4d, together %4d; shown %+v", name, f.Bytes, len(f.Preview), len(f.Shape), total, f.Shown)
		if total > 4<<10 {
			t.Errorf("%s: %d bytes", name, total)
		}
	}
}

// TestWideLevels has more values on one level than a fold keeps: what isn't kept
// is shown as left out, not as empty.
func TestWideLevels(t *testing.T) {
	text := nest(3, 50, false, `[0]`) // 125,000 lists on the fourth level
	l := fold.Limits{ThresholdBytes: 1024, PreviewBytes: 256 << 10, ShapeBytes: 256 << 10}
	f := mustFold(t, json.RawMessage(text), l)
	if strings.Contains(string(f.Preview), "[]") || strings.Contains(string(f.Preview), "{}") {
		t.Error("something that isn't empty is shown as empty")
	}
	if !strings.Contains(string(f.Preview), `"{…}"`) {
		t.Error("nothing is left out, so this tests nothing")
	}
	if !strings.Contains(string(f.Shape), `{"type":"object","moreKeys":50}`) {
		t.Error("the shape doesn't count the keys that it doesn't list")
	}
}

// records is a list of issue records, bytes long or a little longer.
func records(bytes int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"issues":[`)
	n := 0
	for ; b.Len() < bytes; n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":90071992547409%05d,"number":%d,"title":"Größe %d stimmt nicht","state":"open","labels":["bug","ui"],`+
			`"author":{"login":"ada","name":"Ada L."},"created_at":"2025-01-02T03:04:05Z","comments":%d,"body":"%s",`+
			`"reactions":{"+1":1,"-1":0,"laugh":0},"score":%d.25,"milestone":null}`,
			n, n, n, n%7, strings.Repeat(`word \"é\" `, n%40), n)
	}
	fmt.Fprintf(&b, `],"total":%d}`, n)
	return json.RawMessage(b.String())
}
