package capability_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
)

func tracker(t testing.TB) *capability.Registry {
	return registry(t,
		capability.Capability{Name: "plugin:issues/list", Title: "List issues", Description: "Returns the newest issues of the tracker.", Tags: []string{"lookup"},
			InputSchema: json.RawMessage(`{"properties":{"count":{"type":"integer","default":100},"state":{}}}`)},
		capability.Capability{Name: "plugin:issues/get", Title: "Get one issue", Description: "Returns one record by its number."},
		capability.Capability{Name: "plugin:issues/search", Title: "Search issues", Description: "Full text search over titles and bodies.",
			InputSchema: json.RawMessage(`{"properties":{"query":{"type":"string"}},"required":["query"]}`)},
		capability.Capability{Name: "mcp:shop/listOrders", Description: "Orders of a customer, newest first.", Tags: []string{"sales", "lookup"},
			InputSchema: json.RawMessage(`{"properties":{"customer_id":{"type":"string"}}}`)},
		capability.Capability{Name: "mcp:shop/refund-order", Description: "Pays an order back."},
		capability.Capability{Name: "plugin:geo/größe", Description: "Größe eines Landes"},
	)
}

func TestSearch(t *testing.T) {
	r := tracker(t)
	for query, want := range map[string]string{ // the first of the hits
		"list issues":      "plugin:issues/list",
		"issue":            "plugin:issues/get",
		"ISSUES":           "plugin:issues/get",
		"search":           "plugin:issues/search",
		"orders":           "mcp:shop/listOrders", // in a compound of the name
		"customer":         "mcp:shop/listOrders", // only an argument
		"sales":            "mcp:shop/listOrders", // only a tag
		"refnd":            "mcp:shop/refund-order",
		"ref":              "mcp:shop/refund-order",
		"pays back":        "mcp:shop/refund-order",
		"full text":        "plugin:issues/search",
		"issue by number":  "plugin:issues/get",
		"größe":            "plugin:geo/größe",
		"newest customers": "mcp:shop/listOrders",
	} {
		hits := r.Search(query, 3)
		if len(hits) == 0 || hits[0].Capability.Name != want {
			t.Errorf("%s: got %s, want %s first", query, show(hits), want)
			continue
		}
		if len(hits) > 3 {
			t.Errorf("%s: %d hits, asked for 3", query, len(hits))
		}
		for i, h := range hits {
			if h.Score <= 0 || i > 0 && h.Score > hits[i-1].Score {
				t.Errorf("%s: scores aren't falling: %s", query, show(hits))
			}
			if !strings.HasPrefix(h.Call, "await ") {
				t.Errorf("%s: call %q", query, h.Call)
			}
		}
	}
	for _, query := range []string{"zzzzzz", "!?", "x", strings.Repeat("q", 100_000)} {
		if hits := r.Search(query, 3); len(hits) != 0 {
			t.Errorf("%.20s: got %s", query, show(hits))
		}
	}
}

func TestSearchForEverything(t *testing.T) {
	r := tracker(t)
	for _, query := range []string{"", "  \n"} {
		hits := r.Search(query, 0)
		if len(hits) != 6 || hits[0].Capability.Name != "mcp:shop/listOrders" || hits[5].Capability.Name != "plugin:issues/search" {
			t.Errorf("%q: got %s", query, show(hits))
		}
		if n := len(r.Search(query, 2)); n != 2 {
			t.Errorf("asked for 2, got %d", n)
		}
	}
	if n := len(r.Search("lookup", -1)); n != 2 {
		t.Errorf("no limit: %d hits, want 2", n)
	}
	if n := len(capability.NewRegistry().Search("x", 5)) + len(capability.NewRegistry().Search("", 5)); n != 0 {
		t.Errorf("an empty registry has %d hits", n)
	}
}

func show(hits []capability.Hit) string {
	var out []string
	for _, h := range hits {
		out = append(out, fmt.Sprintf("%s %.2f", h.Capability.Name, h.Score))
	}
	return strings.Join(out, ", ")
}

func BenchmarkThousandCapabilities(b *testing.B) {
	var caps []capability.Capability
	for i := range 1000 {
		c := one(fmt.Sprintf("plugin:p%d/list-things%d", i%20, i), listSchema)
		c.Description = fmt.Sprintf("Lists the things number %d of the shop, newest first, with their orders.", i)
		caps = append(caps, c)
	}
	r := registry(b, caps...)
	r.Search("warm up", 1)
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			if len(r.Search("newest things of the shop", 10)) != 10 {
				b.Fatal("no hits")
			}
		}
	})
	b.Run("unknown", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := r.Lookup("plugin:p7/list_thing77"); err == nil {
				b.Fatal("found")
			}
		}
	})
	b.Run("put-and-bind", func(b *testing.B) {
		for b.Loop() {
			if err := r.Put(provider("plugin:more"), []capability.Capability{one("plugin:more/x", listSchema)}); err != nil {
				b.Fatal(err)
			}
			if len(r.Bindings()) != 1001 {
				b.Fatal("no bindings")
			}
		}
	})
}
