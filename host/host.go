package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/executor"
	"github.com/toolplane/toolplane/host/mcpserver"
	"github.com/toolplane/toolplane/host/plugin"
	"github.com/toolplane/toolplane/host/result"
	"github.com/toolplane/toolplane/host/search"
	"github.com/toolplane/toolplane/host/token"
	"github.com/toolplane/toolplane/web"
)

// Options are what a host needs besides its configuration.
type Options struct {
	// Version is what the host calls itself.
	Version string
	// Logger receives starts, ends and refusals: never code, arguments, values or
	// tokens. Nil means no log.
	Logger *slog.Logger
	// Listen replaces the configured address, "" leaves it.
	Listen string
	// Tokens are the bearer tokens that /mcp takes. Nil means none but Secrets.
	Tokens *token.Store
	// Secrets are further ones, by a name for who uses it.
	Secrets map[string]token.Secret
	// Join is a further one, for the processes of this user that find it in a file
	// of [join]. To them the host proves that it knows it. Zero means none.
	Join token.Secret
	// AnyPort takes a free port where the one of the address is in use.
	AnyPort bool
	// CacheDir keeps compiled plugins between starts; "" compiles anew. See
	// [DefaultCacheDir].
	CacheDir string
	// Page serves the executor page below /executor/. Nil means the one that is
	// built into the binary.
	Page http.Handler

	// runner replaces Python in tests.
	runner mcpserver.Runner
	// impatient makes the HTTP server give up sooner, in tests.
	impatient func(*http.Server)
}

// A Host is a running Toolplane: HTTP server, plugins, stores, and the browser
// that runs snippets.
//
// It starts in this order: the listener (so that an address in use is the first
// thing to fail), result store, registry, bridge, search index, executor (which starts no browser
// before the first run), HTTP server, and then, in the background, the plugins.
// New returns before they are compiled; runs, calls and listings wait for those
// that they need. A plugin that fails to load takes no other one with it.
//
// It ends in this order: the MCP sessions over HTTP with their runs, no new runs
// and the end of those under way, the browser and the pages' connections (while the
// server that they talk to still runs), the HTTP server, the plugins, the search
// index, the result store.
//
// All methods are safe for concurrent use.
type Host struct {
	cfg      *config.Config
	logger   *slog.Logger
	version  string
	started  time.Time
	listener net.Listener
	url      string

	results  *result.Store // nil when the store is off
	registry *capability.Registry
	bridge   *bridge.Bridge
	executor *executor.Executor
	index    *search.Index
	exposure *mcpserver.Exposure // nil when nothing is exposed
	mcp      *mcpserver.HTTP
	bearers  *bearers
	runner   mcpserver.Runner
	plugins  *pluginSet
	server   *http.Server

	served chan struct{} // closed when the HTTP server has ended
	// servedErr is why, valid once served is closed; nil after Close.
	servedErr error

	ending  atomic.Bool // from the call of Close on
	closing sync.Once
	closed  error
}

// New starts a host. When ctx ends before it's up, New gives up; afterwards ctx
// has no meaning for the host, which runs until [Host.Close].
func New(ctx context.Context, cfg *config.Config, o Options) (*Host, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Page == nil {
		if err := web.Built(); err != nil {
			return nil, fmt.Errorf("start the host: %w", err)
		}
		o.Page = web.Handler()
	}
	address := cfg.Server.Listen
	if o.Listen != "" {
		address = o.Listen
	}
	listener, err := listen(ctx, address, listenOptions{connections: connectionsFor(cfg), allowRemote: cfg.Server.AllowRemote, anyPort: o.AnyPort, logger: o.Logger})
	if err != nil {
		return nil, err
	}
	h := &Host{
		cfg:      cfg,
		logger:   o.Logger,
		version:  o.Version,
		started:  time.Now(),
		listener: listener,
		url:      baseURL(listener.Addr()),
		registry: capability.NewRegistry(),
		served:   make(chan struct{}),
	}
	if r := cfg.Results; r.Enabled {
		h.results = result.New(result.Options{
			MaxEntries: r.MaxEntries, MaxTotalBytes: int64(r.MaxTotalBytes), MaxEntryBytes: int64(r.MaxEntryBytes), TTL: r.TTL,
			MaxFolds: cfg.Fold.MaxEntries, MaxFoldBytes: int64(cfg.Fold.MaxTotalBytes),
		})
	}
	h.bridge = bridge.New(bridge.Options{Registry: h.registry, Results: h.results, Logger: o.Logger.With("part", "bridge")})
	runtime, err := plugin.NewRuntime(ctx, plugin.Options{CacheDir: o.CacheDir, Logger: o.Logger.With("part", "plugin")})
	if err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("start the host: prepare plugins: %w", err)
	}
	if h.index, err = search.New(search.Options{Logger: o.Logger.With("part", "search")}); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("start the host: prepare the search: %w", errors.Join(err, runtime.Close(ctx)))
	}
	h.index.Follow(h.registry)
	h.exposure = mcpserver.NewExposure(cfg.MCP.Expose, h.registry, o.Logger.With("part", "mcp"))
	h.plugins = newPluginSet(pluginSetOptions{
		open: opener(runtime), close: runtime.Close, registry: h.registry, logger: o.Logger.With("part", "plugin"),
	})
	guard := newGuard(cfg.Server, o.Logger.With("part", "http"))
	h.executor = executor.New(h.executorOptions(guard))
	h.bearers = newBearers(o)
	h.runner = o.runner
	if h.runner == nil {
		h.runner = h
	}
	h.mcp = mcpserver.NewHTTP(h.mcpHTTPOptions())
	h.server = newServer(guard.wrap(h.routes(o.Page)), o.Logger.With("part", "http"))
	if o.impatient != nil {
		o.impatient(h.server)
	}
	go h.serve()
	h.plugins.load(cfg.Plugins)
	o.Logger.Info("host started", "url", h.url, "version", o.Version, "plugins", len(cfg.Plugins))
	return h, nil
}

func (h *Host) executorOptions(guard *guard) executor.Options {
	c := h.cfg.Executor
	return executor.Options{
		Sessions: sessionOptions(h.cfg.Session),
		Hub: executor.HubOptions{
			Dispatcher:    dispatcher{bridge: h.bridge, plugins: h.plugins},
			Registry:      h.registry,
			Name:          "toolplane",
			Version:       h.version,
			MaxFrameBytes: int64(h.cfg.Server.MaxFrameBytes),
			MaxInFlight:   h.cfg.Server.MaxInFlight,
			CheckOrigin:   guard.checkOrigin,
		},
		Headless: executor.HeadlessOptions{
			BaseURL:      h.url,
			Browser:      c.Browser,
			NoSandbox:    executor.SandboxMode(c.NoSandbox),
			StartTimeout: c.StartTimeout,
			PoolSize:     c.PoolSize,
			MaxMemoryMB:  c.MaxMemoryMB,
			Version:      h.version,
		},
		NoHeadless:        !c.Headless,
		Logger:            h.logger.With("part", "executor"),
		RunTimeout:        c.RunTimeout,
		MaxRunTimeout:     c.MaxRunTimeout,
		MaxOutputBytes:    int64(c.MaxOutputBytes),
		MaxConcurrentRuns: c.MaxConcurrentRuns,
		MaxCalls:          c.MaxCalls,
		MaxCallsInFlight:  c.MaxCallsInFlight,
	}
}

func sessionOptions(c config.Session) *executor.SessionOptions {
	if !c.Enabled {
		return nil
	}
	return &executor.SessionOptions{MaxMemoryMB: c.MaxMemoryMB, MaxSessions: c.MaxSessions, IdleTTL: c.IdleTTL}
}

func (h *Host) serve() {
	err := h.server.Serve(h.listener)
	if !errors.Is(err, http.ErrServerClosed) {
		h.servedErr = fmt.Errorf("the HTTP server ended: %w", err)
		h.logger.Error("HTTP server ended", "error", err)
	}
	close(h.served)
}

// Run runs one snippet. It first waits, within the executor's start timeout, for
// the plugins that are still being loaded, since the snippet's globals are made
// of their tools; the browser starts meanwhile. It never returns nil.
func (h *Host) Run(ctx context.Context, req executor.Request) *executor.Result {
	if !h.plugins.settled() {
		// The error of a browser that can't start is that of the run below.
		warm := make(chan struct{})
		go func() {
			defer close(warm)
			_ = h.executor.Start(ctx)
		}()
		defer func() { <-warm }()
		h.WaitPlugins(ctx)
	}
	return h.executor.Run(ctx, req)
}

// Start makes everything ready that the first run would have to wait for.
func (h *Host) Start(ctx context.Context) error { return h.executor.Start(ctx) }

// WaitPlugins waits until every plugin is loaded or has failed, until ctx ends, or
// for the executor's start timeout, and says how each of them is.
func (h *Host) WaitPlugins(ctx context.Context) []PluginState {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Executor.StartTimeout)
	defer cancel()
	h.plugins.wait(ctx)
	return h.plugins.states()
}

// Plugins says how each enabled plugin is, sorted by name.
func (h *Host) Plugins() []PluginState { return h.plugins.states() }

// Addr is where the HTTP server listens.
func (h *Host) Addr() net.Addr { return h.listener.Addr() }

// URL is how this machine reaches the HTTP server, without a "/" at the end.
func (h *Host) URL() string { return h.url }

// Config is what the host was started with. It must not be changed.
func (h *Host) Config() *config.Config { return h.cfg }

// Registry holds what snippets can call. Plugins that are still being loaded
// aren't in it yet: see [Host.WaitPlugins].
func (h *Host) Registry() *capability.Registry { return h.registry }

// Bridge dispatches calls.
func (h *Host) Bridge() *bridge.Bridge { return h.bridge }

// Results is the store of saved values, or nil when it's turned off.
func (h *Host) Results() *result.Store { return h.results }

// Executor runs snippets. Use [Host.Run] for runs.
func (h *Host) Executor() *executor.Executor { return h.executor }

// Done is closed when the HTTP server has ended, by Close or by itself.
func (h *Host) Done() <-chan struct{} { return h.served }

// Err says why the HTTP server ended by itself, once Done is closed.
func (h *Host) Err() error {
	select {
	case <-h.served:
		return h.servedErr
	default:
		return nil
	}
}

// Close ends everything, in the order that [Host] describes. It takes as long as
// ctx allows, and then goes on by force. Later calls return what the first did.
func (h *Host) Close(ctx context.Context) error {
	h.closing.Do(func() { h.closed = h.close(ctx) })
	return h.closed
}

func (h *Host) close(ctx context.Context) error {
	var errs []error
	failed := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	h.ending.Store(true)
	failed("end MCP over HTTP", h.mcp.Close(ctx))
	failed("end the executor", h.executor.Close(ctx))
	if err := h.server.Shutdown(ctx); err != nil {
		failed("end the HTTP server", err)
		_ = h.server.Close()
	}
	<-h.served
	failed("end the plugins", h.plugins.end(ctx))
	h.index.Close()
	if h.results != nil {
		h.results.Close()
	}
	err := errors.Join(errs...)
	h.logger.Info("host ended", "error", err)
	return err
}

// DefaultCacheDir is where compiled plugins are kept between starts, or "" where
// the user has no folder for such things.
func DefaultCacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "toolplane", "compiled")
}
