package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const sessionHeader = "Mcp-Session-Id"

// HTTPOptions are what an [HTTP] stands on. Options is required.
type HTTPOptions struct {
	// Options makes what the server of a new session stands on. Scope is new, and
	// known to nobody else.
	Options func(scope, subject string) Options
	// Ended drops the data of a session, when its runs have ended. It's called at
	// least once for each session, from any goroutine.
	Ended func(scope string)
	// Valid says whether a subject may still do anything; the sessions of one that
	// may not are ended. Nil means that each stays valid.
	Valid func(subject string) bool
	// MaxSessions bounds the sessions, MaxInFlight the requests of one at a time,
	// MaxBodyBytes one request. Defaults: 256, 64, 16 MiB.
	MaxSessions, MaxInFlight int
	MaxBodyBytes             int64
	// Idle is after how long without a request, an open stream or a call under way
	// a session ends; default 1 h.
	Idle time.Duration
	// Logger receives beginnings, ends and refusals. Nil means no log.
	Logger *slog.Logger
}

func (o HTTPOptions) withDefaults() HTTPOptions {
	if o.Ended == nil {
		o.Ended = func(string) {}
	}
	if o.Valid == nil {
		o.Valid = func(string) bool { return true }
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = 256
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 64
	}
	if o.MaxBodyBytes <= 0 {
		o.MaxBodyBytes = 16 << 20
	}
	if o.Idle <= 0 {
		o.Idle = time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// HTTP serves MCP over streamable HTTP. Each MCP session is a [Server] of its own,
// with a scope of its own.
//
// It leaves to its caller who may ask (see [HTTP.Serve]) and which Host and Origin
// a request may have. It is safe for concurrent use; close it before the HTTP
// server, which waits for streams that only Close ends.
type HTTP struct {
	o   HTTPOptions
	sdk *mcp.StreamableHTTPHandler

	mu       sync.Mutex
	sessions map[string]*session // by id
	counted  int                 // of sessions, those that count towards the limit
	dropped  []droppedScope
	closed   bool

	// watches are the goroutines that wait for the end of a session.
	watches sync.WaitGroup
	stop    chan struct{}
	sweeper sync.WaitGroup
}

// session is one MCP session.
type session struct {
	id, scope, subject string
	server             *Server

	// Guarded by HTTP.mu.
	requests int // answers under way, streams included
	posts    int // those of them that aren't streams of the server's own
	used     time.Time
	ending   bool
	counted  bool // not before there's an initialize
}

type sessionKey struct{}

// NewHTTP starts serving nobody yet.
func NewHTTP(o HTTPOptions) *HTTP {
	h := &HTTP{o: o.withDefaults(), sessions: map[string]*session{}, stop: make(chan struct{})}
	h.sdk = mcp.NewStreamableHTTPHandler(
		// The SDK asks for each request; only a new session needs a server.
		func(r *http.Request) *mcp.Server {
			if s, ok := r.Context().Value(sessionKey{}).(*session); ok {
				return s.server.mcp
			}
			return nil
		},
		&mcp.StreamableHTTPOptions{
			Logger:     slog.New(quietHandler{h.o.Logger.Handler()}),
			EventStore: newEvents(),
			// The caller has judged the Host, by a list that is configured.
			DisableLocalhostProtection: true,
			MaxRequestBodyBytes:        -1, // read already, up to a limit
		})
	h.sweeper.Go(h.sweep)
	return h
}

// Sessions is how many are begun.
func (h *HTTP) Sessions() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counted
}

// IDs are the sessions' ids, which are secrets as their tokens are.
func (h *HTTP) IDs() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.sessions))
}

// Serve answers a request of a subject, whom the caller has authenticated. A
// session answers only the subject that began it; to any other it isn't there.
func (h *HTTP) Serve(w http.ResponseWriter, r *http.Request, subject string) {
	body, ok := h.readBody(w, r)
	if !ok {
		return
	}
	w = newStreamWriter(w)
	if id := r.Header.Get(sessionHeader); id != "" {
		h.serveSession(w, r, id, subject, body)
		return
	}
	if r.Method != http.MethodPost {
		h.sdk.ServeHTTP(w, r) // which refuses it
		return
	}
	first := peek(body)
	s, err := h.begin(subject, first.initialize)
	if err != nil {
		h.o.Logger.Warn("MCP session refused", "error", err)
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, codeBusy, first.id, err.Error())
		return
	}
	defer h.settle(s)
	h.sdk.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionKey{}, s)))
}

func (h *HTTP) serveSession(w http.ResponseWriter, r *http.Request, id, subject string, body []byte) {
	s, err := h.enter(id, subject, r.Method)
	switch {
	case errors.Is(err, errNoSession):
		// Without an id, which would make it the answer to one request: clients begin
		// a new session upon it.
		refuse(w, http.StatusNotFound, codeNoSession, nil, err.Error())
		return
	case err != nil:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, codeBusy, peek(body).id, err.Error())
		return
	}
	defer h.leave(s, r.Method)
	if r.Method == http.MethodDelete {
		s.server.end() // the SDK waits for the calls under way
	}
	h.sdk.ServeHTTP(w, r)
	if r.Method == http.MethodDelete {
		h.drop(s)
	}
}

var errNoSession = errors.New("there is no such session: it has ended, or never was. Begin a new one with initialize; what was saved in the old one is gone")

// begin makes a session. One for a request that isn't an initialize, such as a
// client's question which protocol is spoken, ends with that request and doesn't
// count.
func (h *HTTP) begin(subject string, counted bool) (*session, error) {
	s := &session{id: rand.Text(), scope: "mcp-http-" + rand.Text(), subject: subject, requests: 1, posts: 1, used: time.Now()}
	o := h.o.Options(s.scope, subject)
	o.Scope, o.Subject, o.sessionID = s.scope, subject, s.id
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errors.New("this host is about to end")
	}
	if counted && h.counted >= h.o.MaxSessions {
		return nil, fmt.Errorf("%d MCP sessions are open, which is the limit ([mcp] max_sessions): end one of them (DELETE), or try again later; "+
			"one that isn't used ends after %s ([mcp] session_idle)", h.counted, h.o.Idle)
	}
	h.count(s, counted)
	s.server = New(o)
	h.sessions[s.id] = s
	return s, nil
}

// count has a session count, or not. The lock is held.
func (h *HTTP) count(s *session, counted bool) {
	switch {
	case counted && !s.counted:
		h.counted++
	case !counted && s.counted:
		h.counted--
	}
	s.counted = counted
}

// settle ends the request that began a session, and the session with it where the
// SDK has none: it wasn't initialized.
func (h *HTTP) settle(s *session) {
	h.leave(s, http.MethodPost)
	var begun *mcp.ServerSession
	for begun = range s.server.mcp.Sessions() {
	}
	if begun == nil {
		h.drop(s)
		return
	}
	h.mu.Lock()
	h.count(s, true)
	closed := h.closed
	if !closed { // Close waits only for those that it knows of
		h.watches.Add(1)
	}
	h.mu.Unlock()
	h.o.Logger.Info("MCP session begun", "subject", s.subject, "sessions", h.Sessions())
	if closed {
		h.finish(s)
		h.watch(s, begun)
		return
	}
	go func() {
		defer h.watches.Done()
		h.watch(s, begun)
	}()
}

// watch waits for the end of a session, and tidies up after it.
func (h *HTTP) watch(s *session, begun *mcp.ServerSession) {
	_ = begun.Wait() // why it ended is of no interest
	s.server.end()
	_ = begun.Close() // so that the SDK forgets it, too
	h.drop(s)
	h.o.Logger.Info("MCP session ended", "subject", s.subject, "sessions", h.Sessions())
}

// enter finds the session of a request, and counts the request.
func (h *HTTP) enter(id, subject, method string) (*session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	if s == nil || s.subject != subject || s.ending {
		return nil, errNoSession
	}
	if method == http.MethodPost {
		if s.posts >= h.o.MaxInFlight {
			return nil, fmt.Errorf("%d requests of this session are under way, which is the limit ([server] max_in_flight): wait for an answer", s.posts)
		}
		s.posts++
	}
	s.requests++
	return s, nil
}

func (h *HTTP) leave(s *session, method string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if method == http.MethodPost {
		s.posts--
	}
	s.requests--
	s.used = time.Now()
}

// drop forgets a session that has ended, and its data.
func (h *HTTP) drop(s *session) {
	s.server.end()
	h.o.Ended(s.scope)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.id] == s {
		h.count(s, false)
		delete(h.sessions, s.id)
		h.dropped = append(h.dropped, droppedScope{s.scope, time.Now()})
	}
}

// Close cancels the calls under way, ends the sessions, and waits for that until
// ctx ends. New sessions are refused from its call on.
func (h *HTTP) Close(ctx context.Context) error {
	h.mu.Lock()
	first := !h.closed
	h.closed = true
	var all []*session
	for _, s := range h.sessions {
		all = append(all, s)
	}
	h.mu.Unlock()
	if first {
		close(h.stop)
	}
	for _, s := range all {
		h.finish(s)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.sweeper.Wait()
		h.watches.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end the MCP sessions: %w", ctx.Err())
	}
}

// finish ends a session from this side. What follows its end is done where it's
// waited for.
func (h *HTTP) finish(s *session) {
	h.mu.Lock()
	again := s.ending
	s.ending = true
	h.mu.Unlock()
	if again {
		return
	}
	s.server.end()
	for begun := range s.server.mcp.Sessions() {
		go func() { _ = begun.Close() }() // its end is waited for by watch
	}
}
