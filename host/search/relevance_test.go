package search

import (
	"slices"
	"strings"
	"testing"
)

// relevanceTests are what people and models ask: a query, and the names that must
// come first, in any order among them. Tags come after " #".
var relevanceTests = []struct{ query, first string }{
	// names in every spelling
	{"plugin:issues/list", "plugin:issues/list"},
	{"issues_list", "plugin:issues/list"},
	{"issues.list", "plugin:issues/list"},
	{"Issues List", "plugin:issues/list"},
	{"search_issues", "mcp:github/search_issues plugin:issues/search"},
	{"searchIssues", "mcp:github/search_issues plugin:issues/search"},
	{"github_search_issues", "mcp:github/search_issues"},
	{"mcp:github/search_issues", "mcp:github/search_issues"},
	{"git", "cli:git"},
	{"cli:git", "cli:git"},
	{"detect language", "plugin:text/detectLanguage"},
	{"detectlanguage", "plugin:text/detectLanguage"},
	{"detect_language", "plugin:text/detectLanguage"},
	{"sha256", "plugin:hash/sha256"},
	{"sha-256", "plugin:hash/sha256"},

	// words
	{"list issues", "plugin:issues/list"},
	{"get an issue", "plugin:issues/get"},
	{"csv parse", "plugin:csv/parse"},
	{"parse csv file", "plugin:csv/parse"},
	{"weather", "mcp:weather/forecast"},
	{"send message to slack channel", "mcp:slack/send_message"},
	{"merge pull request", "mcp:github/merge_pull_request"},
	{"pull-request", "mcp:github/merge_pull_request mcp:github/create_pull_request"},
	{"sql", "mcp:postgres/query mcp:postgres/explain"},
	{"database tables", "mcp:postgres/list_tables"},
	{"order by number", "plugin:orders/fetch plugin:orders/refund"},
	{"kubernetes logs", "mcp:kubernetes/get_logs"},
	{"convert video", "cli:ffmpeg"},
	{"regular expression", "cli:rg"},
	{"what is the route between two places", "mcp:maps/directions"},
	{"who has time for a meeting", "mcp:calendar/free_busy mcp:calendar/create_event mcp:calendar/list_events"},
	{"delimiter", "plugin:csv/parse"},
	{"timeMax", "mcp:calendar/list_events"},
	{"warehouse", "plugin:inventory/stock_levels"},
	{"attendees", "mcp:calendar/create_event"},
	{"cycling", "mcp:maps/directions"},
	{"e-mail", "plugin:customers/find plugin:invoices/send mcp:calendar/create_event mcp:calendar/free_busy"},
	{"email customer", "plugin:customers/find"},
	{"refund money", "plugin:orders/refund"},
	{"unpaid invoices", "plugin:invoices/overdue plugin:invoices/send"},

	// endings
	{"fetching orders", "plugin:orders/fetch"},
	{"listing order", "plugin:orders/list"},
	{"searches repository", "mcp:github/search_repositories"},
	{"translation of texts", "plugin:text/translate"},
	{"parsing", "plugin:csv/parse"},
	{"scaled images", "plugin:image/resize"},
	{"exported order", "plugin:orders/export"},
	{"hashing", "plugin:hash/sha256"},

	// beginnings
	{"repo", "mcp:github/search_repositories mcp:github/fork_repository"},
	{"kube", "mcp:kubernetes/list_pods mcp:kubernetes/get_logs mcp:kubernetes/scale_deployment"},
	{"screensh", "mcp:browser/screenshot"},
	{"calen eve", "mcp:calendar/list_events mcp:calendar/create_event"},
	{"postgr", "mcp:postgres/query mcp:postgres/list_tables mcp:postgres/explain"},

	// typos
	{"list isues", "plugin:issues/list"},
	{"serch isssues", "plugin:issues/search mcp:github/search_issues"},
	{"refudn", "plugin:orders/refund"},
	{"wether forcast", "mcp:weather/forecast"},
	{"translaet", "plugin:text/translate"},
	{"screnshot", "mcp:browser/screenshot"},
	{"invetory stok", "plugin:inventory/stock_levels plugin:inventory/reserve"},
	{"custmer", "plugin:customers/find plugin:customers/get"},
	{"serching messages", "mcp:slack/search_messages"},
	{"gihtub commits", "mcp:github/list_commits"},

	// tags
	{"chat", "mcp:slack/send_message mcp:slack/list_channels mcp:slack/search_messages mcp:slack/upload_file"},
	{"search #chat", "mcp:slack/search_messages"},
	{"list #shop #lookup", "plugin:orders/list plugin:invoices/overdue"},
	{"issue #tracker #WRITE", "plugin:issues/create plugin:issues/close plugin:issues/add_comment plugin:issues/set_labels"},

	// syntax of query languages, here nothing but words
	{`+name:issues^9 AND "list" OR -get~2`, "plugin:issues/list plugin:issues/get"},
	{"/.*(a+)+$/ csv parse*", "plugin:csv/parse"},
	{"await issues_list(count=<integer=100>)", "plugin:issues/list"},
}

func TestRelevance(t *testing.T) {
	x := newIndex(t, catalog)
	for _, test := range relevanceTests {
		text, tags := splitTags(test.query)
		page, err := x.Search(t.Context(), Query{Text: text, Tags: tags})
		if err != nil {
			t.Errorf("%q: %v", test.query, err)
			continue
		}
		want := strings.Fields(test.first)
		got := namesOf(page)
		if len(got) < len(want) || !sameNames(got[:len(want)], want) {
			t.Errorf("%q found %d:\n%s\nwant first, in any order: %s", test.query, page.Total, describe(page), test.first)
		}
	}
}

func splitTags(query string) (text string, tags []string) {
	parts := strings.Split(query, " #")
	return parts[0], parts[1:]
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// TestAmongAThousand looks for tools by their two words, whole and with a letter
// left out of one, where each word stands in many others, too.
func TestAmongAThousand(t *testing.T) {
	caps := manyCapabilities(1000)
	x := newIndex(t, caps)
	asked := 0
	for i := 0; i < len(caps); i += 7 {
		verb, noun, _ := strings.Cut(caps[i].Title, " ")
		for _, text := range []string{verb + " " + noun, noun + " " + verb + "ing", verb + "_" + noun, verb + " " + noun[:2] + noun[3:]} {
			asked++
			page := find(t, x, Query{Text: text, Limit: 3})
			if len(page.Hits) == 0 || page.Hits[0].Capability.Title != caps[i].Title {
				t.Errorf("%q found %d:\n%s\nwant one to %s first", text, page.Total, describe(page), caps[i].Title)
			}
		}
	}
	if asked < 500 {
		t.Errorf("asked only %d times", asked)
	}
}
