package tests

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestSandboxReachesNothing lets snippets try to get out in a real browser. The server that they aim at answers anybody (so
// that only the sandbox can be what stops them) and must see nothing.
func TestSandboxReachesNothing(t *testing.T) {
	var mu sync.Mutex
	var hits []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		hits = append(hits, r.Method+" "+r.URL.String())
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write([]byte("0"))
	}))
	defer server.Close()
	if _, err := http.Get(server.URL + "/control"); err != nil || len(hits) != 1 {
		t.Fatalf("the server doesn't see a plain request: %v, %q", err, hits)
	}
	hits = nil

	// Each attempt runs as the body of a coroutine; what it returns or raises is what the test sees. BASE is the server.
	attempts := map[string]string{
		"fetch":            `from js import fetch; r = await fetch(BASE + "/fetch"); return "reached " + str(r.status)`,
		"fetch no-cors":    `from js import fetch, Object; from pyodide.ffi import to_js; r = await fetch(BASE + "/nocors", to_js({"mode": "no-cors"}, dict_converter=Object.fromEntries)); return "reached"`,
		"XMLHttpRequest":   `from js import XMLHttpRequest; x = XMLHttpRequest.new(); x.open("GET", BASE + "/xhr", False); x.send(); return "reached " + str(x.status)`,
		"WebSocket":        `from js import WebSocket; import asyncio; w = WebSocket.new(BASE.replace("http", "ws") + "/ws"); await asyncio.sleep(.3); return "reached" if w.readyState == 1 else "blocked: state " + str(w.readyState)`,
		"EventSource":      `from js import EventSource; import asyncio; e = EventSource.new(BASE + "/events"); await asyncio.sleep(.3); return "reached" if e.readyState == 1 else "blocked: state " + str(e.readyState)`,
		"importScripts":    `from js import importScripts; importScripts(BASE + "/import.js"); return "reached"`,
		"dynamic import":   `import _toolplane_host as h; await h.send.constructor("u", "return import(u)")(BASE + "/dynamic.js"); return "reached"`,
		"constructor":      `import _toolplane_host as h; await h.send.constructor("u", "return self.fetch(u)")(BASE + "/constructor"); return "reached"`,
		"nested worker":    `from js import Worker; import asyncio; Worker.new(BASE + "/worker.js"); await asyncio.sleep(.3); return "blocked: no answer"`,
		"blob worker":      `from js import Blob, URL, Worker; from pyodide.ffi import to_js; import asyncio; u = URL.createObjectURL(Blob.new(to_js(["fetch('" + BASE + "/blob'); importScripts('" + BASE + "/blob.js')"]))); Worker.new(u); await asyncio.sleep(.3); return "blocked: no answer"`,
		"indexedDB":        `from js import indexedDB; indexedDB.open("x"); return "reached"`,
		"caches":           `from js import caches; await caches.open("x"); return "reached"`,
		"localStorage":     `from js import localStorage; return "reached " + str(localStorage)`,
		"BroadcastChannel": `from js import BroadcastChannel; import asyncio; b = BroadcastChannel.new("toolplane"); got = []; b.onmessage = lambda e: got.append(e); b.postMessage("x"); await asyncio.sleep(.2); return "reached" if got else "blocked: nobody there"`,
		"service worker":   `from js import navigator; await navigator.serviceWorker.register(BASE + "/sw.js"); return "reached"`,
		"document":         `from js import document; return "reached " + str(document)`,
		"parent":           `from js import parent; return "reached " + str(parent)`,
		"page's toolplane": `from js import toolplane; return "reached " + str(toolplane)`,
		"socket":           `import socket; s = socket.create_connection(("127.0.0.1", int(BASE.rsplit(":", 1)[1])), timeout=1); s.send(b"GET /socket HTTP/1.0\r\n\r\n"); return "reached"`,
		"urllib":           `import urllib.request; return "reached " + urllib.request.urlopen(BASE + "/urllib").read().decode()`,
		"pyodide.http":     `from pyodide.http import pyfetch; await pyfetch(BASE + "/pyfetch"); return "reached"`,
		"sendBeacon":       `from js import navigator; return "reached" if navigator.sendBeacon(BASE + "/beacon", "x") else "blocked: refused"`,
		"token in globals": `import js; names = [n for n in dir(js) if "token" in n.lower()]; return "reached " + repr(names) if names else "blocked: no such name"`,
		"location":         `from js import location; text = str(location.href); return "reached " + text if "token" in text else "blocked: " + text`,
	}
	var snippets []snippet
	var names []string
	for name, body := range attempts {
		names = append(names, name)
		snippets = append(snippets, snippet{strings.NewReplacer(" ", "_", "'", "").Replace(name), `
BASE = inputs["base"]
async def attempt():
    ` + body + `
try:
    return str(await attempt())
except BaseException as e:
    return f"blocked: {type(e).__name__}: {e}"
`})
	}
	for i, r := range run(t, snippets, "--fresh", "--input", "base="+jsonString(t, server.URL)) {
		var got string
		if r.OK {
			decode(t, r.Value, &got)
		} else {
			got = "blocked: the run failed: " + r.Error.Type
		}
		if !strings.HasPrefix(got, "blocked: ") {
			t.Errorf("%s: %s", names[i], got)
		}
		t.Logf("%-18s %.110s", names[i], got)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(hits) != 0 {
		t.Errorf("the sandbox reached the server: %q", hits)
	}
}
