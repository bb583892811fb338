package search

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkRebuild(b *testing.B) {
	for _, n := range []int{60, 1000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			caps := manyCapabilities(n)
			x := newIndex(b, nil)
			b.ReportAllocs()
			for b.Loop() {
				if err := x.Rebuild(caps); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	queries := []struct{ name, text string }{
		{"everything", ""},
		{"two words", "restore snapshot"},
		{"a beginning", "cert"},
		{"typos", "serch contaner certficate"},
		{"a sentence", "how can I find out which of the payments that belong to a customer have been rejected"},
		{"nothing", "xylophone qwertyuiop"},
		{"worst: many beginnings", "re co de se pa ca me li ex su ti ar an va up do mo tr sp ap cu em in pr"},
		{"worst: long unknown words", longWords()},
	}
	x := newIndex(b, manyCapabilities(1000))
	for _, q := range queries {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Search(b.Context(), Query{Text: q.text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// longWords are as many as a query may have, each as long as fits, none of them known.
func longWords() string {
	var b strings.Builder
	for i := range MaxWords {
		b.WriteString(string(rune('a'+i)) + strings.Repeat("zy", 19) + " ")
	}
	return b.String()
}
