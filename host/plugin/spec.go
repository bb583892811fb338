package plugin

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
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
	// Default 64, from 2 to 4096.
	MemoryMB int
	// Timeout bounds one call, the wait for a free instance included. Default 30 s, at most 24 h.
	Timeout time.Duration
	// MaxOutputBytes bounds one answer as the guest sends it. Default 16 MiB, at most 1 GiB.
	MaxOutputBytes int64
	// MaxConcurrent is how many instances may exist, and so how many calls may run, at a time. Default 4, at most 256.
	MaxConcurrent int
	// SkipTools are tools to leave out: names, or patterns with * and ?.
	SkipTools []string
}

// Defaults and bounds of a Spec.
const (
	DefaultMemoryMB       = 64
	MinMemoryMB           = 2 // of which the Extism kernel takes half
	MaxMemoryMB           = 4096
	DefaultTimeout        = 30 * time.Second
	MaxTimeout            = 24 * time.Hour
	DefaultMaxOutputBytes = 16 << 20
	MaxMaxOutputBytes     = 1 << 30
	DefaultMaxConcurrent  = 4
	MaxMaxConcurrent      = 256
)

// hostConfigKey tells a guest which host it runs on: the SDK then leaves out the copy of each answer as text.
const hostConfigKey = "toolplane.host"

var pluginName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// checked returns a copy of the Spec with defaults filled in, or what is wrong with it.
func (s Spec) checked() (Spec, error) {
	if !pluginName.MatchString(s.Name) {
		return s, fmt.Errorf("a plugin's name has 1 to 64 letters, digits, and _ -, and starts with a letter or digit")
	}
	s.MemoryMB = orDefault(s.MemoryMB, DefaultMemoryMB)
	s.Timeout = orDefault(s.Timeout, DefaultTimeout)
	s.MaxOutputBytes = orDefault(s.MaxOutputBytes, DefaultMaxOutputBytes)
	s.MaxConcurrent = orDefault(s.MaxConcurrent, DefaultMaxConcurrent)
	switch {
	case s.MemoryMB < MinMemoryMB || s.MemoryMB > MaxMemoryMB:
		return s, fmt.Errorf("memory_mb = %d is out of range: it is from %d to %d", s.MemoryMB, MinMemoryMB, MaxMemoryMB)
	case s.Timeout < time.Millisecond || s.Timeout > MaxTimeout:
		return s, fmt.Errorf("timeout = %q is out of range: it is from 1ms to %s", s.Timeout, MaxTimeout)
	case s.MaxOutputBytes < 1 || s.MaxOutputBytes > MaxMaxOutputBytes:
		return s, fmt.Errorf("max_output_bytes = %d is out of range: it is from 1 to %d", s.MaxOutputBytes, MaxMaxOutputBytes)
	case s.MaxConcurrent < 1 || s.MaxConcurrent > MaxMaxConcurrent:
		return s, fmt.Errorf("max_concurrent = %d is out of range: it is from 1 to %d", s.MaxConcurrent, MaxMaxConcurrent)
	}
	s.AllowedHosts = slices.Clone(s.AllowedHosts)
	for i, host := range s.AllowedHosts {
		if _, err := path.Match(host, ""); err != nil || host == "" || strings.ContainsAny(host, "/@ ") || strings.Contains(host, ":") && !strings.Contains(host, "::") {
			return s, fmt.Errorf("allowed_hosts: %q isn't a host name: write it without scheme, port and path, such as \"api.example.com\" or \"*.example.com\"", host)
		}
		s.AllowedHosts[i] = strings.ToLower(host)
	}
	s.SkipTools = slices.Clone(s.SkipTools)
	for _, pattern := range s.SkipTools {
		if _, err := path.Match(pattern, ""); err != nil {
			return s, fmt.Errorf("skip_tools: %q isn't a name or a pattern with * and ?", pattern)
		}
	}
	s.AllowedPaths = maps.Clone(s.AllowedPaths)
	for host, guest := range s.AllowedPaths {
		dir := strings.TrimPrefix(host, "ro:")
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return s, fmt.Errorf("allowed_paths: %q isn't a folder of this machine", dir)
		}
		if !path.IsAbs(guest) {
			return s, fmt.Errorf("allowed_paths: %q isn't a path in the guest: it starts with /", guest)
		}
	}
	s.Env = maps.Clone(s.Env)
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return s, fmt.Errorf("env: %q can't be an environment variable", name)
		}
	}
	config := map[string]string{}
	for key, value := range s.Config {
		if strings.HasPrefix(key, "toolplane.") {
			return s, fmt.Errorf("config: %q is set by Toolplane itself: choose a key without the prefix \"toolplane.\"", key)
		}
		config[key] = value
	}
	config[hostConfigKey] = "1"
	s.Config = config
	return s, nil
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
