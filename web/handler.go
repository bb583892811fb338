package web

import (
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// Prefix is the path below which [Handler] serves.
const Prefix = "/executor/"

// The page loads scripts of its own only, talks to its own origin only and may not be framed. It starts no worker: the frame does.
const pageCSP = "default-src 'none'; script-src 'self'; connect-src 'self'; frame-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Files that are data for the page, if somebody opens them as a document.
const dataCSP = "default-src 'none'; frame-ancestors 'none'; sandbox"

// mimeTypes is ours alone: the operating system's table may differ, and browsers insist on these.
var mimeTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".mjs":  "text/javascript; charset=utf-8",
	".wasm": "application/wasm",
	".zip":  "application/zip",
}

// Handler serves the executor page and its files below [Prefix], by GET and HEAD. Every answer carries the headers that make the page
// cross-origin isolated and confine it. Files are revalidated by ETag; an address with the right digest in ?v= may be kept for good.
//
// When the runtime isn't built in, every request is answered with 503 and the way out. The handler checks neither Host nor Origin: that
// is the caller's. It may be used concurrently.
func Handler() http.Handler {
	m, err := embedded()
	if err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		})
	}
	return &handler{files: executorFS(), manifest: m}
}

type handler struct {
	files    fs.FS
	manifest *manifest
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Embedder-Policy", "require-corp")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Content-Security-Policy", dataCSP)

	if r.URL.Path == Prefix+"frame.html" {
		// Firefox takes a sandboxed frame for another origin than the page's. Who may frame it is what its policy says.
		header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	}

	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	name, found := strings.CutPrefix(r.URL.Path, Prefix)
	if found && name == "" {
		name = "index.html"
	}
	// Only what the manifest lists is served, so there is no path to escape by.
	digest, listed := h.manifest.Files[name]
	if !found || !listed {
		http.NotFound(w, r)
		return
	}
	file, err := h.files.Open(name)
	if err != nil {
		http.Error(w, "web: "+err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = file.Close() }()
	header.Set("Content-Type", mimeTypes[path.Ext(name)])
	header.Set("Content-Security-Policy", h.csp(name))
	header.Set("ETag", `"`+digest+`"`)
	header.Set("Cache-Control", cacheControl(r.URL.Query().Get("v"), digest))
	http.ServeContent(w, r, "", time.Time{}, file.(io.ReadSeeker)) // as embedded files are
}

func (h *handler) csp(name string) string {
	switch name {
	case "index.html":
		return pageCSP
	case "frame.html":
		// Opened by itself it's sandboxed, too; the page adds the same by the iframe's attribute.
		return "sandbox allow-scripts; " + h.manifest.FrameCSP + "; frame-ancestors 'self'"
	default:
		return dataCSP
	}
}

// minVersion is how many characters of a digest an address must name to be kept for good.
const minVersion = 16

func cacheControl(version, digest string) string {
	if len(version) >= minVersion && strings.HasPrefix(digest, version) {
		return "public, max-age=31536000, immutable"
	}
	return "no-cache"
}
