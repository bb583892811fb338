package executor

import (
	"context"
	"net/http"
)

// Hub accepts pages. See the package documentation.
type Hub struct{}

// NewHub returns a hub without pages.
func NewHub(HubOptions) *Hub { return &Hub{} }

// ServeHTTP accepts a page's WebSocket.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {}

// Headless owns the headless browser.
type Headless struct{}

// NewHeadless returns a browser that isn't started.
func NewHeadless(*Hub, HeadlessOptions) *Headless { return &Headless{} }

// Executor runs snippets.
type Executor struct{}

// New returns an executor. It starts nothing; the first run does.
func New(Options) *Executor { return &Executor{} }

// Hub returns the handler for /ws.
func (e *Executor) Hub() *Hub { return &Hub{} }

// Run runs one snippet and never returns nil.
func (e *Executor) Run(ctx context.Context, r Request) *Result { return &Result{} }

// Close ends every run and the browser.
func (e *Executor) Close(ctx context.Context) error { return nil }

// FindBrowser returns the browser to use.
func FindBrowser() (string, error) { return "", nil }
