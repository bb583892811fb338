package config

import (
	"fmt"
	"sort"
	"strings"
)

// A Problem is one thing that is wrong with a configuration.
type Problem struct {
	// File is the path as the user would write it, or what else the value came
	// from ("--plugin"); may be empty.
	File string
	// Line is 1 for the first line, and 0 where no line can be named.
	Line int
	// Key is the full name, as in "server.listen"; may be empty.
	Key string
	// Text says what is wrong, the bound, and what would be right.
	Text string
}

// String is "file:line: key: text", without what isn't known.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
		}
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key)
		b.WriteString(": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Problems are all that is wrong, in the order of their lines. A non-empty
// Problems is an error.
type Problems []Problem

// maxShown bounds what Error prints; a file of thousands of wrong lines helps
// nobody on a terminal.
const maxShown = 25

// Error lists the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, 0, min(len(ps), maxShown)+1)
	for i, p := range ps {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("… and %d more", len(ps)-maxShown))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// asError sorts and returns the problems, or nil when there are none.
func (ps Problems) asError() error {
	if len(ps) == 0 {
		return nil
	}
	sort.SliceStable(ps, func(i, j int) bool { return ps[i].Line < ps[j].Line })
	return ps
}
