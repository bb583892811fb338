package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestHammer has many callers call, save, load, fail and be dropped, while
// providers come and go.
func TestHammer(t *testing.T) {
	registry := capability.NewRegistry()
	results := result.New(result.Options{MaxEntries: 8})
	b := bridge.New(bridge.Options{Registry: registry, Results: results})
	put := func() {
		err := registry.Put(provider{"plugin:t", echo}, []capability.Capability{{Name: "plugin:t/tool", InputSchema: json.RawMessage(toolSchema)}})
		if err != nil {
			t.Error(err)
		}
	}
	put()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			c := bridge.Caller{Scope: fmt.Sprint("scope", i), Subject: "s", RunID: fmt.Sprint("run", i)}
			for j := range 100 {
				ctx, cancel := context.WithCancel(context.Background())
				if j%10 == 9 {
					cancel()
				}
				want := fmt.Sprintf(`"%s/%d"`, c.Scope, j)
				got, err := b.Call(ctx, c, "plugin:t/tool", json.RawMessage(`{"value":`+want+`}`))
				switch {
				case err == nil && string(got) != want:
					t.Errorf("got %s, want %s", got, want)
				case err != nil && err.Type != capability.UnknownCapabilityError && err.Type != "CallCancelledError":
					t.Error(err)
				}
				if raw, err := b.Call(ctx, c, bridge.SaveResult, json.RawMessage(`{"value":`+want+`}`)); err == nil {
					var s saved
					if err := json.Unmarshal(raw, &s); err != nil {
						t.Error(err)
					}
					if got, err := load(b, c, s.Handle); err != nil || got != want {
						t.Errorf("loaded %s, %v; want %s", got, err, want)
					}
				} else if err.Type == bridge.ResultStoreError && strings.Contains(err.Message, "8 values are saved") {
					results.DropScope(c.Scope)
				} else if err.Type != "CallCancelledError" {
					t.Error(err)
				}
				if i == 0 {
					registry.Remove("plugin:t")
					put()
				}
				cancel()
			}
		})
	}
	wg.Wait()
}

// BenchmarkDispatch sets what a call costs through the bridge beside the
// provider's own cost.
func BenchmarkDispatch(b *testing.B) {
	for _, bc := range []struct {
		name  string
		value string
	}{
		{"small", `{"state":"open","labels":["bug"]}`},
		{"1MB", `"` + strings.Repeat("x", 1<<20) + `"`},
	} {
		args := json.RawMessage(`{"count":3,"value":` + bc.value + `}`)
		b.Run(bc.name+"/provider", func(b *testing.B) {
			for b.Loop() {
				if _, err := echo(b.Context(), capability.Invocation{Arguments: args}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(bc.name+"/bridge", func(b *testing.B) {
			br := newBridge(b, echo, nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := br.Call(b.Context(), ada, "plugin:t/tool", args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSave(b *testing.B) {
	args := json.RawMessage(`{"value":[` + strings.Repeat(`{"id":9007199254740993,"title":"Größe stimmt nicht","labels":["bug","ui"],"ratio":1.25},`, 90_000) + `null]}`)
	b.SetBytes(int64(len(args)))
	for b.Loop() {
		br := bridge.New(bridge.Options{Results: result.New(result.Options{})})
		if _, err := br.Call(b.Context(), ada, bridge.SaveResult, args); err != nil {
			b.Fatal(err)
		}
	}
}
