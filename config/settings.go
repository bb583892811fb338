package config

import (
	"fmt"
	"reflect"
	"time"
)

// A setting describes one key: what the sample says about it, and which values
// it takes. The Go type of the field that carries its name in a `toml` tag says
// which kind of value it is.
type setting struct {
	name string
	// doc explains the setting to a person, a line per line.
	doc []string
	// min and max bound a number: a count, bytes, or nanoseconds.
	min, max int64
	// unit of a plain number, for messages: "MiB", "calls".
	unit string
	// oneOf lists the only values of a text, where there's such a list.
	oneOf []string
	// check judges a text, each element of a list, or each value of a map.
	check func(string) error
	// checkName judges each name of a map.
	checkName func(string) error
	// example is put in the sample in place of the default, as a comment.
	example string
}

// A table describes one table of the file.
type table struct {
	name     string // "server", or "plugins.NAME"
	doc      []string
	settings []setting
}

var tables = []table{serverTable, executorTable, sessionTable, resultsTable, foldTable, mcpTable, pluginTable}

var serverTable = table{
	name: "server",
	doc:  []string{"What the host listens on, and who may talk to it."},
	settings: []setting{
		{
			name: "listen",
			doc: []string{
				"Address and port of the HTTP server (executor page, /ws, /healthz).",
				"Port 0 takes any free port. Anything but a loopback address needs allow_remote.",
			},
			check: checkListen,
		},
		{
			name: "allowed_hosts",
			doc: []string{
				"Host names, besides localhost and the loopback addresses, that requests may",
				"be addressed to. Everything else is refused, which keeps a web site from",
				"reaching this host under a name of its own (DNS rebinding).",
			},
			check:   checkHostName,
			example: `["toolplane.internal"]`,
		},
		{
			name: "allowed_origins",
			doc: []string{
				"Web origins, besides the host's own pages, whose scripts may connect.",
			},
			check:   checkOrigin,
			example: `["chrome-extension://abcdefghijklmnopabcdefghijklmnop"]`,
		},
		{
			name: "allow_remote",
			doc: []string{
				"Permits a listen address that other machines can reach. The connection is",
				"not encrypted: use it behind a TLS proxy or inside a container only.",
			},
		},
		{
			name: "max_frame_bytes",
			doc:  []string{"Largest WebSocket message, which bounds every argument, answer and result."},
			min:  int64(64 * KiB), max: int64(256 * MiB),
		},
		{
			name: "max_in_flight",
			doc:  []string{"Calls that may be under way at once on one connection, in each direction."},
			min:  1, max: 4096, unit: "calls",
		},
		{
			name: "shutdown_timeout",
			doc:  []string{"How long runs and connections may take to end when the host stops."},
			min:  int64(100 * time.Millisecond), max: int64(time.Minute),
		},
	},
}

var executorTable = table{
	name: "executor",
	doc:  []string{"The browser that runs Python, and the limits of a run."},
	settings: []setting{
		{
			name: "browser",
			doc: []string{
				"Chromium, Chrome or Edge: a path, or the name of a program in PATH.",
				`"" looks in the usual places; "toolplane doctor" shows what it finds.`,
			},
			example: `"/usr/bin/chromium"`,
		},
		{
			name: "headless",
			doc: []string{
				"Whether the host starts a headless browser when a run needs one. With false, a",
				"run needs an executor page that is connected already.",
			},
		},
		{
			name: "no_sandbox",
			doc: []string{
				`Whether the browser runs without its own process sandbox. "auto" does so only`,
				"where it can't start otherwise: as root on Linux.",
			},
			oneOf: []string{NoSandboxAuto, NoSandboxAlways, NoSandboxNever},
		},
		{
			name: "start_timeout",
			doc:  []string{"How long the browser may take until it's ready to run Python."},
			min:  int64(time.Second), max: int64(10 * time.Minute),
		},
		{
			name: "run_timeout",
			doc:  []string{"Time limit of a run that doesn't ask for another one."},
			min:  int64(100 * time.Millisecond), max: int64(24 * time.Hour),
		},
		{
			name: "max_run_timeout",
			doc:  []string{"Longest time limit that a run may ask for. At least run_timeout."},
			min:  int64(100 * time.Millisecond), max: int64(24 * time.Hour),
		},
		{
			name: "pool_size",
			doc: []string{
				"Python interpreters kept ready for fresh runs. Each takes 50 to 90 MB of memory.",
			},
			min: 1, max: 16, unit: "interpreters",
		},
		{
			name: "max_memory_mb",
			doc: []string{
				"Memory of one Python interpreter, of which about 30 MiB are its own. A snippet",
				"that needs more gets a MemoryError.",
			},
			min: 64, max: 4096, unit: "MiB",
		},
		{
			name: "max_output_bytes",
			doc: []string{
				"What a run may print to stdout and stderr together. One that prints more ends with",
				"an OutputLimitError, and its result has what it printed until then. At most",
				"server.max_frame_bytes.",
			},
			min: int64(1 * KiB), max: int64(64 * MiB),
		},
		{
			name: "max_concurrent_runs",
			doc:  []string{"Runs under way at once; more wait in a bounded queue. At most server.max_in_flight."},
			min:  1, max: 16, unit: "runs",
		},
		{
			name: "max_calls",
			doc:  []string{"Capability calls that one run may make."},
			min:  1, max: 10_000_000, unit: "calls",
		},
		{
			name: "max_calls_in_flight",
			doc:  []string{"Capability calls of one run that may be under way at once."},
			min:  1, max: 1024, unit: "calls",
		},
	},
}

var sessionTable = table{
	name: "session",
	doc: []string{
		"The Python namespace that the runs of one scope share, like the cells of a",
		"notebook. A run that times out or is stopped is rolled back.",
	},
	settings: []setting{
		{
			name: "enabled",
			doc:  []string{"false gives every run a pristine interpreter."},
		},
		{
			name: "max_memory_mb",
			doc: []string{
				"Memory and files of one session, of which about 30 MiB are Python's own. A copy",
				"of the same size is kept to roll back to.",
			},
			min: 64, max: 2048, unit: "MiB",
		},
		{
			name: "max_sessions",
			doc: []string{
				"Sessions kept at once. One more takes the place of the one that nobody has used",
				"for the longest time, whose next run is told.",
			},
			min: 1, max: 32, unit: "sessions",
		},
		{
			name: "idle_ttl",
			doc:  []string{"How long a session is kept that nobody uses."},
			min:  int64(time.Second), max: int64(7 * 24 * time.Hour),
		},
	},
}

var resultsTable = table{
	name: "results",
	doc: []string{
		"The store behind save_result and load_result. It's in memory and ends with the",
		"process. A save over one of its caps is refused; nothing saved is thrown out.",
	},
	settings: []setting{
		{
			name: "enabled",
			doc:  []string{"false makes every save_result and load_result a ValueError."},
		},
		{
			name: "max_entries",
			doc:  []string{"Values kept at once, in each scope."},
			min:  1, max: 1_000_000, unit: "values",
		},
		{
			name: "max_total_bytes",
			doc:  []string{"Size of all values of a scope together, as JSON text."},
			min:  int64(1 * KiB), max: int64(64 * GiB),
		},
		{
			name: "max_entry_bytes",
			doc:  []string{"Size of one value. At most max_total_bytes."},
			min:  int64(1 * KiB), max: int64(1 * GiB),
		},
		{
			name: "ttl",
			doc:  []string{"How long a saved value is kept."},
			min:  int64(time.Second), max: int64(30 * 24 * time.Hour),
		},
	},
}

var pluginTable = table{
	name: "plugins.NAME",
	doc: []string{
		"One table for each plugin. NAME is what snippets call it by:",
		`await call_tool("plugin:issues/list", {"count": 10}) or await issues.list(count=10).`,
		"A plugin may do nothing outside its own memory but what its table grants.",
	},
	settings: []setting{
		{
			name: "source",
			doc: []string{
				"A .wasm file (relative to this file's folder), or one that the binary carries:",
				`"builtin:issues" is a made-up issue tracker to try things with.`,
			},
			check: checkSource,
		},
		{
			name: "enabled",
			doc:  []string{"false keeps the table without loading the plugin."},
		},
		{
			name:    "allowed_hosts",
			doc:     []string{`Hosts that the plugin may reach by HTTP. "*.example.org" stands for subdomains.`},
			check:   checkHostGlob,
			example: `["api.example.org"]`,
		},
		{
			name: "allowed_paths",
			doc: []string{
				`Folders that the plugin may use, and where it sees them; "ro:" makes one`,
				"read-only. Relative to this file's folder.",
			},
			check:     checkGuestPath,
			checkName: checkHostPath,
			example:   `{ "ro:./data" = "/data" }`,
		},
		{
			name:      "env",
			doc:       []string{"Environment variables that the plugin sees; it sees none of the host's own."},
			checkName: checkEnvName,
			example:   `{ TZ = "UTC" }`,
		},
		{
			name:      "config",
			doc:       []string{"Settings of the plugin itself; its documentation names them."},
			checkName: checkNotEmpty,
			example:   `{ region = "eu" }`,
		},
		{
			name: "memory_mb",
			doc:  []string{"Memory that each instance of the plugin may use."},
			min:  2, max: 4096, unit: "MiB",
		},
		{
			name: "timeout",
			doc:  []string{"Time limit of one call."},
			min:  int64(10 * time.Millisecond), max: int64(time.Hour),
		},
		{
			name: "max_output_bytes",
			doc:  []string{"Largest answer of one call."},
			min:  int64(1 * KiB), max: int64(256 * MiB),
		},
		{
			name: "max_concurrent",
			doc:  []string{"Calls that the plugin works on at once, an instance for each; more wait."},
			min:  1, max: 64, unit: "calls",
		},
		{
			name:    "skip_tools",
			doc:     []string{`Tools of the plugin to leave out: names, or patterns with * and ?.`},
			check:   checkNotEmpty,
			example: `["search"]`,
		},
	},
}

// kind names the type of value a setting takes, as its field says.
func kindOf(field any) string {
	switch field.(type) {
	case *string:
		return "text"
	case *bool:
		return "true or false"
	case *int:
		return "a whole number"
	case *Bytes:
		return "a size"
	case *time.Duration:
		return "a duration"
	case *[]string:
		return "a list of texts"
	case *map[string]string:
		return "a table of texts"
	}
	panic(fmt.Sprintf("config: a field of type %T has no kind", field))
}

// fieldOf returns a pointer to the field of *t that is tagged with name. It
// panics when there's none: a test visits every setting.
func fieldOf(t any, name string) any {
	v := reflect.ValueOf(t).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("toml") == name {
			return v.Field(i).Addr().Interface()
		}
	}
	panic(fmt.Sprintf("config: %T has no field for %q", t, name))
}

// bounds renders the bounds of a number in the setting's own unit.
func (s setting) bounds(field any) string {
	if s.max == 0 {
		return ""
	}
	if _, plain := field.(*int); plain {
		return fmt.Sprintf("%d to %s", s.min, s.number(field, s.max))
	}
	return s.number(field, s.min) + " to " + s.number(field, s.max)
}

func (s setting) number(field any, n int64) string {
	switch field.(type) {
	case *Bytes:
		return Bytes(n).String()
	case *time.Duration:
		return formatDuration(time.Duration(n))
	}
	if s.unit == "" {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d %s", n, s.unit)
}
