package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolplane/toolplane/plugins/sdk"
)

// fullIssue is an issue as a client decodes it.
type fullIssue struct {
	ID        int64
	Number    int
	Title     string
	State     string
	Labels    []string
	Author    struct{ Login, Name *string }
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Comments  *int
	Body      string
	Reactions map[string]int
	Milestone *struct {
		Number int
		Title  string
	}
}

type listed struct {
	Issues []fullIssue
	Total  int
}

func invoke[Out any](t testing.TB, tool, arguments string) Out {
	t.Helper()
	text, err := sdk.Invoke(context.Background(), tool, arguments)
	if err != nil {
		t.Fatalf("%s(%s): %v", tool, arguments, err)
	}
	if !utf8.Valid(text) {
		t.Fatalf("%s(%s) isn't UTF-8", tool, arguments)
	}
	var out Out
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s(%s): %v", tool, arguments, err)
	}
	return out
}

// TestTheTrackerIsTheSameForEver pins issues, so that examples and expectations elsewhere hold.
func TestTheTrackerIsTheSameForEver(t *testing.T) {
	byNumber, err := sdk.Invoke(t.Context(), "get", `{"id":1}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(byNumber)); got != firstIssue {
		t.Errorf("got  %s\nwant %s", got, firstIssue)
	}
	byID, err := sdk.Invoke(t.Context(), "get", `{"id":9007199254740993}`)
	if err != nil || string(byID) != string(byNumber) {
		t.Errorf("by id: %s, %v", byID, err)
	}
	page, err := sdk.Invoke(t.Context(), "list", `{"count":5000}`)
	if got := fmt.Sprintf("%x", sha256.Sum256(page)); err != nil || got != first5000 {
		t.Errorf("the first 5,000 issues have the SHA-256 %s, want %s (%v)", got, first5000, err)
	}
}

const (
	firstIssue = "{\"id\":9007199254740993,\"number\":1,\"title\":\"Startup crashes on first start\",\"state\":\"closed\",\"labels\":[\"bug\",\"area/performance\"],\"author\":{\"login\":\"hanako\",\"name\":\"山田 花子\"},\"created_at\":\"2019-01-01T00:52:29Z\",\"updated_at\":\"2019-02-14T00:55:49Z\",\"comments\":4,\"body\":\"### Steps to reproduce\\n1. Open “Startup”.\\n2. Try it on first start.\\n\\n**Expected:** it works.\\n**Actual:** it crashes.\\n\\n```\\nERROR\\tcode=0x935e82f1db4c4f7b\\n```\\n\\nVersion 4.0.1 on macOS 15.2.\",\"reactions\":{\"+1\":4,\"-1\":3,\"laugh\":0,\"heart\":2,\"rocket\":0,\"eyes\":0,\"total\":9},\"milestone\":null}"
	first5000  = "b08c16324a1a460025496d007dda92d3f5517438b198fe0d099aceca76b50498"
)

func TestEveryIssueIsWhole(t *testing.T) {
	page := invoke[listed](t, "list", `{"count":100000}`)
	if page.Total != trackerSize || len(page.Issues) != trackerSize {
		t.Fatalf("%d issues of %d", len(page.Issues), page.Total)
	}
	states, named, milestoned, unicode := map[string]int{}, 0, 0, 0
	var last time.Time
	for i, is := range page.Issues {
		if is.Number != i+1 || is.ID != idOf(i+1) || numberOf(is.ID) != is.Number || is.ID <= 1<<53 {
			t.Fatalf("issue %d has the id %d and number %d", i+1, is.ID, is.Number)
		}
		if is.Title == "" || len(is.Body) < 100 || len(is.Labels) < 2 || is.Author.Login == nil || is.Comments == nil || len(is.Reactions) != len(reactionNames)+1 {
			t.Fatalf("issue %d is incomplete: %+v", i+1, is)
		}
		sum := -is.Reactions["total"]
		for _, n := range is.Reactions {
			sum += n
		}
		if sum != is.Reactions["total"] {
			t.Fatalf("the reactions of issue %d don't add up: %v", i+1, is.Reactions)
		}
		if !is.CreatedAt.After(last) || is.UpdatedAt.Before(is.CreatedAt) {
			t.Fatalf("issue %d was created at %v, after %v, and updated at %v", i+1, is.CreatedAt, last, is.UpdatedAt)
		}
		last = is.CreatedAt
		states[is.State]++
		if is.Author.Name != nil {
			named++
		}
		if is.Milestone != nil {
			milestoned++
		}
		if len(is.Title) > utf8.RuneCountInString(is.Title) {
			unicode++
		}
	}
	if len(states) != 2 || states["open"] < 20_000 || states["closed"] < 20_000 {
		t.Errorf("states %v", states)
	}
	for what, n := range map[string]int{"authors with a name": named, "with a milestone": milestoned, "titles beyond ASCII": unicode} {
		if n < trackerSize/10 || n == trackerSize {
			t.Errorf("%d of %d %s", n, trackerSize, what)
		}
	}
}

func TestListSizes(t *testing.T) {
	text, err := sdk.Invoke(t.Context(), "list", `{"count":5000}`)
	if err != nil || len(text) < 1<<20 || len(text) > 6<<20 {
		t.Errorf("5,000 issues have %d bytes, %v", len(text), err)
	}
	if n := len(invoke[listed](t, "list", `{}`).Issues); n != 100 {
		t.Errorf("by default, list gives %d", n)
	}
	if cap(text) > len(text)*2 {
		t.Errorf("%d bytes were reserved for %d", cap(text), len(text))
	}
}

func TestListFiltersAndPages(t *testing.T) {
	all := invoke[listed](t, "list", `{"count":100000,"state":"open","label":"bug","fields":["number","state","labels"]}`)
	if all.Total != len(all.Issues) || all.Total == 0 || all.Total > trackerSize/2 {
		t.Fatalf("%d issues, total %d", len(all.Issues), all.Total)
	}
	for _, is := range all.Issues {
		if is.State != "open" || is.Labels[0] != "bug" || is.Title != "" || is.ID != 0 {
			t.Fatalf("got %+v", is)
		}
	}
	page := invoke[listed](t, "list", `{"count":7,"offset":100,"state":"open","label":"bug"}`)
	if page.Total != all.Total || len(page.Issues) != 7 || page.Issues[0].Number != all.Issues[100].Number {
		t.Errorf("a page in the middle: %d issues from number %d, total %d", len(page.Issues), page.Issues[0].Number, page.Total)
	}
	if end := invoke[listed](t, "list", `{"count":10,"offset":99995}`); len(end.Issues) != 5 {
		t.Errorf("the last page has %d", len(end.Issues))
	}
	if beyond := invoke[listed](t, "list", `{"offset":100000}`); len(beyond.Issues) != 0 || beyond.Total != trackerSize {
		t.Errorf("beyond the end: %+v", beyond)
	}
	text, err := sdk.Invoke(t.Context(), "list", `{"count":1,"fields":["state","number","number"]}`)
	if err != nil || !strings.HasPrefix(string(text), `{"issues":[{"number":1,"state":"`) {
		t.Errorf("two fields: %s, %v", text, err)
	}
}

func TestErrors(t *testing.T) {
	for _, tc := range []struct{ tool, arguments, kind, message string }{
		{"get", `{"id":100001}`, "LookupError", "there is no issue with the id or number 100001; numbers are from 1 to 100000"},
		{"get", `{"id":9007199254740994}`, "LookupError", "9007199254740994"},
		{"get", `{"id":10000000000000000000000000000000000000000}`, "LookupError", "10000000000000000000000000000000000000000"},
		{"get", `{"id":0}`, "LookupError", ""},
		{"list", `{"label":"nonesuch"}`, "ValueError", `there is no label "nonesuch"; the labels are bug, enhancement`},
		{"list", `{"fields":["nonesuch"]}`, "ValueError", `an issue has no field "nonesuch"; its fields are id, number`},
		{"list", `{"fields":[]}`, "ValueError", "fields is empty"},
		{"search", `{"query":" "}`, "ValueError", "query has 0 words"},
	} {
		var e *sdk.Error
		if _, err := sdk.Invoke(t.Context(), tc.tool, tc.arguments); !errors.As(err, &e) || e.Kind != tc.kind || !strings.Contains(e.Message, tc.message) {
			t.Errorf("%s(%s): got %v", tc.tool, tc.arguments, err)
		}
	}
}

func TestSearch(t *testing.T) {
	type results struct {
		Issues []struct {
			fullIssue
			Score int
		}
		Total int
	}
	got := invoke[results](t, "search", `{"query":"CRASHES sync","limit":50}`)
	if len(got.Issues) != 50 || got.Total < 50 {
		t.Fatalf("%d of %d", len(got.Issues), got.Total)
	}
	last := 1 << 30
	for _, is := range got.Issues {
		text := strings.ToLower(is.Title + strings.Join(is.Labels, " "))
		if !strings.Contains(text, "crashes") || !strings.Contains(text, "sync") || is.Score > last || is.Body != "" {
			t.Errorf("found %+v after one of score %d", is, last)
		}
		last = is.Score
	}
	if n := invoke[results](t, "search", `{"query":"検索"}`); n.Total == 0 {
		t.Error("nothing found for 検索")
	}
	if n := invoke[results](t, "search", `{"query":"nonesuchword"}`); n.Total != 0 || n.Issues == nil {
		t.Errorf("found %+v", n)
	}
}

func TestDescription(t *testing.T) {
	text, err := sdk.Describe()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"name":"list","title":"List issues"`, `"count":{"type":"integer","description":"How many issues to return at most.","default":100,"minimum":1,"maximum":100000}`, `"readOnlyHint":true`, `"enum":["open","closed"]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the description lacks %s:\n%s", want, text)
		}
	}
}

func TestAppendEscaped(t *testing.T) {
	for _, s := range []string{"", "plain", `"\`, "a\nb\tc\x00d\x1f", "ünïcode 😀", strings.Repeat(`"`, 100)} {
		var back string
		if err := json.Unmarshal(appendString(nil, s), &back); err != nil || back != s {
			t.Errorf("%q became %q, %v", s, back, err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	for _, count := range []int{100, 5000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			for b.Loop() {
				if _, err := sdk.Invoke(b.Context(), "list", fmt.Sprintf(`{"count":%d}`, count)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
