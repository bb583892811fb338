package capability_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
)

func names(caps []capability.Capability) string {
	var out []string
	for _, c := range caps {
		out = append(out, c.Name)
	}
	return strings.Join(out, " ")
}

func TestPutReplacesOneProvider(t *testing.T) {
	r := registry(t, one("plugin:a/x", ""), one("plugin:a/y", ""), one("plugin:b/x", ""))
	if err := r.Put(provider("plugin:a"), []capability.Capability{one("plugin:a/z", "")}); err != nil {
		t.Fatal(err)
	}
	if got := names(r.List()); got != "plugin:a/z plugin:b/x" {
		t.Errorf("List: %s", got)
	}
	if _, p, err := r.Lookup("plugin:a/z"); err != nil || p.ID() != "plugin:a" {
		t.Errorf("Lookup: %v, %v", p, err)
	}
	if _, _, err := r.Lookup("plugin:a/x"); err == nil {
		t.Error("the replaced capability is still there")
	}
	r.Remove("plugin:a")
	r.Remove("plugin:never-seen")
	if got := names(r.List()); got != "plugin:b/x" {
		t.Errorf("List after Remove: %s", got)
	}
}

func TestPutLeavesOut(t *testing.T) {
	manyTags := make([]string, capability.MaxTags+1)
	for i := range manyTags {
		manyTags[i] = fmt.Sprint("t", i)
	}
	for name, tc := range map[string]struct {
		bad  capability.Capability
		says string
	}{
		"no name":           {capability.Capability{}, "has no kind"},
		"someone else's":    {one("plugin:b/x", ""), "must begin with its provider's, plugin:a/"},
		"longer provider":   {one("plugin:ab/x", ""), "must begin with its provider's, plugin:a/"},
		"the store's":       {one("toolplane:results/load", ""), "must begin with its provider's"},
		"given twice":       {one("plugin:a/good", ""), "given twice"},
		"long description":  {capability.Capability{Name: "plugin:a/x", Description: strings.Repeat("x", capability.MaxDescriptionBytes+1)}, "the limit is 65536"},
		"long title":        {capability.Capability{Name: "plugin:a/x", Title: strings.Repeat("x", capability.MaxTitleBytes+1)}, "the limit is 1024"},
		"invalid UTF-8":     {capability.Capability{Name: "plugin:a/x", Description: "\xff"}, "isn't valid UTF-8"},
		"many tags":         {capability.Capability{Name: "plugin:a/x", Tags: manyTags}, "65 tags"},
		"odd tag":           {capability.Capability{Name: "plugin:a/x", Tags: []string{"a\n"}}, "its tag"},
		"empty tag":         {capability.Capability{Name: "plugin:a/x", Tags: []string{""}}, "its tag"},
		"bad annotations":   {capability.Capability{Name: "plugin:a/x", Annotations: json.RawMessage(`{`)}, "annotations aren't JSON"},
		"bad output schema": {capability.Capability{Name: "plugin:a/x", OutputSchema: json.RawMessage(`{"type":"int"}`)}, "its output schema isn't a valid"},
	} {
		t.Run(name, func(t *testing.T) {
			r := capability.NewRegistry()
			err := r.Put(provider("plugin:a"), []capability.Capability{one("plugin:a/good", ""), tc.bad})
			var p *capability.ProblemsError
			if !errors.As(err, &p) || !strings.Contains(err.Error(), tc.says) || p.Provider != "plugin:a" {
				t.Fatalf("got %v, want it to say %q", err, tc.says)
			}
			if got := names(r.List()); got != "plugin:a/good" {
				t.Errorf("List: %s", got)
			}
		})
	}
}

func TestPutTooMany(t *testing.T) {
	var caps []capability.Capability
	for i := range capability.MaxCapabilities + 2 {
		caps = append(caps, one(fmt.Sprintf("plugin:a/t%d", i), ""))
	}
	r := capability.NewRegistry()
	err := r.Put(provider("plugin:a"), caps)
	if err == nil || !strings.Contains(err.Error(), "the limit is 4096") {
		t.Errorf("Put: %v", err)
	}
	if n := len(r.List()); n != capability.MaxCapabilities {
		t.Errorf("%d capabilities", n)
	}
}

func TestPutRefusesProvider(t *testing.T) {
	r := registry(t, one("plugin:a/x", ""))
	for _, id := range []string{"", "issues", "plugin:a/x", "plugin:a\n"} {
		if err := r.Put(provider(id), nil); err == nil || !strings.Contains(err.Error(), "kind:name") {
			t.Errorf("%q: got %v", id, err)
		}
	}
	if r.Revision() != 1 {
		t.Errorf("refused providers changed the registry to revision %d", r.Revision())
	}
}

func TestHidden(t *testing.T) {
	secret := one("plugin:a/secret", "")
	secret.Hidden = true
	r := registry(t, secret, one("plugin:a/open", ""))
	if c, _, err := r.Lookup("plugin:a/secret"); err != nil || !c.Hidden {
		t.Errorf("Lookup: %v, %v", c, err)
	}
	if got := names(r.List()); got != "plugin:a/open" {
		t.Errorf("List: %s", got)
	}
	if n := len(r.Bindings()); n != 1 {
		t.Errorf("%d bindings", n)
	}
	for _, h := range append(r.Search("secret", 0), r.Search("", 0)...) {
		if h.Capability.Hidden {
			t.Error("Search shows it")
		}
	}
	if near := r.Nearest("plugin:a/secre", 5); slices.Contains(near, "plugin:a/secret") {
		t.Error("Nearest shows it")
	}
	if err := r.ValidateArguments("plugin:a/secret", json.RawMessage(`[]`)); err == nil || !strings.Contains(err.Error(), "await a_secret()") {
		t.Errorf("ValidateArguments: %v", err)
	}
}

// What a provider does with its own slices later must not reach the registry.
func TestPutCopies(t *testing.T) {
	c := one("plugin:a/x", `{"properties":{"n":{}}}`)
	c.Tags = []string{"tag"}
	r := registry(t, c)
	c.InputSchema[0] = '!'
	c.Tags[0] = "changed"
	got, _, err := r.Lookup("plugin:a/x")
	if err != nil || string(got.InputSchema) != `{"properties":{"n":{}}}` || got.Tags[0] != "tag" {
		t.Errorf("got %s, %v, %v", got.InputSchema, got.Tags, err)
	}
}

func TestLookupUnknown(t *testing.T) {
	full := registry(t, one("plugin:issues/list", `{"properties":{"count":{"type":"integer"}}}`), one("plugin:issues/get", ""), one("plugin:orders/export", ""))
	for name, tc := range map[string]struct {
		r    *capability.Registry
		name string
		says []string
	}{
		"typo":         {full, "plugin:isues/list", []string{`unknown capability "plugin:isues/list": did you mean plugin:issues/list`, "Call it as: await issues_list(count=<integer?>).", "search_capabilities finds all 3"}},
		"flat alias":   {full, "issues_list", []string{"did you mean plugin:issues/list"}},
		"scoped alias": {full, "issues.list", []string{"did you mean plugin:issues/list"}},
		"tool alone":   {full, "export", []string{"did you mean plugin:orders/export?"}},
		"provider":     {full, "issues", []string{"did you mean plugin:issues/get?", "Similar, too: plugin:issues/list."}},
		"wrong kind":   {full, "mcp:issues/list", []string{"plugin:issues/list"}},
		"nothing like": {full, "zzzzzzzz", []string{"nothing has a name like it", "search_capabilities finds all 3"}},
		"percent":      {full, "100%d", []string{`unknown capability "100%d": nothing`}},
		"huge":         {full, strings.Repeat("x", 1<<20), []string{"nothing has a name like it"}},
		"empty":        {full, "", []string{`unknown capability "": nothing`}},
		"broken":       {full, "plugin:a\n\xff", []string{`unknown capability "plugin:a\n\ufffd"`}},
		"only one":     {registry(t, one("plugin:a/b", "")), "zzzz", []string{"search_capabilities shows the only one"}},
		"none at all":  {capability.NewRegistry(), "plugin:a/b", []string{"no capability is available; enable a plugin in toolplane.toml"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := tc.r.Lookup(tc.name)
			e := wantError(t, err, capability.LookupError, capability.UnknownCapabilityError)
			for _, s := range tc.says {
				if !strings.Contains(e.Message, s) {
					t.Errorf("%q doesn't say %q", e.Message, s)
				}
			}
			if len(e.Message) > 1000 {
				t.Errorf("the message has %d bytes", len(e.Message))
			}
		})
	}
}

func TestNearest(t *testing.T) {
	r := registry(t, one("plugin:issues/list", ""), one("plugin:issues/search", ""), one("plugin:orders/list", ""))
	for name, want := range map[string]string{
		"plugin:issues/list": "plugin:issues/list",
		"PLUGIN:Issues/List": "plugin:issues/list",
		"issue_search":       "plugin:issues/search",
		"lsit":               "plugin:issues/list",
		"orders":             "plugin:orders/list",
	} {
		if got := r.Nearest(name, 3); len(got) == 0 || got[0] != want {
			t.Errorf("%s: got %v, want %s first", name, got, want)
		}
	}
	if got := r.Nearest("list", 1); len(got) != 1 {
		t.Errorf("asked for 1, got %v", got)
	}
	if got := r.Nearest("list", 0); len(got) != 0 {
		t.Errorf("asked for none, got %v", got)
	}
}

func TestSubscribe(t *testing.T) {
	r := capability.NewRegistry()
	var seen []uint64
	cancel := r.Subscribe(func() { seen = append(seen, r.Revision()) })
	var other int
	cancelOther := r.Subscribe(func() { other++ })
	if err := r.Put(provider("plugin:a"), []capability.Capability{one("plugin:a/x", "")}); err != nil {
		t.Fatal(err)
	}
	r.Remove("plugin:a")
	cancel()
	cancel() // twice is fine
	if err := r.Put(provider("plugin:a"), nil); err != nil {
		t.Fatal(err)
	}
	cancelOther()
	if !slices.Equal(seen, []uint64{1, 2}) {
		t.Errorf("told of revisions %v, want 1 and 2", seen)
	}
	if other != 3 {
		t.Errorf("the other subscriber was told %d times", other)
	}
}

// TestHammerRegistry changes a registry while others read it: a reader must see
// each provider's capabilities all or not at all.
func TestHammerRegistry(t *testing.T) {
	r := capability.NewRegistry()
	var notified atomic.Int64
	defer r.Subscribe(func() { notified.Add(1) })()
	const writers, rounds = 4, 60
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			id := fmt.Sprintf("plugin:p%d", w)
			for i := range rounds {
				tool := fmt.Sprint(id, "/t", i)
				if err := r.Put(provider(id), []capability.Capability{one(tool+"a", listSchema), one(tool+"b", "")}); err != nil {
					t.Error(err)
				}
				if i%10 == 9 {
					r.Remove(id)
				}
			}
		})
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var last uint64
			for {
				select {
				case <-done:
					return
				default:
				}
				if rev := r.Revision(); rev < last {
					t.Errorf("revision went from %d to %d", last, rev)
				} else {
					last = rev
				}
				list := r.List()
				if len(list)%2 != 0 {
					t.Errorf("half a provider: %s", names(list))
				}
				for _, h := range r.Search("count state p1", 5) {
					if h.Call == "" {
						t.Error("a hit without a call")
					}
				}
				for _, b := range r.Bindings() {
					if err := r.ValidateArguments(b.Name, json.RawMessage(`{"count":1}`)); err != nil {
						var e *capability.Error // it may be gone by now
						if !errors.As(err, &e) || e.Builtin != capability.LookupError {
							t.Error(err)
						}
					}
				}
			}
		})
	}
	wg.Wait()
	close(done)
	readers.Wait()
	if want := int64(writers * (rounds + rounds/10)); notified.Load() != want {
		t.Errorf("told of %d changes, want %d", notified.Load(), want)
	}
}
