package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
)

// A decoder fills a Config from a document and collects what's wrong.
type decoder struct {
	doc      *document
	problems Problems
}

// maxProblems bounds the problems that are collected: each one's line costs a
// pass over the file.
const maxProblems = 100

func (d *decoder) problem(path []string, format string, a ...any) {
	if len(d.problems) >= maxProblems {
		return
	}
	d.problems = append(d.problems, Problem{
		File: d.doc.file,
		Line: d.doc.line(path...),
		Key:  strings.Join(path, "."),
		Text: fmt.Sprintf(format, a...),
	})
}

// decode returns the configuration that the document stands for. The result is
// of use only when there are no problems.
func (d *decoder) decode() *Config {
	c := Default()
	for _, name := range slices.Sorted(maps.Keys(d.doc.tree)) {
		value := d.doc.tree[name]
		switch name {
		case "server":
			d.table([]string{name}, serverTable, value, &c.Server)
		case "executor":
			d.table([]string{name}, executorTable, value, &c.Executor)
		case "session":
			d.table([]string{name}, sessionTable, value, &c.Session)
		case "results":
			d.table([]string{name}, resultsTable, value, &c.Results)
		case "fold":
			d.table([]string{name}, foldTable, value, &c.Fold)
		case "mcp":
			d.table([]string{name}, mcpTable, value, &c.MCP)
		case "plugins":
			d.plugins(value, c)
		default:
			d.unknownTable(name, value)
		}
	}
	return c
}

func (d *decoder) unknownTable(name string, value any) {
	path := []string{name}
	if _, isTable := value.(map[string]any); !isTable {
		for _, t := range tables[:len(tables)-1] {
			if nearest(name, names(t)) == name {
				d.problem(path, "stands outside any table: it belongs under [%s]", t.name)
				return
			}
		}
		d.problem(path, "unknown setting outside any table%s", didYouMean(name, tableNames()))
		return
	}
	d.problem(path, "unknown table%s", didYouMean(name, tableNames()))
}

func (d *decoder) plugins(value any, c *Config) {
	all, ok := value.(map[string]any)
	if !ok {
		d.problem([]string{"plugins"}, "must be tables, one for each plugin as in [plugins.NAME], not %s", describeValue(value))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path := []string{"plugins", name}
		if _, isTable := all[name].(map[string]any); !isTable && slices.Contains(names(pluginTable), name) {
			d.problem(path, "stands outside the table of a plugin: it belongs under [plugins.NAME], with the plugin's name for NAME")
			continue
		}
		if !pluginName.MatchString(name) {
			d.problem(path, "%q can't be a plugin's name: a letter, then up to 63 letters, digits, _ or -", name)
			continue
		}
		p := DefaultPlugin("")
		before := len(d.problems)
		d.table(path, pluginTable, all[name], &p)
		if len(d.problems) == before && p.Source == "" {
			d.problem(path, `needs a source: source = "./plugin.wasm", or "builtin:issues"`)
		}
		c.Plugins[name] = p
	}
}

// table decodes one table into the struct that into points at.
func (d *decoder) table(path []string, t table, value any, into any) {
	given, ok := value.(map[string]any)
	if !ok {
		d.problem(path, "must be a table of settings, as in [%s], not %s", t.name, describeValue(value))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := slices.Concat(path, []string{name})
		i := slices.IndexFunc(t.settings, func(s setting) bool { return s.name == name })
		if i < 0 {
			d.problem(at, "unknown setting%s", d.hint(name, t))
			continue
		}
		d.setting(at, t.settings[i], given[name], fieldOf(into, name))
	}
}

// hint says what an unknown name in table t may have been meant to be.
func (d *decoder) hint(name string, t table) string {
	if n := nearest(name, names(t)); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	for _, other := range tables {
		if other.name != t.name && slices.Contains(names(other), name) {
			return fmt.Sprintf(": it belongs under [%s]", other.name)
		}
	}
	return didYouMean(name, names(t))
}

func (d *decoder) setting(path []string, s setting, value, field any) {
	if err := s.set(value, field); err != "" {
		d.problem(path, "%s", err)
	}
}

// set checks a TOML value and stores it in the field; it returns what's wrong,
// or "".
func (s setting) set(value, field any) string {
	wrong := func() string {
		return fmt.Sprintf("must be %s%s, not %s", kindOf(field), s.form(field), describeValue(value))
	}
	switch f := field.(type) {
	case *bool:
		v, ok := value.(bool)
		if !ok {
			return wrong()
		}
		*f = v
	case *int:
		v, ok := value.(int64)
		if !ok {
			return wrong()
		}
		if p := s.outside(f, v); p != "" {
			return p
		}
		*f = int(v)
	case *Bytes:
		var n Bytes
		switch v := value.(type) {
		case int64:
			n = Bytes(v)
		case string:
			var err error
			if n, err = ParseBytes(v); err != nil {
				return err.Error()
			}
		default:
			return wrong()
		}
		if p := s.outside(f, int64(n)); p != "" {
			return p
		}
		*f = n
	case *time.Duration:
		v, ok := value.(string)
		if !ok {
			return wrong()
		}
		n, err := parseDuration(v)
		if err != nil {
			return err.Error()
		}
		if p := s.outside(f, int64(n)); p != "" {
			return p
		}
		*f = n
	case *string:
		v, ok := value.(string)
		if !ok {
			return wrong()
		}
		if p := s.judge(v); p != "" {
			return p
		}
		*f = v
	case *[]string:
		return s.setList(value, f, wrong)
	case *map[string]string:
		return s.setMap(value, f, wrong)
	}
	return ""
}

func (s setting) setList(value any, field *[]string, wrong func() string) string {
	list, ok := value.([]any)
	if !ok {
		return wrong()
	}
	out := make([]string, 0, len(list))
	for i, e := range list {
		v, ok := e.(string)
		if !ok {
			return fmt.Sprintf("element %d must be a text, not %s", i+1, describeValue(e))
		}
		if p := s.judge(v); p != "" {
			return fmt.Sprintf("element %d: %s", i+1, p)
		}
		if slices.Contains(out, v) {
			return fmt.Sprintf("element %d: %q is there twice", i+1, v)
		}
		out = append(out, v)
	}
	*field = out
	return ""
}

func (s setting) setMap(value any, field *map[string]string, wrong func() string) string {
	given, ok := value.(map[string]any)
	if !ok {
		return wrong()
	}
	out := make(map[string]string, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if s.checkName != nil {
			if err := s.checkName(name); err != nil {
				return err.Error()
			}
		}
		v, ok := given[name].(string)
		if !ok {
			return fmt.Sprintf("the value of %q must be a text, not %s", name, describeValue(given[name]))
		}
		if p := s.judge(v); p != "" {
			return fmt.Sprintf("%q: %s", name, p)
		}
		out[name] = v
	}
	*field = out
	return ""
}

// judge returns what's wrong with a text, or "".
func (s setting) judge(v string) string {
	if strings.ContainsRune(v, 0) {
		return "must not contain a NUL character"
	}
	if s.oneOf != nil && !slices.Contains(s.oneOf, v) {
		return fmt.Sprintf("must be one of %s, not %q%s", quoted(s.oneOf), v, didYouMeanNear(v, s.oneOf))
	}
	if s.check != nil {
		if err := s.check(v); err != nil {
			return err.Error()
		}
	}
	return ""
}

// outside says that a number is out of its bounds, or "".
func (s setting) outside(field any, n int64) string {
	switch {
	case n < s.min:
		return fmt.Sprintf("%s is below the least that is allowed, %s (allowed: %s)", s.number(field, n), s.number(field, s.min), s.bounds(field))
	case n > s.max:
		return fmt.Sprintf("%s is above the most that is allowed, %s (allowed: %s)", s.number(field, n), s.number(field, s.max), s.bounds(field))
	}
	return ""
}

// form shows how a value of this setting is written.
func (s setting) form(field any) string {
	switch field.(type) {
	case *Bytes:
		return ` (bytes, or text such as "8 MiB")`
	case *time.Duration:
		return ` with its unit (text such as "30s")`
	case *int:
		return " (" + s.bounds(field) + ")"
	case *[]string:
		return ` (such as ["a", "b"])`
	case *map[string]string:
		return ` (such as { name = "text" })`
	}
	return ""
}

// resolve makes the paths of a configuration that was read from a file in dir
// absolute.
func (c *Config) resolve(dir string) {
	for name, p := range c.Plugins {
		p.resolve(dir)
		c.Plugins[name] = p
	}
	if b := c.Executor.Browser; strings.ContainsAny(b, `/\`) && !filepath.IsAbs(b) {
		c.Executor.Browser = filepath.Join(dir, b)
	}
}

func (p *Plugin) resolve(dir string) {
	if !strings.HasPrefix(p.Source, BuiltinPrefix) && p.Source != "" && !filepath.IsAbs(p.Source) {
		p.Source = filepath.Join(dir, p.Source)
	}
	paths := make(map[string]string, len(p.AllowedPaths))
	for host, guest := range p.AllowedPaths {
		bare, ro := strings.CutPrefix(host, "ro:")
		if !filepath.IsAbs(bare) {
			bare = filepath.Join(dir, bare)
		}
		if ro {
			bare = "ro:" + bare
		}
		paths[bare] = guest
	}
	p.AllowedPaths = paths
}

func names(t table) []string {
	out := make([]string, len(t.settings))
	for i, s := range t.settings {
		out[i] = s.name
	}
	return out
}

func tableNames() []string {
	out := make([]string, len(tables))
	for i, t := range tables {
		out[i], _, _ = strings.Cut(t.name, ".")
	}
	return out
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(out, ", ")
}

// nearest returns the candidate that name is probably a slip of, or "".
func nearest(name string, candidates []string) string {
	if len(name) > 64 {
		return ""
	}
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }
	best, distance := "", 1+max(1, len(name)/3)
	for _, c := range candidates {
		if d := levenshtein.ComputeDistance(plain(name), plain(c)); d < distance {
			best, distance = c, d
		}
	}
	return best
}

func didYouMeanNear(name string, candidates []string) string {
	if n := nearest(name, candidates); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// didYouMean names the nearest candidate, or all of them where none is near.
func didYouMean(name string, candidates []string) string {
	if s := didYouMeanNear(name, candidates); s != "" {
		return s
	}
	return "; there are " + strings.Join(candidates, ", ")
}
