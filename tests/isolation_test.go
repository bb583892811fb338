package tests

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// An escape is the body of a coroutine that tries to get out of the sandbox. BASE is the address of a server of the test. What
// it raises counts as blocked, and so does a returned text that says so.
type escape struct{ name, body string }

// witness is a server that answers everybody, so that only the sandbox can be what stops a request.
type witness struct {
	*httptest.Server
	mu   sync.Mutex
	hits []string
}

func newWitness(t *testing.T) *witness {
	w := &witness{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hits = append(w.hits, r.Method+" "+r.URL.String())
		rw.Header().Set("Access-Control-Allow-Origin", "*")
		rw.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		rw.Header().Set("Content-Type", "text/javascript")
		_, _ = rw.Write([]byte("0"))
	}))
	t.Cleanup(w.Close)
	if _, err := http.Get(w.URL + "/control"); err != nil || len(w.seen()) != 1 {
		t.Fatalf("the server doesn't see a plain request: %v, %q", err, w.hits)
	}
	w.hits = nil
	return w
}

func (w *witness) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hits
}

// TestSandboxReachesNothing lets snippets try to get out, in a real browser. The server that they aim at must see nothing, and no run may
// be told apart from one that never happened by those that come after it.
func TestSandboxReachesNothing(t *testing.T) {
	groups := []struct {
		name    string
		escapes []escape
	}{
		{"network", networkEscapes}, {"scripts", scriptEscapes}, {"storage", storageEscapes}, {"others", otherEscapes}, {"interpreter", interpreterEscapes},
	}
	total := 0
	for _, group := range groups {
		total += len(group.escapes)
		t.Run(group.name, func(t *testing.T) { tryEscapes(t, group.escapes) })
	}
	if total < 40 {
		t.Errorf("only %d escapes are left", total)
	}
	t.Logf("%d escapes were tried", total)
}

func tryEscapes(t *testing.T, escapes []escape) {
	server := newWitness(t)
	var snippets []snippet
	for i, e := range escapes {
		snippets = append(snippets, snippet{fmt.Sprintf("escape%d", i), fmt.Sprintf(`
BASE = inputs["base"] + "/%d"
async def attempt():
%s
try:
    return str(await attempt())
except BaseException as e:
    return f"blocked: {type(e).__name__}: {e}"
`, i, indent(e.body))})
	}
	// The last one sees whether anything is left of them.
	snippets = append(snippets, snippet{"after", afterEscapes})
	results := run(t, snippets, "--fresh", "--timeout", "10s", "--input", "base="+jsonString(t, server.URL))
	for i, e := range escapes {
		r := results[i]
		var got string
		if r.OK {
			decode(t, r.Value, &got)
		} else {
			got = "blocked: the run failed: " + r.Error.Type
		}
		if !strings.HasPrefix(got, "blocked: ") {
			t.Errorf("%s: %s", e.name, got)
		}
		if r.Tampered {
			t.Errorf("%s: flagged as tampering with the sandbox's messages, which it didn't", e.name)
		}
		t.Logf("%-32s %.110s", e.name, got)
	}
	if last := results[len(escapes)]; string(last.Value) != "[]" {
		t.Errorf("a run after them finds %s %+v", last.Value, last.Error)
	}
	for _, hit := range server.seen() {
		var i int
		_, target, _ := strings.Cut(hit, " ")
		if _, err := fmt.Sscanf(target, "/%d", &i); err == nil && i < len(escapes) {
			t.Errorf("%s reached the server: %s", escapes[i].name, hit)
		} else {
			t.Errorf("the sandbox reached the server: %s", hit)
		}
	}
}

// afterEscapes returns what earlier runs have left behind.
const afterEscapes = `
import js, os, sys, builtins, json
found = []
if hasattr(builtins, "left"): found.append("builtins")
if "left" in globals(): found.append("globals")
if os.path.exists("/tmp/left"): found.append("a file")
if getattr(js.Object.prototype, "left", None): found.append("Object.prototype")
if getattr(js.globalThis, "left", None): found.append("globalThis")
if json.loads("[1]") != [1]: found.append("json")
return found
`

func indent(body string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n    ")
}
