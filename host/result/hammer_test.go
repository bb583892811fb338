package result_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/result"
)

// TestHammer has many owners save, read, try each other's handles and be
// dropped, while the clock runs, and checks that no value is ever read by
// somebody else and that the books balance at the end.
func TestHammer(t *testing.T) {
	const owners, rounds = 32, 300
	var tick atomic.Int64
	start := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	s := result.New(result.Options{
		MaxEntries: 16, MaxTotalBytes: 4 << 10, MaxEntryBytes: 1 << 10, MaxProcessBytes: 64 << 10,
		TTL: 2000 * time.Millisecond,
		Now: func() time.Time { return start.Add(time.Duration(tick.Add(1)) * time.Millisecond) },
	})
	var handles sync.Map // handle -> owner
	var saved, refused, foreign atomic.Int64

	var wg sync.WaitGroup
	for i := range owners {
		wg.Go(func() {
			me := result.Owner{Scope: fmt.Sprint("scope", i/2), Subject: fmt.Sprint("subject", i)}
			for j := range rounds {
				value := fmt.Sprintf(`%q`, me.Subject+strings.Repeat(".", j%900))
				e, err := s.Save(me, "", json.RawMessage(value))
				var refusal *result.Error
				switch {
				case err == nil:
					saved.Add(1)
					handles.Store(e.Handle, me)
				case errors.As(err, &refusal) && refusal.Code != result.CodeNotFound:
					refused.Add(1)
				default:
					t.Errorf("Save: %v", err)
				}
				handles.Range(func(h, owner any) bool {
					got, err := s.Load(me, h.(string))
					switch {
					case owner != me:
						foreign.Add(1)
						if err == nil {
							t.Errorf("%v read %s of %v", me, got, owner)
						}
					case err == nil && !strings.HasPrefix(string(got), `"`+me.Subject+".") && string(got) != `"`+me.Subject+`"`:
						t.Errorf("%v read %s", me, got)
					}
					return foreign.Load()%7 != 0 // a few each time
				})
				for _, e := range s.List(me) {
					if owner, ok := handles.Load(e.Handle); ok && owner != me {
						t.Errorf("%v lists a value of %v", me, owner)
					}
				}
				if j%100 == 99 {
					s.DropScope(me.Scope)
				}
				if st := s.Stats(); st.Bytes > 64<<10 || st.Entries > owners/2*16 || st.Bytes < 0 {
					t.Errorf("over the limits: %+v", st)
				}
			}
		})
	}
	wg.Wait()
	if saved.Load() == 0 || refused.Load() == 0 || foreign.Load() == 0 {
		t.Errorf("the test tried too little: %d saved, %d refused, %d foreign reads", saved.Load(), refused.Load(), foreign.Load())
	}
	tick.Add(2000)
	if got := s.Stats(); got != (result.Stats{}) {
		t.Errorf("after everything expired: %+v", got)
	}
}

func BenchmarkSaveLoad(b *testing.B) {
	value := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		s := result.New(result.Options{})
		e, err := s.Save(alice, "", value)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Load(alice, e.Handle); err != nil {
			b.Fatal(err)
		}
	}
}

// The three kinds of miss should cost the same; compare the lines.
func BenchmarkMiss(b *testing.B) {
	s := result.New(result.Options{})
	foreign, err := s.Save(otherScope, "", json.RawMessage("1"))
	if err != nil {
		b.Fatal(err)
	}
	for _, bc := range []struct{ name, handle string }{
		{"foreign", foreign.Handle},
		{"unknown", "res_AAAAAAAAAAAAAAAAAAAAAAAAAA"},
		{"malformed", "!es_AAAAAAAAAAAAAAAAAAAAAAAAAA"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Load(alice, bc.handle); err == nil {
					b.Fatal("found")
				}
			}
		})
	}
}
