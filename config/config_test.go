package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// loadText writes text to a file and loads it. The file is called c.toml, and
// dir is its folder.
func loadText(t *testing.T, text string) (c *Config, f Found, dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "c.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, f, err = Load(Source{File: path})
	return c, f, dir, err
}

// TestErrors holds each message, word for word: they are the interface of a
// person who made a slip.
func TestErrors(t *testing.T) {
	cases := []struct {
		name, text string
		want       []string // each line after the file's path
	}{
		{"syntax", "[server]\nlisten = \n", []string{`:2: this isn't TOML: expected value but found '\n' instead`}},
		{"key twice", "[server]\nlisten = '127.0.0.1:1'\nlisten = '127.0.0.1:2'", []string{`:3: this isn't TOML: Key 'server.listen' has already been defined.`}},
		{"unknown table", "\n[servr]\n", []string{`:2: servr: unknown table; did you mean "server"?`}},
		{"unknown table, nothing near", "[zebra]\n", []string{`:1: zebra: unknown table; there are server, executor, session, results, fold, mcp, plugins`}},
		{"setting without a table", "listen = '127.0.0.1:1'\n", []string{`:1: listen: stands outside any table: it belongs under [server]`}},
		{"unknown without a table", "zebra = 1\n", []string{`:1: zebra: unknown setting outside any table; there are server, executor, session, results, fold, mcp, plugins`}},
		{"table that isn't one", "server = 3", []string{`:1: server: must be a table of settings, as in [server], not the number 3`}},
		{"list of tables", "[[server]]\n", []string{`:1: server: must be a table of settings, as in [server], not a list of tables`}},
		{"unknown setting", "[server]\n\n\nlisten_on = 'x'", []string{`:4: server.listen_on: unknown setting; did you mean "listen"?`}},
		{"hyphens", "[executor]\nrun-timeout = '1s'", []string{`:2: executor.run-timeout: unknown setting; did you mean "run_timeout"?`}},
		{"case", "[results]\nTTL = '1s'", []string{`:2: results.TTL: unknown setting; did you mean "ttl"?`}},
		{"setting of another table", "[server]\nttl = '1s'", []string{`:2: server.ttl: unknown setting: it belongs under [results]`}},
		{"nothing near", "[results]\nzebra = 1", []string{`:2: results.zebra: unknown setting; there are enabled, max_entries, max_total_bytes, max_entry_bytes, ttl`}},
		{"dotted", "executor.zebra.stripes = 1", []string{`:1: executor.zebra: unknown setting; there are browser, headless, no_sandbox, start_timeout, run_timeout, max_run_timeout, pool_size, max_memory_mb, max_output_bytes, max_concurrent_runs, max_calls, max_calls_in_flight`}},
		{"bool", "[results]\nenabled = 'yes'", []string{`:2: results.enabled: must be true or false, not the text "yes"`}},
		{"integer as text", "[results]\nmax_entries = '64'", []string{`:2: results.max_entries: must be a whole number (1 to 1000000 values), not the text "64"`}},
		{"integer as fraction", "[results]\nmax_entries = 6.5", []string{`:2: results.max_entries: must be a whole number (1 to 1000000 values), not the number 6.5`}},
		{"integer below", "[results]\nmax_entries = 0", []string{`:2: results.max_entries: 0 values is below the least that is allowed, 1 values (allowed: 1 to 1000000 values)`}},
		{"integer above", "[executor]\npool_size = 99", []string{`:2: executor.pool_size: 99 interpreters is above the most that is allowed, 16 interpreters (allowed: 1 to 16 interpreters)`}},
		{"size below", "[server]\nmax_frame_bytes = 1024", []string{`:2: server.max_frame_bytes: 1 KiB is below the least that is allowed, 64 KiB (allowed: 64 KiB to 256 MiB)`}},
		{"size above", "[server]\nmax_frame_bytes = '1 GiB'", []string{`:2: server.max_frame_bytes: 1 GiB is above the most that is allowed, 256 MiB (allowed: 64 KiB to 256 MiB)`}},
		{"size without unit", "[server]\nmax_frame_bytes = '16'", []string{`:2: server.max_frame_bytes: "16" has no unit: write a number and a unit, such as "8 MiB" (B, KB, MB, GB count in thousands; KiB, MiB, GiB in 1024)`}},
		{"size with a wrong unit", "[server]\nmax_frame_bytes = '16 Mb/s'", []string{`:2: server.max_frame_bytes: "16 Mb/s" has an unknown unit: write a number and a unit, such as "8 MiB" (B, KB, MB, GB count in thousands; KiB, MiB, GiB in 1024)`}},
		{"size as list", "[server]\nmax_frame_bytes = [1]", []string{`:2: server.max_frame_bytes: must be a size (bytes, or text such as "8 MiB"), not a list`}},
		{"duration as number", "[results]\nttl = 60", []string{`:2: results.ttl: must be a duration with its unit (text such as "30s"), not the number 60`}},
		{"duration without unit", "[results]\nttl = '60'", []string{`:2: results.ttl: "60" isn't a duration: write a number and a unit, such as "30s", "1m30s" or "250ms" (units: ms, s, m, h)`}},
		{"duration below", "[results]\nttl = '-1s'", []string{`:2: results.ttl: -1s is below the least that is allowed, 1s (allowed: 1s to 720h)`}},
		{"one of", "[executor]\nno_sandbox = 'alway'", []string{`:2: executor.no_sandbox: must be one of "auto", "always", "never", not "alway"; did you mean "always"?`}},
		{"text as date", "[executor]\nbrowser = 2020-01-01", []string{`:2: executor.browser: must be text, not a date or time`}},
		{"listen without port", "[server]\nlisten = '127.0.0.1'", []string{`:2: server.listen: "127.0.0.1" isn't an address and port: write it as "127.0.0.1:7350" or "[::1]:7350"`}},
		{"listen by name", "[server]\nlisten = 'example.org:80'", []string{`:2: server.listen: "example.org:80" must name an IP address or localhost, not "example.org"`}},
		{"listen on everything", "[server]\nlisten = ':80'", []string{`:2: server.listen: ":80" names no address: write "127.0.0.1:80" for this machine only, or "0.0.0.0:80" with allow_remote = true`}},
		{"port", "[server]\nlisten = '127.0.0.1:70000'", []string{`:2: server.listen: "127.0.0.1:70000" has port "70000": it must be a number from 0 to 65535 (0 takes any free port)`}},
		{"remote", "[server]\nlisten = '0.0.0.0:7350'", []string{`:2: server.listen: other machines could reach "0.0.0.0:7350": use "127.0.0.1:7350", or set allow_remote = true if that's meant (the connection isn't encrypted)`}},
		{"host pattern", "[server]\nallowed_hosts = ['a', '*.b']", []string{`:2: server.allowed_hosts: element 2: "*.b": a pattern isn't possible here, since it would undo the protection; write each name in full`}},
		{"host with port", "[server]\nallowed_hosts = ['a:80']", []string{`:2: server.allowed_hosts: element 1: "a:80" isn't a host name: write the name alone, without scheme, port or path`}},
		{"list of numbers", "[server]\nallowed_hosts = [1]", []string{`:2: server.allowed_hosts: element 1 must be a text, not the number 1`}},
		{"list twice", "[server]\nallowed_hosts = ['a', 'a']", []string{`:2: server.allowed_hosts: element 2: "a" is there twice`}},
		{"any origin", "[server]\nallowed_origins = ['*']", []string{`:2: server.allowed_origins: element 1: "*" would let any web page connect; name each origin`}},
		{"origin with a path", "[server]\nallowed_origins = ['https://a/']", []string{`:2: server.allowed_origins: element 1: "https://a/" isn't an origin: write it as the browser sends it, such as "https://console.example.org" (lower case, no path, no "/" at the end)`}},
		{"plugin without source", "[plugins.a]\n", []string{`:1: plugins.a: needs a source: source = "./plugin.wasm", or "builtin:issues"`}},
		{"plugin without name", "[plugins]\nsource = 'a'\n", []string{`:2: plugins.source: stands outside the table of a plugin: it belongs under [plugins.NAME], with the plugin's name for NAME`}},
		{"plugin name", "[plugins.'a b']\nsource = 'x'", []string{`:1: plugins.a b: "a b" can't be a plugin's name: a letter, then up to 63 letters, digits, _ or -`}},
		{"plugin by URL", "[plugins.a]\nsource = 'https://x/y.wasm'", []string{`:2: plugins.a.source: "https://x/y.wasm": this version loads plugins from files only; download it and name the file`}},
		{"plugin's host with scheme", "[plugins.a]\nsource = 'x'\nallowed_hosts = ['https://x']", []string{`:3: plugins.a.allowed_hosts: element 1: "https://x" isn't a host: write the name alone, such as "api.example.org" or "*.example.org", without scheme, port or path`}},
		{"plugin's folder", "[plugins.a]\nsource = 'x'\n[plugins.a.allowed_paths]\n'./d' = 'data'", []string{`:3: plugins.a.allowed_paths: "./d": "data" must be where the plugin sees the folder: an absolute path without "..", such as "/data"`}},
		{"plugin's folders in one place", "[plugins.a]\nsource = 'x'\nallowed_paths = { '/d' = '/data', '/e' = '/data' }", []string{`:3: plugins.a.allowed_paths: "/d" and "/e" are both to appear at "/data"; give each a place of its own`}},
		{"plugin's variable", "[plugins.a]\nsource = 'x'\nenv = { 'A-B' = 'c' }", []string{`:3: plugins.a.env: "A-B" isn't the name of an environment variable: letters, digits and _, not starting with a digit`}},
		{"plugin's setting", "[plugins.a]\nsource = 'x'\nconfig.n = 1", []string{`:3: plugins.a.config: the value of "n" must be a text, not the number 1`}},
		{"run limits", "[executor]\nrun_timeout = '11m'", []string{`:2: executor.run_timeout: 11m is above max_run_timeout, 10m`}},
		{"runs and calls", "[server]\nmax_in_flight = 2\n[executor]\nmax_concurrent_runs = 3", []string{`:4: executor.max_concurrent_runs: 3 is above server.max_in_flight, 2: runs would be refused as busy`}},
		{"entry above total", "[results]\nmax_total_bytes = '1 MiB'", []string{`: results.max_entry_bytes: 8 MiB is above max_total_bytes, 1 MiB`}},
		{"output above frame", "[server]\nmax_frame_bytes = '1 MiB'", []string{`: executor.max_output_bytes: 10 MiB is above server.max_frame_bytes, 1 MiB: a result with its output couldn't be sent`}},
		{
			"several at once, in the order of their lines",
			"[server]\nlisten = 1\nlisetn = 2\n[plugins.a]\nmemory_mb = '64'\nsource = 1\n[executor]\npool_size = true",
			[]string{
				`:2: server.listen: must be text, not the number 1`,
				`:3: server.lisetn: unknown setting; did you mean "listen"?`,
				`:5: plugins.a.memory_mb: must be a whole number (2 to 4096 MiB), not the text "64"`,
				`:6: plugins.a.source: must be text, not the number 1`,
				`:8: executor.pool_size: must be a whole number (1 to 16 interpreters), not true`,
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, _, dir, err := loadText(t, c.text)
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error %v, want Problems", err)
			}
			want := make([]string, len(c.want))
			for i, w := range c.want {
				want[i] = filepath.Join(dir, "c.toml") + w
			}
			if got := strings.Split(err.Error(), "\n"); !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestValues(t *testing.T) {
	c, f, dir, err := loadText(t, `
server = { listen = "[::1]:0", allowed_hosts = ["toolplane.internal", "10.0.0.1"], allowed_origins = ["chrome-extension://abc", "http://127.0.0.1:3000"] }
results.max_entry_bytes = 2048
executor.browser = "bin/chromium"

[plugins.mine]
source = "./mine.wasm"
allowed_paths = { "ro:data" = "/data", "/tmp" = "/tmp" }
max_output_bytes = "1.5 MiB"
env.TZ = "UTC"

[plugins.issues]
source = "builtin:issues"
timeout = "1m30s"
`)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Server.Listen = "[::1]:0"
	want.Server.AllowedHosts = []string{"toolplane.internal", "10.0.0.1"}
	want.Server.AllowedOrigins = []string{"chrome-extension://abc", "http://127.0.0.1:3000"}
	want.Results.MaxEntryBytes = 2 * KiB
	want.Executor.Browser = filepath.Join(dir, "bin/chromium")
	mine := DefaultPlugin(filepath.Join(dir, "mine.wasm"))
	mine.AllowedPaths = map[string]string{"ro:" + filepath.Join(dir, "data"): "/data", "/tmp": "/tmp"}
	mine.MaxOutputBytes = 3 * MiB / 2
	mine.Env = map[string]string{"TZ": "UTC"}
	issues := DefaultPlugin("builtin:issues")
	issues.Timeout = 90e9
	want.Plugins = map[string]Plugin{"mine": mine, "issues": issues}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	for _, l := range []struct {
		path []string
		line int
	}{
		{[]string{"server", "listen"}, 2}, {[]string{"results", "max_entry_bytes"}, 3}, {[]string{"results"}, 3},
		{[]string{"plugins"}, 6}, {[]string{"plugins", "mine"}, 6}, {[]string{"plugins", "mine", "env", "TZ"}, 10}, {[]string{"plugins", "issues", "timeout"}, 14},
		{[]string{"server", "max_in_flight"}, 0}, {[]string{"nothing", "there"}, 0},
	} {
		if got := f.Line(l.path...); got != l.line {
			t.Errorf("line of %v: %d, want %d", l.path, got, l.line)
		}
	}
}

func TestManyProblemsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		b.WriteString("k")
		b.WriteString(strings.Repeat("x", i%50))
		b.WriteString(strings.Repeat("y", i/50%500))
		b.WriteString(" = 1\n")
		if b.Len() > maxFileBytes-1000 {
			break
		}
	}
	_, _, _, err := loadText(t, b.String())
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != maxProblems {
		t.Fatalf("%d problems, want %d", len(problems), maxProblems)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != maxShown+1 || lines[maxShown] != "… and 75 more" {
		t.Errorf("%d lines, the last one %q", len(lines), lines[len(lines)-1])
	}
}

func TestWarnings(t *testing.T) {
	_, f, _, err := loadText(t, `
[server]
listen = "0.0.0.0:7350"
allow_remote = true
max_frame_bytes = "4 MiB"
[executor]
max_output_bytes = "1 MiB"
max_memory_mb = 256
[plugins.my-plugin]
source = "builtin:issues"
allowed_hosts = ["*"]
`)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, w := range f.Warnings {
		keys = append(keys, w.Key)
	}
	want := []string{"server.listen", "session.max_memory_mb", "results.max_entry_bytes", "plugins.my-plugin.max_output_bytes", "plugins.my-plugin.allowed_hosts"}
	if !reflect.DeepEqual(keys, want) {
		t.Errorf("warnings for %q, want %q", keys, want)
	}
	if got := f.Warnings[0].String(); !strings.HasSuffix(got, "c.toml:3: server.listen: other machines can reach 0.0.0.0:7350, and the connection isn't encrypted") {
		t.Error(got)
	}
}

func TestIsLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true, "LOCALHOST": true, "::1": true, "[::ffff:127.0.0.1]:1": true,
		"0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "localhost.evil.example:1": false, "": false, "127.0.0.1.evil.example": false,
	} {
		if got := IsLoopback(address); got != want {
			t.Errorf("IsLoopback(%q) = %t", address, got)
		}
	}
}
