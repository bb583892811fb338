package executor

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/toolplane/toolplane/host/capability"
)

// Kind tells the sorts of executor pages apart.
type Kind string

// The kinds that the protocol knows.
const (
	KindHeadless  Kind = "headless"
	KindConsole   Kind = "console"
	KindExtension Kind = "extension"
)

// SandboxMode says whether Chromium's own process sandbox is on.
type SandboxMode string

const (
	// NoSandboxAuto turns Chromium's sandbox off only where Chromium refuses to
	// start with it: as root on Linux.
	NoSandboxAuto SandboxMode = "auto"
	// NoSandboxAlways turns it off.
	NoSandboxAlways SandboxMode = "always"
	// NoSandboxNever leaves it on.
	NoSandboxNever SandboxMode = "never"
)

// HubOptions configures a [Hub]. Zero values mean the defaults.
type HubOptions struct {
	// Dispatcher answers the capability calls of runs. Required.
	Dispatcher Dispatcher
	// Registry is where the catalog that pages get comes from. Nil means an
	// empty catalog.
	Registry *capability.Registry
	// Name and Version are what the host calls itself in session.hello.
	Name, Version string
	// Logger receives connections and refusals: never tokens, code, arguments
	// or values. Nil means no log.
	Logger *slog.Logger

	// MaxFrameBytes bounds one message (default 16 MiB).
	MaxFrameBytes int64
	// MaxInFlight bounds the unanswered calls of one connection, in each
	// direction (default 64).
	MaxInFlight int
	// MaxPages bounds the connected pages (default 16).
	MaxPages int
	// MaxPending bounds the connections that have not said hello yet (default
	// 8), and HelloTimeout how long each may take to (default 10 s).
	MaxPending   int
	HelloTimeout time.Duration
	// CheckOrigin refuses a WebSocket request by an error. Nil means that the
	// Origin header, if there is one, must name the host that the request went to.
	CheckOrigin func(*http.Request) error
}

// HeadlessOptions configures a [Headless]. Zero values mean the defaults.
type HeadlessOptions struct {
	// BaseURL is where this process serves the executor page and /ws, such as
	// "http://127.0.0.1:7350". Required.
	BaseURL string
	// Browser is the program to start, a path or a name on PATH. Empty means
	// what [FindBrowser] finds.
	Browser string
	// NoSandbox is NoSandboxAuto by default.
	NoSandbox SandboxMode
	// StartTimeout bounds the time from the start of the browser to the page
	// being ready to run (default 60 s).
	StartTimeout time.Duration
	// PoolSize is the number of interpreters the page keeps ready (default 2).
	PoolSize int
	// MaxMemoryMB bounds the memory of each interpreter, in MiB: its WebAssembly
	// memory can't grow beyond it. 64 to 4096 (default 512).
	MaxMemoryMB int
	// Version is what the page says in its hello.
	Version string
	// Logger receives starts, ends and their reasons. Nil means no log.
	Logger *slog.Logger
}

// Options configures an [Executor]. Zero values mean the defaults.
type Options struct {
	Hub HubOptions
	// Headless configures the browser; NoHeadless means that none is ever
	// started and that runs need a page that somebody opened.
	Headless   HeadlessOptions
	NoHeadless bool
	// Sessions keeps a namespace for each scope. Nil means that every run has a
	// pristine interpreter.
	Sessions *SessionOptions
	// Logger receives runs: their ids, how long they took and how they ended.
	// It is also the default of the other two.
	Logger *slog.Logger

	// RunTimeout is the time of a run that names none (default 30 s), and
	// MaxRunTimeout the most that a run may ask for (default 10 min).
	RunTimeout, MaxRunTimeout time.Duration
	// Grace is how much later than its time-out a page may answer before the
	// host gives it up and restarts the browser (default 20 s). It covers the time
	// until an interpreter is free, which the page doesn't count as the run's.
	Grace time.Duration
	// MaxOutputBytes bounds what a run may print (default 10 MiB). One that
	// prints more ends with an OutputLimitError, and keeps what it printed.
	MaxOutputBytes int64
	// MaxConcurrentRuns bounds the runs under way (default 4), MaxQueuedRuns
	// those that wait for one to end (default 64), and QueueTimeout how long
	// one may wait (default 1 min).
	MaxConcurrentRuns, MaxQueuedRuns int
	QueueTimeout                     time.Duration
	// MaxCalls bounds the capability calls of one run (default 10,000), and
	// MaxCallsInFlight those unanswered at one time (default 32).
	MaxCalls, MaxCallsInFlight int
}
