package fold_test

import (
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolplane/toolplane/host/fold"
	"github.com/toolplane/toolplane/host/jsonvalue"
)

const benchmarkBytes = 8 << 20

type benchmarkQuery struct {
	name string
	o    fold.QueryOptions
}

// benchmarkQueries are slices from all over a document of records.
func benchmarkQueries(doc *fold.Document) iter.Seq[benchmarkQuery] {
	return func(yield func(benchmarkQuery) bool) {
		a, err := fold.Query(doc, fold.QueryOptions{Path: "issues", Limit: new(1)})
		if err != nil {
			panic(err)
		}
		middle, last := *a.Total/2, *a.Total-20
		_ = yield(benchmarkQuery{"first", fold.QueryOptions{Path: "issues", Limit: new(20)}}) &&
			yield(benchmarkQuery{"middle", fold.QueryOptions{Path: "issues", Offset: &middle, Limit: new(20)}}) &&
			yield(benchmarkQuery{"end", fold.QueryOptions{Path: "issues", Offset: &last, Limit: new(20)}}) &&
			yield(benchmarkQuery{"item", fold.QueryOptions{Path: "issues[-7].author.login"}}) &&
			yield(benchmarkQuery{"fields", fold.QueryOptions{Path: "issues", Offset: &middle, Limit: new(50), Fields: []string{"number", "title", "author.login"}}})
	}
}

// BenchmarkParse reads 8 MB whole, in three ways: into Go values, by the parser
// that only validates, and by the host's own check.
func BenchmarkParse(b *testing.B) {
	text := records(benchmarkBytes)
	for name, parse := range map[string]func() error{
		"decode":   func() error { var v any; return json.Unmarshal(text, &v) },
		"validate": func() error { jsontext.Value(text).IsValid(); return nil },
		"check":    func() error { return jsonvalue.Check(text) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := parse(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSlice reads slices of the same 8 MB: the first time, when the index is
// built, and again.
func BenchmarkSlice(b *testing.B) {
	text := records(benchmarkBytes)
	b.Run("first-time", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := fold.Query(fold.NewDocument(text), fold.QueryOptions{Path: "issues[-7].author.login"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	doc := fold.NewDocument(text)
	for q := range benchmarkQueries(doc) {
		b.Run("indexed/"+q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := fold.Query(doc, q.o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(100*float64(doc.IndexBytes())/float64(len(text)), "%index")
		})
	}
	keys := fold.NewDocument(json.RawMessage(keyed(200_000, 20)))
	b.Run("indexed/missing-key", func(b *testing.B) {
		for b.Loop() {
			if _, err := keys.At("/nowhere"); err == nil {
				b.Fatal("the key is there")
			}
		}
	})
	b.Run("indexed/key-of-200000", func(b *testing.B) {
		for b.Loop() {
			if _, err := keys.At("/5e66bfd1"); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(100*float64(keys.IndexBytes())/float64(keys.Bytes()), "%index")
	})
	chars := fold.NewDocument(json.RawMessage(`"` + strings.Repeat(`zeichen \"é\" `, benchmarkBytes/15) + `"`))
	b.Run("indexed/characters", func(b *testing.B) {
		for b.Loop() {
			if _, err := fold.Query(chars, fold.QueryOptions{Offset: new(5_000_000), Limit: new(2000)}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(100*float64(chars.IndexBytes())/float64(chars.Bytes()), "%index")
	})
}

func BenchmarkFold(b *testing.B) {
	for name, text := range map[string]json.RawMessage{
		"records-1MB":   records(1 << 20),
		"records-8MB":   records(benchmarkBytes),
		"keys-200000":   json.RawMessage(keyed(200_000, 20)),
		"5-items-8-lvl": json.RawMessage(nest(8, 5, true, `1`)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var f fold.Folded
			for b.Loop() {
				f = mustFold(b, text, fold.Limits{})
			}
			b.ReportMetric(float64(len(f.Preview)+len(f.Shape)), "folded-bytes")
		})
	}
}
