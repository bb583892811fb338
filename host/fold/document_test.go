package fold_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/fold"
	"github.com/toolplane/toolplane/host/jsonvalue"
)

// keyed is an object of n members with long values or short ones.
func keyed(n, valueBytes int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%x":"%s"`, i*7919, strings.Repeat("v", valueBytes))
	}
	b.WriteByte('}')
	return b.String()
}

// TestIndexIsBounded asks for a key, an item and a range in texts made to need as
// many places as possible, and looks at the memory.
func TestIndexIsBounded(t *testing.T) {
	chain := strings.Repeat("[", 500) + `"` + strings.Repeat("x", 3100) + `"` + strings.Repeat("]", 500)
	opened := strings.Repeat(`{"a":`, 400) + `"` + strings.Repeat("x", 3100) + `"` + strings.Repeat("}", 400)
	for name, tc := range map[string]struct {
		text    string
		percent float64 // of the text
	}{
		"records":                 {string(records(4 << 20)), 1},
		"500 lists around 3 KB":   {"[" + strings.Repeat(chain+",", 1000) + "0]", 5},
		"400 objects around 3 KB": {"[" + strings.Repeat(opened+",", 1000) + "0]", 5},
		"5 objects around 4 KB":   {"[" + strings.Repeat(`{"a":{"a":{"a":{"a":{"a":"`+strings.Repeat("x", 4100)+`"}}}}},`, 1000) + "0]", 5},
		"a million numbers":       {"[" + strings.Repeat("1,", 1<<20) + "0]", 1},
		"a million empty lists":   {"[" + strings.Repeat("[],", 1<<20) + "0]", 1},
		"one string":              {`"` + strings.Repeat(`é\n`, 1<<20) + `"`, 1},
		"keys of 100 bytes":       {keyed(20_000, 90), 4},
		"short keys":              {keyed(300_000, 0), 25},
		"equal keys":              {"{" + strings.Repeat(`"":0,`, 500_000) + `"":1}`, 50},
	} {
		t.Run(name, func(t *testing.T) {
			text := json.RawMessage(tc.text)
			if err := jsonvalue.Check(text); err != nil {
				t.Fatal(err)
			}
			doc := fold.NewDocument(text)
			for _, o := range []fold.QueryOptions{
				{Path: "nothing"}, {Path: "[999]"}, {Path: "[-1]"}, {Offset: new(1), Limit: new(2)}, {Path: "issues[7].title"}, {Path: "/0/a/a/a/a/a"},
			} {
				_, err := fold.Query(doc, o)
				if err != nil && codeOf(err) == "" {
					t.Fatal(err)
				}
			}
			got := 100 * float64(doc.IndexBytes()) / float64(len(text))
			t.Logf("%d bytes, index %.2f%%", len(text), got)
			if got > tc.percent || doc.IndexBytes() == 0 {
				t.Errorf("the index takes %.2f%% of the text, want at most %v%%", got, tc.percent)
			}
		})
	}
}

func TestSmallDocumentsHaveNoIndex(t *testing.T) {
	doc := fold.NewDocument(records(60 << 10))
	if _, err := fold.Query(doc, fold.QueryOptions{Path: "issues[5]"}); err != nil || doc.IndexBytes() != 0 {
		t.Errorf("%d bytes of index, %v", doc.IndexBytes(), err)
	}
}

// TestLargeDocument reads every part of documents with a real index.
func TestLargeDocument(t *testing.T) {
	text := records(1 << 20)
	var whole struct{ Issues []json.RawMessage }
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	doc := fold.NewDocument(text)
	for offset := 0; offset < len(whole.Issues); offset += 20 {
		a, err := fold.Query(doc, fold.QueryOptions{Path: "issues", Offset: &offset, Limit: new(20)})
		if err != nil {
			t.Fatal(err)
		}
		var items []json.RawMessage
		if err := json.Unmarshal(a.Value, &items); err != nil {
			t.Fatal(err)
		}
		for i, item := range items {
			if !bytes.Equal(item, whole.Issues[offset+i]) {
				t.Fatalf("item %d is %s", offset+i, item)
			}
			if got, err := doc.At("/issues/" + strconv.Itoa(offset+i)); err != nil || !bytes.Equal(got, item) {
				t.Fatalf("item %d alone is %s, %v", offset+i, got, err)
			}
		}
	}

	// A misspelled field is told from a slice that is too large.
	if _, err := fold.Query(doc, fold.QueryOptions{Path: "issues", MaxBytes: 1024, Fields: []string{"titel"}}); codeOf(err) != fold.CodePathNotFound {
		t.Errorf("a misspelled field: %v", err)
	}

	const members = 30_000
	doc = fold.NewDocument(json.RawMessage(keyed(members, 3)))
	for i := range members {
		key := strconv.FormatInt(int64(i*7919), 16)
		if got, err := doc.At("/" + key); err != nil || string(got) != `"vvv"` {
			t.Fatalf("key %s: %s, %v", key, got, err)
		}
		if i%100 != 0 {
			continue
		}
		if _, err := doc.At("/" + key + "x"); codeOf(err) != fold.CodePathNotFound {
			t.Fatalf("key %sx: %v", key, err)
		}
		a, err := fold.Query(doc, fold.QueryOptions{Offset: &i, Limit: new(1)})
		if err != nil || string(a.Value) != `{"`+key+`":"vvv"}` || *a.Total != members {
			t.Fatalf("member %d: %s, %v", i, a.Value, err)
		}
	}

	// Of equal keys the last counts, in whichever part of the object it is.
	doc = fold.NewDocument(json.RawMessage(`{"0":-1,` + keyed(members, 3)[1:len(keyed(members, 3))-1] + `,"1eef":[]}`))
	for key, want := range map[string]string{"0": `"vvv"`, "1eef": `[]`} {
		if got, err := doc.At("/" + key); err != nil || string(got) != want {
			t.Errorf("key %s: %s, %v", key, got, err)
		}
	}
	a, err := fold.Query(doc, fold.QueryOptions{Limit: new(2)})
	if err != nil || string(a.Value) != `{"0":"vvv","1eef":[]}` || *a.Total != members {
		t.Errorf("%s, total %d, %v", a.Value, *a.Total, err)
	}

	chars := []rune(strings.Repeat("aé☃😀\n\"", 50_000))
	quoted, err := json.Marshal(string(chars))
	if err != nil {
		t.Fatal(err)
	}
	doc = fold.NewDocument(quoted)
	for offset := 0; offset < len(chars); offset += 1237 {
		a, err := fold.Query(doc, fold.QueryOptions{Offset: &offset, Limit: new(100)})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := json.Unmarshal(a.Value, &got); err != nil || got != string(chars[offset:min(offset+100, len(chars))]) {
			t.Fatalf("characters from %d: %q, %v", offset, got, err)
		}
	}
}

// TestHammerDocument has many readers ask one document that nobody has asked before.
func TestHammerDocument(t *testing.T) {
	for round := range 4 {
		doc := fold.NewDocument(json.RawMessage(`{"a":` + keyed(2000, 40) + `,"b":` + string(records(100<<10)) + `,"c":` + keyed(2000, 40) + `}`))
		var wg sync.WaitGroup
		for reader := range 16 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(reader)))
				for range 100 {
					n := r.IntN(150)
					key := strconv.FormatInt(int64(n*7919), 16)
					for _, o := range []fold.QueryOptions{
						{Path: "a." + key}, {Path: `c["` + key + `"]`}, {Path: "b.issues", Offset: &n, Limit: new(3)},
						{Path: "a", Offset: &n, Limit: new(3)}, {Path: "b.issues", Offset: &n, Limit: new(5), Fields: []string{"id", "author.login"}},
					} {
						if _, err := fold.Query(doc, o); err != nil {
							t.Errorf("%s: %v", o.Path, err)
							return
						}
					}
					_ = doc.IndexBytes()
				}
			})
		}
		wg.Wait()
	}
}

// TestSliceCostsAFractionOfAParse holds slices of 8 MB, asked repeatedly, to 2% of
// the fastest way to read the whole value. The usual ratio is under 0.2%.
func TestSliceCostsAFractionOfAParse(t *testing.T) {
	text := records(8 << 20)
	parse := fastest(5, func() {
		if err := jsonvalue.Check(text); err != nil {
			t.Fatal(err)
		}
	})
	doc := fold.NewDocument(text)
	queries := slices.Collect(benchmarkQueries(doc))
	for _, q := range queries {
		cost := fastest(20, func() {
			if _, err := fold.Query(doc, q.o); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%-12s %8v, %.3f%% of %v", q.name, cost, 100*float64(cost)/float64(parse), parse)
		if cost > parse/50 {
			t.Errorf("%s takes %v, over 2%% of %v", q.name, cost, parse)
		}
	}
}

func fastest(times int, f func()) time.Duration {
	best := time.Hour
	for range times {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}
