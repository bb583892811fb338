package host

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/mux"
)

const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 30 * time.Second
	// answerTimeout bounds one answer. The largest file is the Python runtime, on
	// the same machine. WebSockets are exempt: they leave the server's care.
	answerTimeout  = 2 * time.Minute
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
)

func newServer(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}

// routes is everything that the server answers, behind the guard.
func (h *Host) routes(page http.Handler) http.Handler {
	r := mux.NewRouter()
	r.Handle("/ws", only("GET", h.executor.Hub()))
	r.PathPrefix("/executor/").Handler(only("GET, HEAD", page))
	r.Handle("/executor", only("GET, HEAD", http.RedirectHandler("/executor/", http.StatusPermanentRedirect)))
	r.Handle("/mcp", http.HandlerFunc(h.serveMCP))
	r.Handle("/join", only("POST", http.HandlerFunc(h.serveJoin)))
	r.Handle("/healthz", only("GET, HEAD", http.HandlerFunc(h.serveHealth)))
	r.Handle("/", only("GET, HEAD", http.HandlerFunc(h.serveRoot)))
	r.NotFoundHandler = http.HandlerFunc(serveNotFound)
	return r
}

const paths = `  /executor/  the page that runs Python, opened by the host itself
  /ws         the WebSocket of that page (subprotocol toolplane.v1)
  /mcp        for agents: MCP over streamable HTTP, with a bearer token
  /healthz    the state of this host, as JSON
`

func (h *Host) serveRoot(w http.ResponseWriter, _ *http.Request) {
	answerText(w, http.StatusOK, fmt.Sprintf("Toolplane %s is running. It serves:\n%s", h.version, paths))
}

func serveNotFound(w http.ResponseWriter, r *http.Request) {
	answerText(w, http.StatusNotFound, fmt.Sprintf("there is nothing at %q. This host serves:\n%s", clip(r.URL.Path), paths))
}

// Health is what /healthz answers. It's for anybody on this machine, so that it
// says how things are but not why: "toolplane doctor" and the log say that.
type Health struct {
	// Status is "ok", "starting" while plugins are being loaded, or "degraded" when
	// one couldn't be.
	Status        string         `json:"status"`
	Version       string         `json:"version"`
	UptimeSeconds float64        `json:"uptime_seconds"`
	Plugins       []PluginHealth `json:"plugins"`
	// Pages are the connected executor pages; none before the first run.
	Pages   int `json:"pages"`
	Running int `json:"running"`
	Queued  int `json:"queued"`
}

// PluginHealth is the public part of a [PluginState].
type PluginHealth struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Tools int    `json:"tools"`
}

// Health returns the state of the host now.
func (h *Host) Health() Health {
	stats := h.executor.Stats()
	out := Health{
		Status: "ok", Version: h.version, UptimeSeconds: time.Since(h.started).Seconds(),
		Plugins: []PluginHealth{}, Pages: stats.Pages, Running: stats.Running, Queued: stats.Queued,
	}
	for _, p := range h.plugins.states() {
		out.Plugins = append(out.Plugins, PluginHealth{Name: p.Name, State: p.State, Tools: len(p.Tools)})
		switch {
		case p.State == PluginFailed:
			out.Status = "degraded"
		case p.State == PluginLoading && out.Status == "ok":
			out.Status = "starting"
		}
	}
	return out
}

func (h *Host) serveHealth(w http.ResponseWriter, _ *http.Request) {
	text, err := json.MarshalIndent(h.Health(), "", "  ")
	if err != nil {
		answerText(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(text, '\n'))
}

// only answers other methods than the given ones with 405.
func only(methods string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for m := range strings.SplitSeq(methods, ", ") {
			if r.Method == m {
				next.ServeHTTP(w, r)
				return
			}
		}
		w.Header().Set("Allow", methods)
		answerText(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s isn't possible here, only %s", clip(r.Method), methods))
	})
}

func answerText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, strings.TrimSuffix(text, "\n"))
}
