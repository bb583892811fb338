package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
)

type provider string

func (p provider) ID() string { return string(p) }

func (p provider) Call(context.Context, capability.Invocation) (capability.Answer, error) {
	return capability.Answer{}, errors.New("not called here")
}

// put registers the capabilities of the catalog that are one provider's.
func put(t testing.TB, r *capability.Registry, id string) {
	t.Helper()
	var caps []capability.Capability
	for _, c := range catalog {
		if c.Name == id || strings.HasPrefix(c.Name, id+"/") {
			caps = append(caps, c)
		}
	}
	if err := r.Put(provider(id), caps); err != nil {
		t.Fatal(err)
	}
}

func newEmpty(t testing.TB) *Index {
	t.Helper()
	x, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

func TestFollow(t *testing.T) {
	r := capability.NewRegistry()
	put(t, r, "plugin:issues")
	x := newEmpty(t)
	stop := x.Follow(r)
	if got := find(t, x, Query{}).Known; got != 7 {
		t.Errorf("known %d when Follow returns, want the 7 there are", got)
	}
	put(t, r, "mcp:github")
	if err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := namesOf(find(t, x, Query{Text: "branch"})); !slices.Contains(got, "mcp:github/create_branch") {
		t.Errorf("what was added isn't found: %v", got)
	}
	r.Remove("plugin:issues")
	if err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := namesOf(find(t, x, Query{Text: "plugin:issues/list"})); slices.Contains(got, "plugin:issues/list") {
		t.Errorf("what was removed is found: %v", got)
	}
	stop()
	stop()
	known := find(t, x, Query{}).Known
	put(t, r, "plugin:orders")
	if err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := find(t, x, Query{}).Known; got != known {
		t.Errorf("known %d after stop, want still %d", got, known)
	}
}

// TestCallsAreThoseOfTheRegistry: two providers that want one alias get none of
// them, which a capability alone can't know.
func TestCallsAreThoseOfTheRegistry(t *testing.T) {
	r := capability.NewRegistry()
	for _, id := range []string{"plugin:git", "mcp:git"} {
		if err := r.Put(provider(id), []capability.Capability{tool(id+"/log", "Log", "", "")}); err != nil {
			t.Fatal(err)
		}
	}
	x := newEmpty(t)
	defer x.Follow(r)()
	for _, h := range find(t, x, Query{Text: "log"}).Hits {
		if want := `await call_tool("` + h.Capability.Name + `")`; h.Call != want {
			t.Errorf("call %q, want %q", h.Call, want)
		}
	}
}

func TestFollowingAnotherRegistry(t *testing.T) {
	one, other := capability.NewRegistry(), capability.NewRegistry()
	put(t, one, "plugin:issues")
	put(t, other, "mcp:slack")
	x := newEmpty(t)
	stopOne := x.Follow(one)
	stopOther := x.Follow(other)
	put(t, one, "plugin:orders") // nobody listens any more
	if err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if page := find(t, x, Query{}); page.Known != 4 || !strings.HasPrefix(page.Hits[0].Capability.Name, "mcp:slack/") {
		t.Errorf("found %v, want what the other registry holds", namesOf(page))
	}
	stopOne()
	stopOther()
}

func TestSyncEndsWithItsContext(t *testing.T) {
	r := capability.NewRegistry()
	x := newEmpty(t)
	defer x.Follow(r)()
	x.building.Lock() // no build can end
	defer x.building.Unlock()
	put(t, r, "plugin:issues")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Sync(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestSearchesDontWaitForBuilds holds a build up and searches meanwhile.
func TestSearchesDontWaitForBuilds(t *testing.T) {
	r := capability.NewRegistry()
	put(t, r, "plugin:issues")
	x := newEmpty(t)
	defer x.Follow(r)()
	x.building.Lock()
	put(t, r, "mcp:slack")
	if got := find(t, x, Query{}).Known; got != 7 {
		t.Errorf("known %d during a build, want 7 as before", got)
	}
	x.building.Unlock()
	if err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := find(t, x, Query{}).Known; got != 11 {
		t.Errorf("known %d after it, want 11", got)
	}
}

// TestHammer changes a registry, rebuilds, searches, syncs and stops at once. Each
// answer must be of one catalog: providers come and go whole.
func TestHammer(t *testing.T) {
	r := capability.NewRegistry()
	put(t, r, "plugin:orders")
	x := newEmpty(t)
	ids := []string{"plugin:issues", "mcp:github", "mcp:slack", "plugin:csv", "mcp:postgres"}
	sizes := map[string]int{}
	for _, c := range catalog {
		id, _, _ := strings.Cut(c.Name, "/")
		sizes[id]++
	}
	stop := x.Follow(r)
	const rounds = 40
	var writers, readers sync.WaitGroup
	for _, id := range ids {
		writers.Go(func() {
			for i := range rounds {
				if i%2 == 0 {
					put(t, r, id)
				} else {
					r.Remove(id)
				}
				if i%8 == 0 {
					if err := x.Sync(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	writers.Go(func() {
		for range 10 {
			x.Follow(r)
		}
	})
	done := make(chan struct{})
	queries := []Query{{}, {Text: "list isues"}, {Text: "serch code", Tags: []string{"lookup"}}, {Text: "csv parsing"}, {Text: "nothinglikeit"}, {Text: "sql tables of the database"}}
	for n := range 4 {
		readers.Go(func() {
			for i := n; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				q := queries[i%len(queries)]
				q.Limit = MaxLimit
				page, err := x.Search(t.Context(), q)
				if err != nil {
					t.Error(err)
					return
				}
				if q.Text != "" {
					continue
				}
				count := map[string]int{}
				for _, h := range page.Hits {
					id, _, _ := strings.Cut(h.Capability.Name, "/")
					count[id]++
				}
				for id, n := range count {
					if n != sizes[id] {
						t.Errorf("%d capabilities of %s, want all %d or none", n, id, sizes[id])
					}
				}
			}
		})
	}
	writers.Wait()
	if err := x.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	close(done)
	readers.Wait()
	if got := find(t, x, Query{}).Known; got != len(r.List()) {
		t.Errorf("known %d in the end, want %d", got, len(r.List()))
	}
	stop()
	x.Close()
}
