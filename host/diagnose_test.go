package host

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host/executor"
)

// browserScript stands in for a browser: a program that prints a line and ends.
func browserScript(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		return `C:\Windows\System32\where.exe` // its version isn't asked for there
	}
	path := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckBrowser(t *testing.T) {
	t.Setenv(executor.BrowserEnv, "")
	good := config.Executor{Browser: browserScript(t, "echo Chromium 1.2.3")}
	if c := checkBrowser(t.Context(), good); c.Status != CheckOK || !strings.Contains(c.Detail, good.Browser) {
		t.Errorf("%+v", c)
	}
	for name, path := range map[string]string{"missing": filepath.Join(t.TempDir(), "nope"), "broken": browserScript(t, "echo broken >&2; exit 3")} {
		if c := checkBrowser(t.Context(), config.Executor{Browser: path}); runtime.GOOS != "windows" && (c.Status != CheckBroken || c.Fix == "") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestCheckPort(t *testing.T) {
	if c := checkPort(t.Context(), "127.0.0.1:0"); c.Status != CheckOK || !strings.HasSuffix(c.Detail, "is free") {
		t.Errorf("a free port: %+v", c)
	}
	if c := checkPort(t.Context(), "192.0.2.1:1"); c.Status != CheckBroken || c.Fix == "" {
		t.Errorf("another machine's address: %+v", c)
	}
	h := startHost(t, testConfig(), &logBuffer{})
	if c := checkPort(t.Context(), h.Addr().String()); c.Status != CheckOK || !strings.HasSuffix(c.Detail, "is used by a running Toolplane (1.2.3)") {
		t.Errorf("a running host: %+v", c)
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"hello":1}`)) })} //nolint:gosec // a test's own
	go func() { _ = server.Serve(other) }()
	defer func() { _ = server.Close() }()
	if c := checkPort(t.Context(), other.Addr().String()); c.Status != CheckBroken || !strings.Contains(c.Detail, "another program") || c.Fix == "" {
		t.Errorf("another program: %+v", c)
	}
}

func TestCheckCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if c := checkCache(dir); c.Status != CheckOK {
		t.Errorf("a new folder: %+v", c)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the check leaves %v behind, %v", left, err)
	}
	if c := checkCache(""); c.Status != CheckWarning || c.Fix == "" {
		t.Errorf("no folder: %+v", c)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if c := checkCache(file); c.Status != CheckWarning || c.Fix == "" {
		t.Errorf("a file: %+v", c)
	}
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // what the check is about
		t.Fatal(err)
	}
	if c := checkCache(dir); runtime.GOOS != "windows" && (c.Status != CheckWarning || !strings.Contains(c.Fix, "chmod")) {
		t.Errorf("a folder that others may write to: %+v", c)
	}
}

// TestDiagnose: a broken part doesn't keep the others from being looked at.
func TestDiagnose(t *testing.T) {
	t.Setenv(executor.BrowserEnv, "")
	cfg := testConfig()
	cfg.Executor.Browser = filepath.Join(t.TempDir(), "nope")
	cfg.Plugins["missing"] = missingPlugin(t)
	bad := filePlugin(t)
	cfg.Plugins["bad"] = bad
	var reported []Check
	checks := Diagnose(t.Context(), cfg, DiagnoseOptions{Options: Options{CacheDir: t.TempDir()}, Report: func(c Check) { reported = append(reported, c) }})
	status := map[string]Check{}
	for _, c := range checks {
		status[c.Name] = c
	}
	for _, name := range []string{"browser", "plugin missing", "plugin bad"} {
		if c := status[name]; c.Status != CheckBroken || c.Detail == "" || c.Fix == "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	for _, name := range []string{"port", "compilation cache"} {
		if c := status[name]; c.Status != CheckOK {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if len(reported) != len(checks) || !Broken(checks) || Broken(nil) {
		t.Errorf("%d checks, %d reported", len(checks), len(reported))
	}
	if _, ran := status["run"]; ran {
		t.Error("a snippet was run, though that wasn't asked for")
	}
}

func TestCheckPlugin(t *testing.T) {
	leftOut := []AliasProblem{{"plugin:p/list", "scoped alias left out"}, {"plugin:q/x", "not p's"}}
	c := checkPlugin(PluginState{Name: "p", State: PluginReady, Tools: []string{"plugin:p/list"}, Problems: []string{"one"}}, config.Plugin{}, leftOut)
	if c.Status != CheckWarning || c.Detail != "1 tools, loaded in 0 ms; one; plugin:p/list: scoped alias left out" {
		t.Errorf("%+v", c)
	}
	if c := checkPlugin(PluginState{Name: "p", State: PluginReady}, config.Plugin{}, nil); c.Status != CheckOK {
		t.Errorf("%+v", c)
	}
	if c := checkPlugin(PluginState{Name: "p", State: PluginLoading}, config.Plugin{Source: "x"}, nil); c.Status != CheckBroken || !strings.Contains(c.Fix, "[plugins.p]") {
		t.Errorf("%+v", c)
	}
}
