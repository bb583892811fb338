package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// conflict is a problem between settings, named by the key to change.
type conflict struct {
	path []string
	text string
}

// Validate checks what no single setting can show: settings that contradict
// each other, and the address to listen on, which flags set as well. [Load] has
// done so; call it after changing a Config from flags.
func (c *Config) Validate() error {
	var ps Problems
	if err := checkListen(c.Server.Listen); err != nil {
		return Problems{{Key: "server.listen", Text: err.Error()}}
	}
	for _, p := range c.conflicts() {
		ps = append(ps, Problem{Key: strings.Join(p.path, "."), Text: p.text})
	}
	return ps.asError()
}

func (c *Config) conflicts() []conflict {
	var out []conflict
	add := func(table, key, format string, a ...any) {
		out = append(out, conflict{[]string{table, key}, fmt.Sprintf(format, a...)})
	}
	if !c.Server.AllowRemote && !IsLoopback(c.Server.Listen) {
		add("server", "listen", `other machines could reach %q: use "127.0.0.1:7350", or set allow_remote = true if that's meant (the connection isn't encrypted)`, c.Server.Listen)
	}
	if e := c.Executor; e.RunTimeout > e.MaxRunTimeout {
		add("executor", "run_timeout", "%s is above max_run_timeout, %s", formatDuration(e.RunTimeout), formatDuration(e.MaxRunTimeout))
	}
	if e := c.Executor; e.MaxOutputBytes > c.Server.MaxFrameBytes {
		// stdout and stderr travel in one frame with the value.
		add("executor", "max_output_bytes", "%s is above server.max_frame_bytes, %s: a result with its output couldn't be sent", e.MaxOutputBytes, c.Server.MaxFrameBytes)
	}
	if e := c.Executor; e.MaxConcurrentRuns > c.Server.MaxInFlight {
		// Each run is a call on the connection of the page that runs it.
		add("executor", "max_concurrent_runs", "%d is above server.max_in_flight, %d: runs would be refused as busy", e.MaxConcurrentRuns, c.Server.MaxInFlight)
	}
	if r := c.Results; r.MaxEntryBytes > r.MaxTotalBytes {
		add("results", "max_entry_bytes", "%s is above max_total_bytes, %s", r.MaxEntryBytes, r.MaxTotalBytes)
	}
	guests := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		p := c.Plugins[name]
		clear(guests)
		for _, host := range slices.Sorted(maps.Keys(p.AllowedPaths)) {
			guest := p.AllowedPaths[host]
			if other, twice := guests[guest]; twice {
				out = append(out, conflict{[]string{"plugins", name, "allowed_paths"},
					fmt.Sprintf("%q and %q are both to appear at %q; give each a place of its own", other, host, guest)})
			}
			guests[guest] = host
		}
	}
	return out
}

// warnings are settings that work but probably not as meant, or that deserve a
// second look.
func (c *Config) warnings() []conflict {
	var out []conflict
	add := func(text string, path ...string) { out = append(out, conflict{path, text}) }
	if c.Server.AllowRemote && !IsLoopback(c.Server.Listen) {
		add(fmt.Sprintf("other machines can reach %s, and the connection isn't encrypted", c.Server.Listen), "server", "listen")
	}
	if c.Session.Enabled && c.Session.MaxMemoryMB > c.Executor.MaxMemoryMB {
		add(fmt.Sprintf("an interpreter has no more than executor.max_memory_mb (%d MiB); raise that, or lower this to it", c.Executor.MaxMemoryMB), "session", "max_memory_mb")
	}
	if c.Results.MaxEntryBytes > c.Server.MaxFrameBytes {
		add(fmt.Sprintf("a value above server.max_frame_bytes (%s) can't reach the store; raise that, or lower this to it", c.Server.MaxFrameBytes), "results", "max_entry_bytes")
	}
	if c.Fold.Enabled && !c.Results.Enabled {
		add("answers can't be folded without the result store ([results] enabled), so large ones reach the model whole", "fold", "enabled")
	}
	if c.Fold.Enabled && c.Fold.MaxTotalBytes < c.Fold.ThresholdBytes {
		add(fmt.Sprintf("no answer above threshold_bytes (%s) can be kept, so all reach the model whole", c.Fold.ThresholdBytes), "fold", "max_total_bytes")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		p := c.Plugins[name]
		if p.MaxOutputBytes > c.Server.MaxFrameBytes {
			add(fmt.Sprintf("an answer above server.max_frame_bytes (%s) can't reach a snippet", c.Server.MaxFrameBytes), "plugins", name, "max_output_bytes")
		}
		if slices.Contains(p.AllowedHosts, "*") {
			add(`"*" lets the plugin reach every host, those of your own network included; name the hosts that it needs`, "plugins", name, "allowed_hosts")
		}
	}
	return out
}
