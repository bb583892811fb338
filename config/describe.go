package config

import (
	"maps"
	"slices"
	"strings"
)

// A Row is one setting as it's in force, for people and for "config check --json".
type Row struct {
	// Table is "server" or "plugins.issues".
	Table string `json:"table"`
	Key   string `json:"key"`
	// Value as TOML text. The values of env and config tables are left out, since
	// they may be secrets: their names stand there alone.
	Value string `json:"value"`
	// Line of the file that sets it; 0 for a default.
	Line int `json:"line,omitempty"`
	// Allowed bounds, "" where there are none.
	Allowed string `json:"allowed,omitempty"`
	// Meaning is the setting's explanation.
	Meaning string `json:"meaning"`
}

// Describe lists every setting of a configuration, in the order of the sample.
func Describe(c *Config, f Found) []Row {
	var rows []Row
	add := func(t table, into any, path ...string) {
		for _, s := range t.settings {
			field := fieldOf(into, s.name)
			row := Row{
				Table:   strings.Join(path, "."),
				Key:     s.name,
				Value:   literal(field),
				Line:    f.Line(slices.Concat(path, []string{s.name})...),
				Allowed: s.bounds(field),
				Meaning: strings.Join(s.doc, " "),
			}
			if s.name == "env" || s.name == "config" {
				row.Value = literalNames(*field.(*map[string]string))
			}
			if s.oneOf != nil {
				row.Allowed = quoted(s.oneOf)
			}
			rows = append(rows, row)
		}
	}
	add(serverTable, &c.Server, "server")
	add(executorTable, &c.Executor, "executor")
	add(sessionTable, &c.Session, "session")
	add(resultsTable, &c.Results, "results")
	add(foldTable, &c.Fold, "fold")
	add(mcpTable, &c.MCP, "mcp")
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		p := c.Plugins[name]
		add(pluginTable, &p, "plugins", name)
	}
	return rows
}

func literalNames(m map[string]string) string {
	if len(m) == 0 {
		return "{}"
	}
	names := slices.Sorted(maps.Keys(m))
	for i, n := range names {
		names[i] = quote(n) + " = …"
	}
	return "{ " + strings.Join(names, ", ") + " }"
}
