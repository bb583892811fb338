package web

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

const digest = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// sample is a handler over files of the test, so that it says the same with and without `make web`.
func sample() http.Handler {
	return &handler{
		files: fstest.MapFS{
			"index.html":         {Data: []byte("<!doctype html>")},
			"frame.html":         {Data: []byte("<script></script>")},
			"page.js":            {Data: []byte("1")},
			"python.json":        {Data: []byte("{}")},
			"pyodide/a.mjs":      {Data: []byte("2")},
			"pyodide/a.wasm":     {Data: []byte("\x00asm")},
			"pyodide/stdlib.zip": {Data: []byte("PK")},
			"secret.txt":         {Data: []byte("not listed")},
		},
		manifest: &manifest{Pyodide: "1", FrameCSP: "default-src 'none'", Files: map[string]string{
			"index.html": digest, "frame.html": digest, "page.js": digest, "python.json": digest,
			"pyodide/a.mjs": digest, "pyodide/a.wasm": digest, "pyodide/stdlib.zip": digest, "gone.js": digest,
		}},
	}
}

func ask(h http.Handler, method, target string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestHandlerAnswers(t *testing.T) {
	tests := []struct {
		name, method, target string
		status               int
		mime, body           string
	}{
		{"index", "GET", "/executor/", 200, "text/html; charset=utf-8", "<!doctype html>"},
		{"index by name", "GET", "/executor/index.html", 200, "text/html; charset=utf-8", "<!doctype html>"},
		{"script", "GET", "/executor/page.js", 200, "text/javascript; charset=utf-8", "1"},
		{"module", "GET", "/executor/pyodide/a.mjs", 200, "text/javascript; charset=utf-8", "2"},
		{"wasm", "GET", "/executor/pyodide/a.wasm", 200, "application/wasm", "\x00asm"},
		{"zip", "GET", "/executor/pyodide/stdlib.zip", 200, "application/zip", "PK"},
		{"json", "GET", "/executor/python.json", 200, "application/json", "{}"},
		{"head", "HEAD", "/executor/page.js", 200, "text/javascript; charset=utf-8", ""},
		{"post", "POST", "/executor/page.js", 405, "text/plain; charset=utf-8", "only GET and HEAD\n"},
		{"unlisted", "GET", "/executor/secret.txt", 404, "text/plain; charset=utf-8", "404 page not found\n"},
		{"frame", "GET", "/executor/frame.html", 200, "text/html; charset=utf-8", "<script></script>"},
		{"folder", "GET", "/executor/pyodide/", 404, "text/plain; charset=utf-8", "404 page not found\n"},
		{"way out", "GET", "/executor/../embed.go", 404, "text/plain; charset=utf-8", "404 page not found\n"},
		{"elsewhere", "GET", "/", 404, "text/plain; charset=utf-8", "404 page not found\n"},
		{"listed but missing", "GET", "/executor/gone.js", 500, "text/plain; charset=utf-8", "web: open gone.js: file does not exist\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ask(sample(), test.method, test.target)
			body, err := io.ReadAll(got.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got.StatusCode != test.status || got.Header.Get("Content-Type") != test.mime || string(body) != test.body {
				t.Errorf("%d %q %q, want %d %q %q", got.StatusCode, got.Header.Get("Content-Type"), body, test.status, test.mime, test.body)
			}
			for name, want := range map[string]string{
				"Cross-Origin-Opener-Policy":   "same-origin",
				"Cross-Origin-Embedder-Policy": "require-corp",
				"Cross-Origin-Resource-Policy": "same-origin",
				"X-Content-Type-Options":       "nosniff",
				"Referrer-Policy":              "no-referrer",
			} {
				if name == "Cross-Origin-Resource-Policy" && strings.HasSuffix(test.target, "/frame.html") {
					want = "cross-origin" // or Firefox refuses the frame
				}
				if got.Header.Get(name) != want {
					t.Errorf("%s: %q, want %q", name, got.Header.Get(name), want)
				}
			}
		})
	}
}

func TestHandlerPolicies(t *testing.T) {
	tests := map[string]string{
		"/executor/":           pageCSP,
		"/executor/frame.html": "sandbox allow-scripts; default-src 'none'; frame-ancestors 'self'",
		"/executor/page.js":    dataCSP,
		"/executor/nothing":    dataCSP,
	}
	for target, want := range tests {
		if got := ask(sample(), "GET", target).Header.Get("Content-Security-Policy"); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	for _, csp := range []string{pageCSP, dataCSP} {
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
			t.Errorf("%q isn't strict", csp)
		}
	}
}

func TestHandlerCaching(t *testing.T) {
	const forever, revalidate = "public, max-age=31536000, immutable", "no-cache"
	tests := map[string]string{
		"/executor/page.js":                      revalidate,
		"/executor/page.js?v=" + digest[:16]:     forever,
		"/executor/page.js?v=" + digest:          forever,
		"/executor/page.js?v=" + digest[:15]:     revalidate, // too short to mean anything
		"/executor/page.js?v=ffffffffffffffff":   revalidate, // another build's
		"/executor/page.js?v=" + digest + "0000": revalidate,
	}
	for target, want := range tests {
		got := ask(sample(), "GET", target)
		if got.Header.Get("Cache-Control") != want {
			t.Errorf("%s: %q, want %q", target, got.Header.Get("Cache-Control"), want)
		}
		if got.Header.Get("ETag") != `"`+digest+`"` {
			t.Errorf("%s: ETag %q", target, got.Header.Get("ETag"))
		}
	}
	if got := ask(sample(), "GET", "/executor/page.js", "If-None-Match", `"`+digest+`"`); got.StatusCode != http.StatusNotModified {
		t.Errorf("the same ETag: %d, want 304", got.StatusCode)
	}
	if got := ask(sample(), "GET", "/executor/page.js", "If-None-Match", `"other"`); got.StatusCode != http.StatusOK {
		t.Errorf("another ETag: %d, want 200", got.StatusCode)
	}
}

func TestReadManifest(t *testing.T) {
	if _, err := readManifest(fstest.MapFS{}); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("without a manifest: %v, want ErrNotBuilt", err)
	}
	if _, err := readManifest(fstest.MapFS{"manifest.json": {Data: []byte("{")}}); err == nil || !strings.Contains(err.Error(), "manifest.json") {
		t.Errorf("with a broken manifest: %v, want its name", err)
	}
}

// The files that `make web` built are those that the manifest describes, and the frame's policy fits its script.
func TestEmbedded(t *testing.T) {
	if err := Built(); err != nil {
		t.Fatal(err)
	}
	m, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	if Version() == "" || Version() != m.Pyodide {
		t.Errorf("Version() = %q", Version())
	}
	for _, name := range []string{
		"index.html", "frame.html", "page.js", "worker.js", "python.json",
		"pyodide/pyodide.asm.mjs", "pyodide/pyodide.asm.wasm", "pyodide/pyodide.mjs", "pyodide/python_stdlib.zip",
	} {
		if m.Files[name] == "" {
			t.Errorf("%s isn't in the manifest", name)
		}
	}
	for name, want := range m.Files {
		body, err := fs.ReadFile(executorFS(), name)
		if err != nil {
			t.Error(err)
			continue
		}
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s: digest %x, the manifest says %s", name, sum, want)
		}
		got := ask(Handler(), "GET", Prefix+name)
		if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") == "" {
			t.Errorf("%s: %d %q", name, got.StatusCode, got.Header.Get("Content-Type"))
		}
	}

	frame, err := fs.ReadFile(executorFS(), "frame.html")
	if err != nil {
		t.Fatal(err)
	}
	script := regexp.MustCompile(`(?s)<script>(.*)</script>`).FindSubmatch(frame)
	if script == nil {
		t.Fatal("frame.html has no inline script")
	}
	sum := sha256.Sum256(script[1])
	hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	if !strings.Contains(m.FrameCSP, hash) {
		t.Errorf("the frame's policy %q doesn't allow its script, %s", m.FrameCSP, hash)
	}
	if regexp.MustCompile(`'self'|'unsafe-inline'|'unsafe-eval'|https?:|\*`).MatchString(m.FrameCSP) {
		t.Errorf("the frame's policy %q names an address or more than it needs", m.FrameCSP)
	}
}
