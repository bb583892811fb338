package search

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWords(t *testing.T) {
	tests := map[string]string{
		"":                           "",
		"plugin:issues/list":         "plugin issues list",
		"search_issues":              "search issues +searchissues",
		"searchIssues":               "search issues +searchissues",
		"pull-request":               "pull request +pullrequest",
		"parseHTTPRequest":           "parse http request +parsehttprequest",
		"the URLs and IDs of GitHub": "the urls and ids of git hub +github",
		"OAuth2Login":                "o auth2 login +oauth2login",
		"sha256 base64 s3":           "sha256 base64 s3",
		"issue's labels, don’t ask":  "issue labels don ask",
		"it's":                       "it",
		"'s":                         "s",
		"Café CAFE\u0301 naïve":      "cafe cafe naive",
		"count=<integer=100>, x":     "count integer 100 x",
		"请求 list":                    "请 求 list",
		"заказы":                     "заказы",
		`name:^2 "a b" ~1 /r.*/ +x`:  "name 2 a b 1 r x",
		"__init__":                   "init",
		"-":                          "",
	}
	for text, want := range tests {
		var got []string
		for _, w := range words(text) {
			if w.joined {
				w.raw = "+" + w.raw
			}
			got = append(got, w.raw)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("words(%q) = %q, want %q", text, strings.Join(got, " "), want)
		}
	}
}

func TestStems(t *testing.T) {
	tests := map[string][]string{
		"issu":       {"issue", "issues"},
		"fetch":      {"fetch", "fetches", "fetching", "fetched"},
		"order":      {"order", "orders", "ordering"},
		"repositori": {"repository", "repositories"},
		"заказы":     {"заказы"},
		"sha256":     {"sha256"},
	}
	for want, all := range tests {
		for _, raw := range all {
			if got := stem(raw); got != want {
				t.Errorf("stem(%q) = %q, want %q", raw, got, want)
			}
		}
	}
}

func TestLongWordsAreCut(t *testing.T) {
	got := words(strings.Repeat("ü", 5000))
	if len(got) != 1 || utf8.RuneCountInString(got[0].raw) != maxWordRunes {
		t.Errorf("got %d words, the first of %d runes; want one of %d", len(got), utf8.RuneCountInString(got[0].raw), maxWordRunes)
	}
}

func FuzzWords(f *testing.F) {
	for _, text := range []string{"", "plugin:issues/list", "parseHTTPRequest's", "请求\u0301", "\xff\xfe", "ﬃ İstanbul ǅ", "'s't's"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := words(text)
		for _, w := range got {
			if w.raw == "" || w.stem == "" {
				t.Fatalf("words(%q) has an empty word: %+v", text, got)
			}
			if !utf8.ValidString(w.raw) || !utf8.ValidString(w.stem) {
				t.Fatalf("words(%q) isn't UTF-8: %+v", text, w)
			}
			if utf8.RuneCountInString(w.raw) > maxWordRunes {
				t.Fatalf("words(%q) has a long word: %+v", text, w)
			}
		}
		if again := words(text); !slices.Equal(got, again) {
			t.Fatalf("words(%q) differ: %+v and %+v", text, got, again)
		}
	})
}
