package search

import (
	"errors"
	"reflect"
	"testing"
)

// FuzzSearch throws queries at a real catalog: whatever they hold, the answer is a
// consistent page or a QueryError, and the same twice.
func FuzzSearch(f *testing.F) {
	for _, test := range relevanceTests {
		text, _ := splitTags(test.query)
		f.Add(text, "lookup", 20, 0)
	}
	for _, text := range []string{"\xff", "a\u0301\u0301", "ﬃİǅ", "请求 заказы", "\x00", `.*{1000}[^"\`, longWords()} {
		f.Add(text, "", 0, 0)
	}
	x := newIndex(f, catalog)
	f.Fuzz(func(t *testing.T, text, tag string, limit, offset int) {
		q := Query{Text: text, Limit: limit, Offset: offset}
		if tag != "" {
			q.Tags = []string{tag}
		}
		page, err := x.Search(t.Context(), q)
		if err != nil {
			var bad *QueryError
			if !errors.As(err, &bad) {
				t.Fatalf("%+v: %v", q, err)
			}
			return
		}
		if limit == 0 {
			limit = DefaultLimit
		}
		want := max(0, min(limit, page.Total-offset))
		next := 0
		if offset+limit < page.Total {
			next = offset + limit
		}
		if len(page.Hits) != want || page.NextOffset != next || page.Total > page.Known || page.Known != len(catalog) {
			t.Fatalf("%+v: %d hits, next %d, total %d, known %d", q, len(page.Hits), page.NextOffset, page.Total, page.Known)
		}
		for i, h := range page.Hits {
			if i > 0 && h.Score > page.Hits[i-1].Score {
				t.Fatalf("%+v: hit %d scores more than the one before", q, i)
			}
			if h.Call == "" {
				t.Fatalf("%+v: hit %d has no call", q, i)
			}
		}
		if again, err := x.Search(t.Context(), q); err != nil || !reflect.DeepEqual(again, page) {
			t.Fatalf("%+v: %+v, and then %+v (%v)", q, page, again, err)
		}
	})
}
