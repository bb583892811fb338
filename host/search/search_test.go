package search

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
)

func newIndex(t testing.TB, caps []capability.Capability) *Index {
	t.Helper()
	x, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	if err := x.Rebuild(caps); err != nil {
		t.Fatal(err)
	}
	return x
}

func find(t testing.TB, x *Index, q Query) Page {
	t.Helper()
	page, err := x.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func namesOf(p Page) []string {
	out := make([]string, len(p.Hits))
	for i, h := range p.Hits {
		out[i] = h.Capability.Name
	}
	return out
}

func describe(p Page) string {
	var b strings.Builder
	for _, h := range p.Hits[:min(6, len(p.Hits))] {
		fmt.Fprintf(&b, "  %7.2f %s\n", h.Score, h.Capability.Name)
	}
	return b.String()
}

func TestAnEmptyQueryListsEverything(t *testing.T) {
	x := newIndex(t, catalog)
	var want []string
	for _, c := range catalog {
		want = append(want, c.Name)
	}
	slices.Sort(want)
	for _, text := range []string{"", "  \n", "***", "(~^)"} {
		var got []string
		pages, offset := 0, 0
		for {
			page := find(t, x, Query{Text: text, Limit: 25, Offset: offset})
			if page.Total != len(catalog) || page.Known != len(catalog) || page.Closest != nil {
				t.Fatalf("%q at %d: total %d, known %d, closest %v; want %d, %d, none", text, offset, page.Total, page.Known, page.Closest, len(catalog), len(catalog))
			}
			got = append(got, namesOf(page)...)
			pages++
			if offset = page.NextOffset; offset == 0 {
				break
			}
		}
		if !slices.Equal(got, want) || pages != 3 {
			t.Errorf("%q: %d pages with %v\nwant 3 with %v", text, pages, got, want)
		}
	}
}

func TestPages(t *testing.T) {
	x := newIndex(t, catalog)
	all := namesOf(find(t, x, Query{Text: "list", Limit: MaxLimit}))
	if len(all) < 8 {
		t.Fatalf("list finds %d, too few for this test", len(all))
	}
	tests := []struct{ limit, offset, hits, next int }{
		{3, 0, 3, 3},
		{3, 3, 3, 6},
		{len(all), 0, len(all), 0},
		{MaxLimit, 2, len(all) - 2, 0},
		{5, len(all) - 1, 1, 0},
		{5, len(all), 0, 0},
		{5, MaxOffset, 0, 0},
		{0, 0, min(DefaultLimit, len(all)), 0},
	}
	for _, test := range tests {
		page := find(t, x, Query{Text: "list", Limit: test.limit, Offset: test.offset})
		if len(page.Hits) != test.hits || page.NextOffset != test.next || page.Total != len(all) || page.Closest != nil {
			t.Errorf("limit %d, offset %d: %d hits of %d, next %d, closest %v; want %d of %d, next %d, none",
				test.limit, test.offset, len(page.Hits), page.Total, page.NextOffset, page.Closest, test.hits, len(all), test.next)
			continue
		}
		if got, want := namesOf(page), all[min(test.offset, len(all)):][:test.hits]; !slices.Equal(got, want) {
			t.Errorf("limit %d, offset %d: %v, want %v", test.limit, test.offset, got, want)
		}
	}
}

func TestMisses(t *testing.T) {
	x := newIndex(t, catalog)
	tests := []struct {
		name    string
		query   Query
		closest []string
		tags    bool
	}{
		{"spelled alike", Query{Text: "isslst"}, []string{"plugin:issues/list"}, false},
		{"spelled alike without a boundary", Query{Text: "issueslist"}, []string{"plugin:issues/list"}, false},
		{"like nothing", Query{Text: "xyzzy"}, nil, false},
		{"the words without the tag", Query{Text: "csv", Tags: []string{"chat"}}, []string{"plugin:csv/parse", "plugin:csv/write", "plugin:orders/export"}, true},
		{"no such tag", Query{Text: "", Tags: []string{"nosuch"}}, []string{"cli:ffmpeg", "cli:git", "cli:jq"}, true},
		{"two tags that don't meet", Query{Tags: []string{"chat", "shop"}}, []string{"cli:ffmpeg", "cli:git", "cli:jq"}, true},
	}
	for _, test := range tests {
		page := find(t, x, test.query)
		if page.Total != 0 || len(page.Hits) != 0 || page.Hits == nil || page.Known != len(catalog) {
			t.Errorf("%s: total %d, hits %v, known %d; want none of %d", test.name, page.Total, namesOf(page), page.Known, len(catalog))
		}
		if len(page.Closest) < len(test.closest) || test.closest == nil && page.Closest != nil || !slices.Equal(page.Closest[:len(test.closest)], test.closest) {
			t.Errorf("%s: closest %v, want %v", test.name, page.Closest, test.closest)
		}
		if test.tags != (len(page.Tags) == maxTags && page.Tags[0] == "lookup") {
			t.Errorf("%s: tags %v, want the most used ones: %v", test.name, page.Tags, test.tags)
		}
	}
}

func TestAnEmptyIndex(t *testing.T) {
	x := newIndex(t, nil)
	for _, q := range []Query{{}, {Text: "list"}, {Tags: []string{"x"}}, {Text: "***", Offset: 3}} {
		if page := find(t, x, q); page.Total != 0 || page.Known != 0 || len(page.Hits) != 0 || page.Closest != nil {
			t.Errorf("%+v: %+v, want nothing", q, page)
		}
	}
}

func TestBadQueries(t *testing.T) {
	x := newIndex(t, catalog)
	tests := []struct {
		query Query
		param string
		want  string
	}{
		{Query{Text: strings.Repeat("x", MaxTextBytes+1)}, "text", "1001 bytes, the limit is 1000"},
		{Query{Text: "\xff"}, "text", "UTF-8"},
		{Query{Limit: -1}, "limit", "is -1, it can be 1 to 50"},
		{Query{Limit: MaxLimit + 1}, "limit", "is 51, it can be 1 to 50; page with offset"},
		{Query{Offset: -1}, "offset", "is -1"},
		{Query{Offset: MaxOffset + 1}, "offset", "1000001"},
		{Query{Tags: make([]string, MaxTags+1)}, "tags", "has 17 of them, the limit is 16"},
		{Query{Tags: []string{""}}, "tags", "empty"},
		{Query{Tags: []string{strings.Repeat("x", MaxTagBytes+1)}}, "tags", "longer than 128 bytes"},
	}
	for _, test := range tests {
		_, err := x.Search(t.Context(), test.query)
		var q *QueryError
		if !errors.As(err, &q) || q.Param != test.param || !strings.Contains(q.Message, test.want) {
			t.Errorf("%.40v: error %v, want one of %s that says %q", test.query, err, test.param, test.want)
		}
	}
}

func TestHitsCarryWhatIsNeededToCall(t *testing.T) {
	x := newIndex(t, catalog)
	page := find(t, x, Query{Text: "issues_search", Limit: 1})
	if len(page.Hits) != 1 {
		t.Fatalf("found %v", namesOf(page))
	}
	hit := page.Hits[0]
	if want := "await issues_search(query=<string>, limit=<integer?>)"; hit.Call != want {
		t.Errorf("call %q, want %q", hit.Call, want)
	}
	if hit.Score <= 0 || hit.Capability.Title != "Search issues" || len(hit.Capability.InputSchema) == 0 {
		t.Errorf("hit %+v lacks its score, title or schema", hit)
	}
}

func TestHiddenAndDoubleCapabilities(t *testing.T) {
	hidden := tool("plugin:a/secret", "Secret", "Nobody finds it.", "quiet")
	hidden.Hidden = true
	x := newIndex(t, []capability.Capability{
		tool("plugin:a/open", "First", "", ""), hidden, tool("plugin:a/open", "Second", "", ""),
	})
	page := find(t, x, Query{})
	if got := namesOf(page); !slices.Equal(got, []string{"plugin:a/open"}) || page.Hits[0].Capability.Title != "Second" || page.Known != 1 {
		t.Errorf("found %v (%+v), want the second of the open ones alone", got, page)
	}
	for _, q := range []Query{{Text: "secret"}, {Text: "plugin:a/secret"}, {Text: "secrt"}} {
		if page := find(t, x, q); slices.Contains(namesOf(page), hidden.Name) || slices.Contains(page.Closest, hidden.Name) {
			t.Errorf("%q finds the hidden one: %+v", q.Text, page)
		}
	}
	if page := find(t, x, Query{Tags: []string{"quiet"}}); page.Total != 0 || page.Tags != nil && slices.Contains(page.Tags, "quiet") {
		t.Errorf("the tag of the hidden one shows: %+v", page)
	}
}

func TestEqualScoresAreInTheOrderOfNames(t *testing.T) {
	var caps []capability.Capability
	for i := range 30 {
		caps = append(caps, tool(fmt.Sprintf("mcp:s%02d/echo", (i*7)%30), "Echo", "Says it again.", "x", "text string Anything."))
	}
	page := find(t, newIndex(t, caps), Query{Text: "echo text", Limit: MaxLimit})
	if names := namesOf(page); len(names) != 30 || !slices.IsSorted(names) {
		t.Errorf("found %v, want 30 in order", names)
	}
}

// TestRebuildsChangeNothing holds two builds of the same capabilities, in whatever
// order they come and the engine numbers them, to the same answers, to the last bit
// of the scores.
func TestRebuildsChangeNothing(t *testing.T) {
	x := newIndex(t, catalog)
	answers := func() (out []Page) {
		for _, test := range relevanceTests {
			text, tags := splitTags(test.query)
			out = append(out, find(t, x, Query{Text: text, Tags: tags, Limit: MaxLimit}))
		}
		return out
	}
	want := answers()
	reversed := slices.Clone(catalog)
	slices.Reverse(reversed)
	for range 5 {
		if err := x.Rebuild(reversed); err != nil {
			t.Fatal(err)
		}
		if got := answers(); !reflect.DeepEqual(got, want) {
			t.Fatal("the same capabilities, rebuilt, are found in another order or with other scores")
		}
	}
}

func TestWordsOfSchemas(t *testing.T) {
	c := tool("plugin:deep/schema", "", "", "")
	c.InputSchema = []byte(`{
		"$ref": "#/$defs/arguments",
		"$defs": {
			"arguments": {"properties": {"filter": {"$ref": "#/$defs/filter"}, "loop": {"$ref": "#/$defs/arguments"}}},
			"filter": {"description": "Narrows what is returned.", "anyOf": [
				{"properties": {"hue": {"enum": ["vermilion", 3, null]}}},
				{"items": {"const": "ultramarine", "title": "Pigment"}}
			]}
		}
	}`)
	broken := tool("plugin:broken/schema", "Broken", "", "")
	broken.InputSchema = []byte(`{"properties": [1`)
	x := newIndex(t, append([]capability.Capability{c, broken}, catalog...))
	for _, text := range []string{"filter", "narrowing", "hue", "vermilion", "ultramarine", "pigments", "loop"} {
		if got := namesOf(find(t, x, Query{Text: text})); len(got) == 0 || got[0] != c.Name {
			t.Errorf("%q finds %v, want %s first", text, got, c.Name)
		}
	}
	if got := namesOf(find(t, x, Query{Text: "broken"})); !slices.Equal(got, []string{broken.Name}) {
		t.Errorf("one whose schema can't be read is found as %v", got)
	}
}

func TestHugeTextsAreCut(t *testing.T) {
	c := tool("plugin:long/story", "Story", "Beginning. "+strings.Repeat("and so on ", 6000)+" ending", "")
	x := newIndex(t, []capability.Capability{c})
	if page := find(t, x, Query{Text: "beginning"}); page.Total != 1 {
		t.Errorf("the beginning isn't found: %+v", page)
	}
	if page := find(t, x, Query{Text: "ending"}); page.Total != 0 {
		t.Errorf("what is beyond %d bytes is found: %+v", maxFieldBytes, page)
	}
}

func TestOtherScripts(t *testing.T) {
	caps := append([]capability.Capability{
		tool("plugin:дом/найти", "Найти заказы", "Ищет заказы клиента.", "магазин"),
		tool("plugin:search/jp", "課題を検索", "課題の一覧を返します。", ""),
		tool("plugin:menu/cafe", "Café crème", "", ""),
	}, catalog...)
	x := newIndex(t, caps)
	for text, want := range map[string]string{
		"заказы":      "plugin:дом/найти",
		"заказ":       "plugin:дом/найти",
		"НАЙТИ закзы": "plugin:дом/найти",
		"検索":          "plugin:search/jp",
		"課題 一覧":       "plugin:search/jp",
		"cafe creme":  "plugin:menu/cafe",
		"CAFÉ":        "plugin:menu/cafe",
	} {
		if got := namesOf(find(t, x, Query{Text: text})); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v, want %s first", text, got, want)
		}
	}
}

func TestACancelledSearchEnds(t *testing.T) {
	x := newIndex(t, catalog)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Search(ctx, Query{Text: "list"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestAClosedIndex(t *testing.T) {
	x := newIndex(t, catalog)
	x.Close()
	x.Close()
	_, err := x.Search(t.Context(), Query{})
	for what, err := range map[string]error{"search": err, "rebuild": x.Rebuild(catalog), "sync": x.Sync(t.Context())} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want %v", what, err, ErrClosed)
		}
	}
	stop := x.Follow(capability.NewRegistry())
	stop()
}
