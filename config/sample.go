package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const sampleHead = `# Toolplane's configuration.
#
# Every setting is here, with its default after a "#": remove the "#" to change
# one. Unknown settings and values out of bounds are errors with their line;
# "toolplane config check" shows what this file means.
#
# Sizes are whole bytes or text with a unit ("8 MiB"; KiB, MiB, GiB count in
# 1024, KB, MB, GB in 1000). Durations are text with a unit ("250ms", "30s", "10m").
`

// Sample returns an annotated file that holds every setting. As it stands it
// means the defaults, plus the demo plugin under the name "issues".
func Sample() []byte {
	var b bytes.Buffer
	b.WriteString(sampleHead)
	c := Default()
	writeTable(&b, serverTable, "server", &c.Server)
	writeTable(&b, executorTable, "executor", &c.Executor)
	writeTable(&b, sessionTable, "session", &c.Session)
	writeTable(&b, resultsTable, "results", &c.Results)
	writeTable(&b, foldTable, "fold", &c.Fold)
	writeTable(&b, mcpTable, "mcp", &c.MCP)
	p := DefaultPlugin(BuiltinPrefix + "issues")
	writeTable(&b, pluginTable, "plugins.issues", &p)
	return b.Bytes()
}

func writeTable(b *bytes.Buffer, t table, name string, into any) {
	b.WriteByte('\n')
	for _, line := range t.doc {
		fmt.Fprintf(b, "# %s\n", line)
	}
	fmt.Fprintf(b, "[%s]\n", name)
	for i, s := range t.settings {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, line := range s.doc {
			fmt.Fprintf(b, "# %s\n", line)
		}
		field := fieldOf(into, s.name)
		if bounds := s.bounds(field); bounds != "" {
			fmt.Fprintf(b, "# Allowed: %s.\n", bounds)
		}
		if s.oneOf != nil {
			fmt.Fprintf(b, "# One of: %s.\n", quoted(s.oneOf))
		}
		if s.example != "" {
			fmt.Fprintf(b, "# Example: %s = %s\n", s.name, s.example)
		}
		// What has no default that works has to be set.
		mark := "#"
		if s.name == "source" {
			mark = ""
		}
		fmt.Fprintf(b, "%s%s = %s\n", mark, s.name, literal(field))
	}
}

// literal writes a field's value as TOML.
func literal(field any) string {
	switch f := field.(type) {
	case *string:
		return quote(*f)
	case *bool:
		return strconv.FormatBool(*f)
	case *int:
		return strconv.Itoa(*f)
	case *Bytes:
		return quote(f.String())
	case *time.Duration:
		return quote(formatDuration(*f))
	case *[]string:
		out := make([]string, len(*f))
		for i, s := range *f {
			out[i] = quote(s)
		}
		return "[" + strings.Join(out, ", ") + "]"
	case *map[string]string:
		if len(*f) == 0 {
			return "{}"
		}
		out := make([]string, 0, len(*f))
		for _, k := range slices.Sorted(maps.Keys(*f)) {
			out = append(out, quote(k)+" = "+quote((*f)[k]))
		}
		return "{ " + strings.Join(out, ", ") + " }"
	}
	panic(fmt.Sprintf("config: a field of type %T has no literal", field))
}

// quote writes a TOML basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
