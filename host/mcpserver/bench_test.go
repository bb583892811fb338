package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/toolplane/toolplane/host/result"
)

// BenchmarkResultQuery reads slices all over a stored value of 8 MB, beside what a
// single parse of it takes. Compare the lines.
func BenchmarkResultQuery(b *testing.B) {
	value := `{"rows":` + rows(8<<20) + `}`
	o := Options{Scope: "bench", Registry: typical(b, 3), Fold: FoldOptions{Enabled: true}}
	store := result.New(result.Options{})
	o.Results = store
	e, err := store.SaveFold(result.Owner{Scope: o.Scope}, json.RawMessage(value))
	if err != nil {
		b.Fatal(err)
	}
	s := New(o)
	b.Run("slice", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i = (i + 7919) % 80_000
			args, err := parseArguments(json.RawMessage(fmt.Sprintf(`{"handle":%q,"path":"$.rows","offset":%d,"limit":20,"fields":["id","title"]}`, e.Handle, i)))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.query(context.Background(), nil, args); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			var v any
			if err := json.Unmarshal([]byte(value), &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
