package plugin

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestOpenRefusesModules(t *testing.T) {
	r := newRuntime(t)
	withImport := servlet(codeReturn0, codeReturn0)
	withImport.imports = [][2]string{{"extism:host/user", "query_moon"}, {"env", "f"}}
	badWASI := servlet(codeReturn0, codeReturn0)
	badWASI.imports = [][2]string{{"wasi_snapshot_preview1", "moon_get"}}
	large := servlet(codeReturn0, codeReturn0)
	large.memory = []uint64{1600}
	invalid := servlet([]byte{0x41}, codeReturn0)
	endlessStart := servlet(codeReturn0, codeReturn0)
	endlessStart.funcs = append(endlessStart.funcs, wasmFunc{code: codeLoop})
	endlessStart.start = 3
	trappingStart := servlet(codeReturn0, codeReturn0)
	trappingStart.funcs = append(trappingStart.funcs, wasmFunc{code: codeTrap})
	trappingStart.start = 3
	withParams := servlet(codeReturn0, codeReturn0)
	withParams.funcs[0].params = 1
	for name, tc := range map[string]struct {
		wasm []byte
		want string
	}{
		"too large":          {make([]byte, maxModuleBytes+1), "more than the 134217728 that are compiled"},
		"not wasm":           {[]byte("hello"), "plugin p: this isn't a WebAssembly module"},
		"unknown imports":    {withImport.bytes(), "functions that this host doesn't offer: extism:host/user.query_moon, env.f"},
		"unknown WASI":       {badWASI.bytes(), "moon_get"},
		"too much memory":    {large.bytes(), "needs 101 MiB of memory to start, more than it may use: raise `memory_mb` in [plugins.p] above 101"},
		"invalid code":       {invalid.bytes(), "the module can't be prepared: section 10: it ends too early"},
		"hyper-mcp":          {wasmText{funcs: []wasmFunc{{export: "list_tools", result: true, code: codeReturn0}, {export: "call_tool", result: true, code: codeReturn0}}}.bytes(), "hyper-mcp v2"},
		"plain":              {wasmText{funcs: []wasmFunc{{export: "count_vowels", result: true, code: codeReturn0}}}.bytes(), "doesn't export the functions describe and call"},
		"describe traps":     {servlet(codeTrap, codeReturn0).bytes(), "it can't describe its tools: describe failed: trapped: unreachable"},
		"describe loops":     {servlet(codeLoopThen0, codeReturn0).bytes(), "it can't describe its tools: describe was stopped at the caller's time limit"},
		"describe is empty":  {servlet(codeReturn0, codeReturn0).bytes(), "describe answered nothing"},
		"describe wants i32": {withParams.bytes(), "it can't describe its tools"},
		"start loops":        {endlessStart.bytes(), "describe was stopped at the caller's time limit"},
		"start traps":        {trappingStart.bytes(), "start function[3] failed: wasm error: unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			ctx := t.Context()
			if strings.HasSuffix(name, "loops") { // rather than 10 s
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
				defer cancel()
			}
			p, err := r.Open(ctx, Spec{Name: "p", Wasm: tc.wasm})
			if err == nil {
				t.Fatalf("opened, with %d tools", len(p.Capabilities()))
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got: %v\nwant …%s…", err, tc.want)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) > 0 {
		t.Errorf("%d plugins that couldn't be opened are still held", len(r.open))
	}
}

// TestDescribeMisbehaves opens plugins whose describe goes wrong next to one that works.
func TestDescribeMisbehaves(t *testing.T) {
	r := newRuntime(t)
	good := open(t, r, Spec{})
	for _, tc := range []struct{ mode, want string }{
		{"loop", "it can't describe its tools: describe ran longer than 10s and was stopped; describing tools must not wait for anything"},
		{"trap", "describe failed: trapped: unreachable"},
		{"exit", "describe ended itself with exit code 3"},
		{"error", "describe failed: no licence found (error code 1)"},
		{"nothing", "describe answered nothing"},
		{"{}", `there is no "tools"`},
		{"{\"tools\":[{\"name\":\"\xff\"}]}", "invalid UTF-8"},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			_, err := r.Open(t.Context(), Spec{Name: "bad", Wasm: guest(t, "fault"), Config: map[string]string{"describe": tc.mode}, Timeout: time.Millisecond})
			if err == nil || !strings.HasPrefix(err.Error(), "plugin bad: ") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want …%s…", err, tc.want)
			}
			mustCall(t, good, "noop", `{}`)
		})
	}
	partly := open(t, r, Spec{Name: "partly", Wasm: guest(t, "fault"), Config: map[string]string{"describe": `{"tools":[{"name":"echo"},{"name":"echo"},{"name":"!"}]}`}})
	if len(partly.Problems()) != 2 || mustCall(t, partly, "echo", `{"a":1}`) != `{"a":1}` {
		t.Errorf("problems %q", partly.Problems())
	}
}

func TestSpecRefuses(t *testing.T) {
	r := newRuntime(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		spec Spec
		want string
	}{
		"name":         {Spec{Name: "a/b"}, "a plugin's name has"},
		"memory":       {Spec{MemoryMB: 5000}, "memory_mb = 5000 is out of range: it is from 2 to 4096"},
		"timeout":      {Spec{Timeout: -1}, "timeout = \"-1ns\" is out of range"},
		"output":       {Spec{MaxOutputBytes: -1}, "max_output_bytes = -1 is out of range"},
		"concurrent":   {Spec{MaxConcurrent: 257}, "max_concurrent = 257 is out of range: it is from 1 to 256"},
		"host URL":     {Spec{AllowedHosts: []string{"https://example.com"}}, "allowed_hosts: \"https://example.com\" isn't a host name"},
		"host port":    {Spec{AllowedHosts: []string{"example.com:80"}}, "allowed_hosts"},
		"host pattern": {Spec{AllowedHosts: []string{"[a"}}, "allowed_hosts"},
		"skip pattern": {Spec{SkipTools: []string{"[a"}}, "skip_tools"},
		"no folder":    {Spec{AllowedPaths: map[string]string{"ro:" + file: "/x"}}, "isn't a folder of this machine"},
		"guest path":   {Spec{AllowedPaths: map[string]string{t.TempDir(): "x"}}, "isn't a path in the guest"},
		"env":          {Spec{Env: map[string]string{"A=B": ""}}, "can't be an environment variable"},
		"config":       {Spec{Config: map[string]string{"toolplane.host": ""}}, "is set by Toolplane itself"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.spec.Name == "" {
				tc.spec.Name = "p"
			}
			tc.spec.Wasm = guest(t, "fault")
			if _, err := r.Open(t.Context(), tc.spec); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want …%s…", err, tc.want)
			}
		})
	}
}

// TestGrants checks that a guest gets what its Spec grants and nothing else.
func TestGrants(t *testing.T) {
	r := newRuntime(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TOOLPLANE_TEST_SECRET", "hidden")
	none := open(t, r, Spec{})
	some := open(t, r, Spec{
		Name: "some", Wasm: guest(t, "fault"), Config: map[string]string{"greeting": "hello"}, Env: map[string]string{"LANG": "eo"},
		AllowedPaths: map[string]string{"ro:" + dir: "/data"}, SkipTools: []string{"grow_*"},
	})
	for _, tc := range []struct {
		p                     *Plugin
		tool, arguments, want string
	}{
		{none, "config", `{"key":"greeting"}`, `""`},
		{none, "env", `{"key":"LANG"}`, `""`},
		{none, "env", `{"key":"TOOLPLANE_TEST_SECRET"}`, `""`},
		{some, "config", `{"key":"greeting"}`, `"hello"`},
		{some, "env", `{"key":"LANG"}`, `"eo"`},
		{some, "env", `{"key":"TOOLPLANE_TEST_SECRET"}`, `""`},
		{some, "read_file", `{"key":"/data/a.txt"}`, `"text"`},
		{some, "var", `{"bytes":500000}`, `500000`},
	} {
		if got := mustCall(t, tc.p, tc.tool, tc.arguments); got != tc.want {
			t.Errorf("%s(%s) in plugin %s: %s, want %s", tc.tool, tc.arguments, tc.p.ID(), got, tc.want)
		}
	}
	if _, err := call(t.Context(), none, "read_file", `{"key":"`+filepath.Join(dir, "a.txt")+`"}`); err == nil {
		t.Error("a file was read that wasn't granted")
	}
	if _, err := call(t.Context(), some, "grow_memory", `{}`); err == nil || err.Type != "UnknownCapabilityError" {
		t.Errorf("a tool of skip_tools could be called: %v", err)
	}
}

func TestLimits(t *testing.T) {
	r := newRuntime(t)
	p := open(t, r, Spec{MemoryMB: 24, MaxOutputBytes: 8 << 20})
	text := `{"pad":"` + strings.Repeat("x", 1<<20) + `"}`
	if got := mustCall(t, p, "echo", text); got != text {
		t.Error("1 MiB of arguments didn't come back as they were")
	}
	_, err := call(t.Context(), p, "echo", `{"pad":"`+strings.Repeat("x", 30<<20)+`"}`)
	if err == nil || err.Type != "PluginMemoryError" || !strings.Contains(err.Message, "the arguments of plugin:fault/echo are 314") {
		t.Errorf("arguments larger than the memory: %v", err)
	}
	if _, err := call(t.Context(), p, "echo", `{"pad":"`+strings.Repeat("x", 12<<20)+`"}`); err == nil || err.Type != "PluginMemoryError" {
		t.Errorf("arguments that leave the guest no room: %v", err)
	}
	if _, err := call(t.Context(), p, "huge_output", `{"bytes":8388600}`); err == nil || !strings.Contains(err.Message, "max_output_bytes") && err.Type != "PluginMemoryError" {
		t.Errorf("an answer over the cap: %v", err)
	}
	if got := mustCall(t, p, "huge_output", `{"bytes":2000000}`); len(got) != 2000002 {
		t.Errorf("an answer below the cap has %d bytes", len(got))
	}
}

// printed runs f with the process's standard output in a pipe and returns what got there.
func printed(t *testing.T, f func()) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdout
	os.Stdout = write
	defer func() { os.Stdout = old }()
	var all []byte
	var reading sync.WaitGroup
	reading.Go(func() { all, _ = io.ReadAll(read) })
	f()
	_ = write.Close()
	reading.Wait()
	return string(all)
}

// TestGuestsCannotPrint holds the process's standard output, which may carry a protocol, to be out of a guest's reach.
func TestGuestsCannotPrint(t *testing.T) {
	t.Setenv("EXTISM_ENABLE_WASI_OUTPUT", "1")
	var log bytes.Buffer
	out := printed(t, func() {
		r, err := NewRuntime(t.Context(), Options{CacheDir: sharedCache, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		if err != nil {
			t.Fatal(err)
		}
		p := open(t, r, Spec{MaxConcurrent: 1})
		mustCall(t, p, "stdout_noise", `{"bytes":300}`)
		for range 3 { // damages the state that go-sdk's next call would trip over, and print about
			if _, err := call(t.Context(), p, "corrupt_kernel", `{}`); err == nil {
				t.Error("got an answer from a corrupt kernel")
			}
		}
		if _, err := call(t.Context(), p, "grow_kernel", `{}`); err == nil {
			t.Error("a buffer of 1 GiB was given")
		}
		mustCall(t, p, "noop", `{}`)
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if out != "" {
		t.Errorf("standard output got %q", out)
	}
	for _, want := range []string{"stream=stdout", "stream=stderr", "plugin=fault", `msg="plugin logged"`, "noise 0000"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
}

func TestPrintsAreBounded(t *testing.T) {
	var log bytes.Buffer
	r, err := NewRuntime(t.Context(), Options{CacheDir: sharedCache, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	p := open(t, r, Spec{})
	mustCall(t, p, "stdout_noise", `{"bytes":600000}`)
	if n := log.Len(); n < 3*maxPrintedPerCall || n > 12*maxPrintedPerCall {
		t.Errorf("three streams of 600 kB came to %d bytes of log", n)
	}
	for _, want := range []string{"plugin prints too much", "plugin logs too much"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log doesn't say %q", want)
		}
	}
}

func TestDamagedCacheHeals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	wasm := servlet(codeReturn0, codeTrap).bytes()
	compileOnce := func() string {
		var log bytes.Buffer
		r, err := NewRuntime(t.Context(), Options{CacheDir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		p := &Plugin{spec: Spec{MemoryMB: 2}, log: r.log}
		if err := r.compile(t.Context(), p, wasm); err != nil {
			t.Fatal(err)
		}
		if err := p.compiled.Close(t.Context()); err != nil {
			t.Error(err)
		}
		return log.String()
	}
	compileOnce()
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(files) < 2 { // the kernel and the module
		t.Fatalf("the cache holds %q", files)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b[:len(b)/2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if log := compileOnce(); !strings.Contains(log, "the compilation cache was damaged and has been emptied") {
		t.Errorf("the log doesn't tell: %s", log)
	}
	compileOnce()
	if log := compileOnce(); log != "" {
		t.Errorf("the cache hasn't healed: %s", log)
	}
}

func TestCacheOfOthersIsNotUsed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("Windows has no such mode bits")
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil { // past the umask
		t.Fatal(err)
	}
	var log bytes.Buffer
	r, err := NewRuntime(t.Context(), Options{CacheDir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if r.cacheDir != "" || !strings.Contains(log.String(), "can be written by others") {
		t.Errorf("cacheDir %q, log %s", r.cacheDir, log.String())
	}
}

func TestOpenAfterClose(t *testing.T) {
	r := newRuntime(t)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Open(t.Context(), Spec{Name: "p", Wasm: guest(t, "fault")}); err == nil || !strings.Contains(err.Error(), "has been closed") {
		t.Errorf("got %v", err)
	}
}
