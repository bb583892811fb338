package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host/executor"
	"github.com/toolplane/toolplane/web"
)

// Status of a [Check].
const (
	CheckOK      = "ok"
	CheckWarning = "warning" // works, but not as well as it could
	CheckBroken  = "broken"
)

// A Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	// Detail says what was found.
	Detail string `json:"detail"`
	// Fix says what to do; "" where there's nothing to.
	Fix string `json:"fix,omitempty"`
	// MS is how long the check took, in milliseconds.
	MS float64 `json:"ms"`
}

// DiagnoseOptions say what to look at.
type DiagnoseOptions struct {
	Options
	// Run tries a snippet in the browser, which takes a few seconds.
	Run bool
	// Report is called with each check when it's done.
	Report func(Check)
}

const (
	browserVersionTimeout = 10 * time.Second
	probeTimeout          = 2 * time.Second
)

// Diagnose looks at everything that a host needs, and says how to fix what's
// broken. It goes on after a broken part.
func Diagnose(ctx context.Context, cfg *config.Config, o DiagnoseOptions) []Check {
	var checks []Check
	look := func(name string, what func() Check) {
		begin := time.Now()
		c := what()
		c.Name = name
		c.MS = float64(time.Since(begin).Microseconds()) / 1000
		checks = append(checks, c)
		if o.Report != nil {
			o.Report(c)
		}
	}
	look("browser", func() Check { return checkBrowser(ctx, cfg.Executor) })
	look("python runtime", checkWeb)
	look("port", func() Check { return checkPort(ctx, cfg.Server.Listen) })
	look("compilation cache", func() Check { return checkCache(o.CacheDir) })

	report, err := CheckPlugins(ctx, cfg, o.Options)
	if err != nil {
		look("plugins", func() Check { return Check{Status: CheckBroken, Detail: err.Error()} })
	}
	if len(report.Plugins) == 0 {
		look("plugins", func() Check {
			return Check{Status: CheckWarning, Detail: "no plugin is configured, so that snippets have nothing to call",
				Fix: `"toolplane init" writes a configuration with the demo plugin; --plugin issues=builtin:issues adds it to one command`}
		})
	}
	for _, p := range report.Plugins {
		look("plugin "+p.Name, func() Check { return checkPlugin(p, cfg.Plugins[p.Name], report.LeftOut) })
	}
	if o.Run {
		look("run", func() Check { return checkRun(ctx, cfg, o.Options) })
	}
	return checks
}

// Broken reports whether a check found something broken.
func Broken(checks []Check) bool {
	for _, c := range checks {
		if c.Status == CheckBroken {
			return true
		}
	}
	return false
}

func checkBrowser(ctx context.Context, c config.Executor) Check {
	path, err := executor.LookBrowser(c.Browser)
	if err != nil {
		return Check{Status: CheckBroken, Detail: err.Error(), Fix: "install Chromium (on Debian: apt-get install chromium), or set browser in [executor] to its path"}
	}
	if runtime.GOOS == "windows" {
		return Check{Status: CheckOK, Detail: path} // --version opens a window there
	}
	ctx, cancel := context.WithTimeout(ctx, browserVersionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	version := strings.TrimSpace(string(out))
	if err != nil || version == "" {
		return Check{Status: CheckBroken, Detail: fmt.Sprintf("%s is there but doesn't say its version: %v", path, err),
			Fix: fmt.Sprintf("run %q yourself to see why, or set browser in [executor] to another one", path+" --version")}
	}
	return Check{Status: CheckOK, Detail: fmt.Sprintf("%s (%s)", clip(version), path)}
}

func checkWeb() Check {
	if err := web.Built(); err != nil {
		return Check{Status: CheckBroken, Detail: err.Error(), Fix: "run make build, which builds it in"}
	}
	return Check{Status: CheckOK, Detail: "pyodide " + web.Version() + ", built in"}
}

// checkPort finds out whether the configured address is free, or used by a
// Toolplane.
func checkPort(ctx context.Context, address string) Check {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err == nil {
		_ = l.Close()
		return Check{Status: CheckOK, Detail: address + " is free"}
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return Check{Status: CheckBroken, Detail: err.Error(), Fix: "set listen in [server] to an address of this machine, such as 127.0.0.1:7350"}
	}
	if version, ok := probe(ctx, address); ok {
		return Check{Status: CheckOK, Detail: fmt.Sprintf("%s is used by a running Toolplane (%s)", address, version)}
	}
	return Check{Status: CheckBroken, Detail: address + " is used by another program", Fix: "end that program, or set listen in [server] to another port (0 takes any free one)"}
}

// probe asks whoever listens there whether it's a Toolplane.
func probe(ctx context.Context, address string) (version string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return "", false
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL(tcp)+"/healthz", nil)
	if err != nil {
		return "", false
	}
	client := http.Client{
		Transport:     &http.Transport{}, // no proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return "", false
	}
	defer func() { _ = res.Body.Close() }()
	var health Health
	err = json.NewDecoder(http.MaxBytesReader(nil, res.Body, 64<<10)).Decode(&health)
	return health.Version, err == nil && res.StatusCode == http.StatusOK && health.Status != ""
}

func checkCache(dir string) Check {
	const slow = "plugins are compiled anew at each start, which takes seconds each"
	if dir == "" {
		return Check{Status: CheckWarning, Detail: "there's no folder for it; " + slow, Fix: "set HOME or XDG_CACHE_HOME"}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Check{Status: CheckWarning, Detail: fmt.Sprintf("%v; %s", err, slow), Fix: "make the folder writable for you"}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return Check{Status: CheckWarning, Detail: fmt.Sprintf("%v; %s", err, slow)}
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return Check{Status: CheckWarning, Detail: fmt.Sprintf("others may write to %s, so that it isn't used; %s", dir, slow), Fix: "chmod go-w " + dir}
	}
	probe, err := os.CreateTemp(dir, "doctor-")
	if err != nil {
		return Check{Status: CheckWarning, Detail: fmt.Sprintf("%v; %s", err, slow), Fix: "make the folder writable for you"}
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return Check{Status: CheckOK, Detail: filepath.Clean(dir)}
}

func checkPlugin(p PluginState, c config.Plugin, leftOut []AliasProblem) Check {
	if p.State != PluginReady {
		detail := p.Error
		if p.State == PluginLoading {
			detail = "loading it took too long"
		}
		return Check{Status: CheckBroken, Detail: detail, Fix: fmt.Sprintf("check source in [plugins.%s] (%s), or set enabled = false; toolplane plugin inspect FILE says more", p.Name, c.Source)}
	}
	check := Check{Status: CheckOK, Detail: fmt.Sprintf("%d tools, loaded in %.0f ms", len(p.Tools), p.LoadMS)}
	problems := p.Problems
	for _, a := range leftOut {
		if strings.HasPrefix(a.Name, "plugin:"+p.Name+"/") {
			problems = append(problems, a.Name+": "+a.Problem)
		}
	}
	if len(problems) > 0 {
		check.Status = CheckWarning
		check.Detail += "; " + strings.Join(problems, "; ")
		check.Fix = "tools without a Python name can still be called by call_tool; the rest is for the plugin's author"
	}
	return check
}

// checkRun does what a user does: it runs a snippet.
func checkRun(ctx context.Context, cfg *config.Config, o Options) Check {
	copied := *cfg
	copied.Plugins = nil // they have been looked at
	copied.Executor.Headless = true
	o.Listen, o.AnyPort = "127.0.0.1:0", true
	h, err := New(ctx, &copied, o)
	if err != nil {
		return Check{Status: CheckBroken, Detail: err.Error()}
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Server.ShutdownTimeout)
		defer cancel()
		_ = h.Close(ctx)
	}()
	begin := time.Now()
	cold := h.Run(ctx, executor.Request{Scope: "doctor", Fresh: true, Code: "import sys\nreturn sys.version.split()[0]"})
	first := time.Since(begin)
	if !cold.OK {
		return Check{Status: CheckBroken, Detail: cold.Error.Error(), Fix: "see the browser check above; --log-level debug shows what the browser says"}
	}
	begin = time.Now()
	if warm := h.Run(ctx, executor.Request{Scope: "doctor", Fresh: true, Code: "return 1"}); !warm.OK {
		return Check{Status: CheckBroken, Detail: "the second run failed: " + warm.Error.Error(), Fix: "--log-level debug shows what the browser says"}
	}
	return Check{Status: CheckOK, Detail: fmt.Sprintf("Python %s answered after %.1f s, and the next run after %d ms",
		strings.Trim(string(cold.Value), `"`), first.Seconds(), time.Since(begin).Milliseconds())}
}
