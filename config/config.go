// Package config reads toolplane.toml: where it is, what it says, and whether
// that can work.
//
// The file is read strictly. An unknown table or key, a value of the wrong
// type, a limit without its unit or outside its bounds are all errors, each with
// file, line, key, what was wrong and what would be right; every problem of a
// file is reported at once.
//
// One description per setting (see settings.go) drives decoding, bounds, the
// annotated sample that [Sample] returns and the listing that [Describe]
// returns, so that they can't disagree.
//
// The package opens no connection and starts nothing. It imports no other
// package of this module; tests/imports_test.go enforces it.
package config

import "time"

// FileName is what the configuration file is called wherever it's looked for
// by folder.
const FileName = "toolplane.toml"

// A Config is a complete, checked configuration: every field has a value,
// from the file or by default. It's plain data; treat it as read-only once it's
// handed to a host.
type Config struct {
	Server   Server
	Executor Executor
	Session  Session
	Results  Results
	Fold     Fold
	MCP      MCP
	// Plugins by name, as in [plugins.NAME]. A name is a letter followed by up to
	// 63 letters, digits, "_" or "-".
	Plugins map[string]Plugin
}

// Server is the table [server]: what the host listens on and who may talk to it.
type Server struct {
	Listen          string        `toml:"listen"`
	AllowedHosts    []string      `toml:"allowed_hosts"`
	AllowedOrigins  []string      `toml:"allowed_origins"`
	AllowRemote     bool          `toml:"allow_remote"`
	MaxFrameBytes   Bytes         `toml:"max_frame_bytes"`
	MaxInFlight     int           `toml:"max_in_flight"`
	ShutdownTimeout time.Duration `toml:"shutdown_timeout"`
}

// Executor is the table [executor]: the browser that runs Python, and the
// limits of a run.
type Executor struct {
	// Browser is an absolute path, a bare program name to be found in PATH, or
	// "" to look in the usual places.
	Browser           string        `toml:"browser"`
	Headless          bool          `toml:"headless"`
	NoSandbox         string        `toml:"no_sandbox"`
	StartTimeout      time.Duration `toml:"start_timeout"`
	RunTimeout        time.Duration `toml:"run_timeout"`
	MaxRunTimeout     time.Duration `toml:"max_run_timeout"`
	PoolSize          int           `toml:"pool_size"`
	MaxMemoryMB       int           `toml:"max_memory_mb"`
	MaxOutputBytes    Bytes         `toml:"max_output_bytes"`
	MaxConcurrentRuns int           `toml:"max_concurrent_runs"`
	MaxCalls          int           `toml:"max_calls"`
	MaxCallsInFlight  int           `toml:"max_calls_in_flight"`
}

// Values of [Executor.NoSandbox].
const (
	NoSandboxAuto   = "auto"
	NoSandboxAlways = "always"
	NoSandboxNever  = "never"
)

// Session is the table [session]: the Python namespace that the runs of a scope
// share.
type Session struct {
	Enabled     bool          `toml:"enabled"`
	MaxMemoryMB int           `toml:"max_memory_mb"`
	MaxSessions int           `toml:"max_sessions"`
	IdleTTL     time.Duration `toml:"idle_ttl"`
}

// Results is the table [results]: the store behind save_result and load_result.
type Results struct {
	Enabled       bool          `toml:"enabled"`
	MaxEntries    int           `toml:"max_entries"`
	MaxTotalBytes Bytes         `toml:"max_total_bytes"`
	MaxEntryBytes Bytes         `toml:"max_entry_bytes"`
	TTL           time.Duration `toml:"ttl"`
}

// Fold is the table [fold]: what becomes of answers that are too large for a
// model's context.
type Fold struct {
	Enabled        bool  `toml:"enabled"`
	ThresholdBytes Bytes `toml:"threshold_bytes"`
	MaxEntries     int   `toml:"max_entries"`
	MaxTotalBytes  Bytes `toml:"max_total_bytes"`
}

// MCP is the table [mcp]: what agents are served.
type MCP struct {
	// Expose are patterns such as "plugin:orders/*", "tag:lookup", or
	// "plugin:orders/list as find_orders".
	Expose []string `toml:"expose"`
	// InlineCapabilities is the largest catalog that is listed with execute_code
	// itself; 0 lists none.
	InlineCapabilities int           `toml:"inline_capabilities"`
	MaxSessions        int           `toml:"max_sessions"`
	SessionIdle        time.Duration `toml:"session_idle"`
}

// Plugin is one table [plugins.NAME]: a WebAssembly plugin and what it may do,
// which is nothing by default.
type Plugin struct {
	// Source is an absolute path of a .wasm file, or "builtin:NAME". A relative
	// path in a file is relative to the folder of that file, and is absolute here.
	Source  string `toml:"source"`
	Enabled bool   `toml:"enabled"`
	// AllowedHosts are host name globs.
	AllowedHosts []string `toml:"allowed_hosts"`
	// AllowedPaths maps a folder of this machine (absolute here, "ro:" in front for
	// read-only) to the path under which the plugin sees it.
	AllowedPaths   map[string]string `toml:"allowed_paths"`
	Env            map[string]string `toml:"env"`
	Config         map[string]string `toml:"config"`
	MemoryMB       int               `toml:"memory_mb"`
	Timeout        time.Duration     `toml:"timeout"`
	MaxOutputBytes Bytes             `toml:"max_output_bytes"`
	MaxConcurrent  int               `toml:"max_concurrent"`
	SkipTools      []string          `toml:"skip_tools"`
}

// BuiltinPrefix starts the source of a plugin that the binary carries.
const BuiltinPrefix = "builtin:"

// Default returns the configuration that holds when there's no file: no plugins,
// reachable from this machine only.
func Default() *Config {
	return &Config{
		Server: Server{
			Listen:          "127.0.0.1:7350",
			AllowedHosts:    []string{},
			AllowedOrigins:  []string{},
			MaxFrameBytes:   16 * MiB,
			MaxInFlight:     64,
			ShutdownTimeout: 5 * time.Second,
		},
		Executor: Executor{
			Headless:          true,
			NoSandbox:         NoSandboxAuto,
			StartTimeout:      60 * time.Second,
			RunTimeout:        30 * time.Second,
			MaxRunTimeout:     10 * time.Minute,
			PoolSize:          2,
			MaxMemoryMB:       512,
			MaxOutputBytes:    10 * MiB,
			MaxConcurrentRuns: 4,
			MaxCalls:          10_000,
			MaxCallsInFlight:  32,
		},
		Session: Session{
			Enabled:     true,
			MaxMemoryMB: 512,
			MaxSessions: 8,
			IdleTTL:     30 * time.Minute,
		},
		Results: Results{
			Enabled:       true,
			MaxEntries:    64,
			MaxTotalBytes: 32 * MiB,
			MaxEntryBytes: 8 * MiB,
			TTL:           time.Hour,
		},
		Fold: Fold{
			Enabled:        true,
			ThresholdBytes: 16 * KiB,
			MaxEntries:     64,
			MaxTotalBytes:  32 * MiB,
		},
		MCP: MCP{
			Expose:             []string{},
			InlineCapabilities: 12,
			MaxSessions:        256,
			SessionIdle:        time.Hour,
		},
		Plugins: map[string]Plugin{},
	}
}

// DefaultPlugin returns what holds for a plugin of which only the source is
// given.
func DefaultPlugin(source string) Plugin {
	return Plugin{
		Source:         source,
		Enabled:        true,
		AllowedHosts:   []string{},
		AllowedPaths:   map[string]string{},
		Env:            map[string]string{},
		Config:         map[string]string{},
		MemoryMB:       64,
		Timeout:        30 * time.Second,
		MaxOutputBytes: 16 * MiB,
		MaxConcurrent:  4,
		SkipTools:      []string{},
	}
}
