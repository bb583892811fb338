package plugin

import (
	"log/slog"
	"time"
)

// Options are the settings of a Runtime.
type Options struct {
	// CacheDir is a folder of the Runtime's own for compiled code; "" compiles anew in each process. It is made if
	// missing, readable by its owner only. A folder that others may write to isn't used.
	CacheDir string
	// Logger gets what guests print and log, bounded per call, and what the Runtime has to say. Nil discards both.
	Logger *slog.Logger
}

// Spec is one module and what it may use. The zero value of each field grants nothing or stands for its default.
type Spec struct {
	// Name is the plugin's name in capability names (plugin:NAME/TOOL) and in the configuration.
	Name string
	// Wasm is the module. Open keeps no reference to it.
	Wasm []byte
	// AllowedHosts are host names, or patterns with * and ?, that the plugin may send HTTP requests to. A redirect must
	// lead to an allowed host as well.
	AllowedHosts []string
	// AllowedPaths maps folders of this machine to paths in the guest. The prefix "ro:" grants reading only.
	AllowedPaths map[string]string
	// Config is what the guest reads with Extism's config_get. Keys that start with "toolplane." are the host's own.
	Config map[string]string
	// Env are the guest's environment variables; it sees no others.
	Env map[string]string
	// MemoryMB bounds, in MiB, each instance's memory together with the buffers that it exchanges with the host.
	// Default 64, at most 4096.
	MemoryMB int
	// Timeout bounds one call, the wait for a free instance included. Default 30 s, at most 24 h.
	Timeout time.Duration
	// MaxOutputBytes bounds one answer as the guest sends it. Default 16 MiB.
	MaxOutputBytes int64
	// MaxConcurrent is how many instances may exist, and so how many calls may run, at a time. Default 4, at most 256.
	MaxConcurrent int
	// SkipTools are tools to leave out: names, or patterns with * and ?.
	SkipTools []string
}

// Defaults and bounds of a Spec.
const (
	DefaultMemoryMB       = 64
	MaxMemoryMB           = 4096
	DefaultTimeout        = 30 * time.Second
	MaxTimeout            = 24 * time.Hour
	DefaultMaxOutputBytes = 16 << 20
	DefaultMaxConcurrent  = 4
	MaxMaxConcurrent      = 256
)
