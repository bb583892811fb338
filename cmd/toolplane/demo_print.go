package main

import (
	"fmt"
	"strings"

	"github.com/toolplane/toolplane/host/demo"
)

// demoPrinter tells a person what the demonstration does.
type demoPrinter struct {
	app    *app
	color  palette
	silent bool
}

func (p *demoPrinter) say(format string, a ...any) {
	if !p.silent {
		p.app.printf(format+"\n", a...)
	}
}

func (p *demoPrinter) opening() {
	p.say("%s", p.color.bold("Toolplane: large data stays on the host, small answers travel"))
	p.say("")
	p.say("Two Python snippets run in a browser sandbox without network. They call a plugin, an")
	p.say("issue tracker that's built into this binary. Each run has a fresh interpreter.")
}

func (p *demoPrinter) snippet(number int, s demo.Snippet) {
	p.say("")
	p.say("%s", p.color.bold(fmt.Sprintf("── Run %d: %s ", number, s.Filename)+strings.Repeat("─", max(0, 60-len(s.Filename)))))
	for line := range strings.Lines(s.Code) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") {
			line = p.color.dim(line)
		}
		p.say("  %s", line)
	}
}

func (p *demoPrinter) result(r demoRun) {
	if !r.Result.OK {
		p.say("%s", r.Result.Error.Traceback)
		return
	}
	p.say("")
	p.say("  %s", p.color.green(fmt.Sprintf("returned, after %.0f ms, a result of %s bytes:", r.Result.DurationMS, thousands(int64(r.Bytes)))))
	for line := range strings.Lines(indent(r.Result.Value)) {
		p.say("  %s", strings.TrimRight(line, "\n"))
	}
}

func (p *demoPrinter) summary(r *demoReport) {
	p.say("")
	p.say("%s", p.color.bold("── What happened "+strings.Repeat("─", 56)))
	p.say("  %12s bytes stayed on the host, under the handle", thousands(r.StayedBytes))
	share := ""
	if r.ReachedBytes > 0 {
		share = fmt.Sprintf(" (1/%d of it)", r.StayedBytes/r.ReachedBytes)
	}
	p.say("  %12s bytes reached the caller, in both results together%s", thousands(r.ReachedBytes), share)
	p.say("")
	p.say("  Time of each step:")
	for _, s := range r.Steps {
		p.say("  %12s ms  %s", thousands(int64(s.MS+0.5)), s.Name)
	}
	p.say("")
	p.say("%s", p.color.bold("── What to try next "+strings.Repeat("─", 53)))
	for _, line := range [][2]string{
		{"toolplane init", "write toolplane.toml, with the demo plugin turned on"},
		{"toolplane run your.py", "run your own snippet with it; see toolplane run --help"},
		{"toolplane serve mcp", "serve an agent, such as: claude mcp add toolplane -- toolplane serve mcp"},
		{"toolplane plugin inspect builtin:issues", "see what the plugin offers"},
		{"toolplane doctor", "find out why something doesn't work"},
	} {
		p.say("  %s", p.color.cyan(line[0]))
		p.say("      %s", line[1])
	}
}

// thousands groups digits: 1,234,567.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
