package mcpserver

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"
	"sync"

	"github.com/toolplane/toolplane/host/capability"
)

// maxToolName is how long a tool's name may be, for every client to take it.
const maxToolName = 64

// Exposure says which capabilities are MCP tools of their own. It's shared by all
// servers of a host, works the tools out once for each state of the registry, and
// is safe for concurrent use.
type Exposure struct {
	rules    []exposeRule
	registry *capability.Registry
	logger   *slog.Logger

	mu        sync.Mutex
	known     bool // what follows holds for revision
	revision  uint64
	exposures []*exposedTool
	unmatched []string
	warned    map[string]bool
}

// exposeRule is one pattern: a canonical name with * and ?, or tag:NAME, and the
// name that the tools get.
type exposeRule struct {
	text, pattern string
	tag           bool
	as            string // "" for the usual name; * stands for the tool's own
}

// exposedTool is a capability as a tool.
type exposedTool struct {
	name       string
	capability capability.Capability
}

// NewExposure reads patterns, of which config has judged the form. It returns nil
// where there are none.
func NewExposure(patterns []string, registry *capability.Registry, logger *slog.Logger) *Exposure {
	if len(patterns) == 0 {
		return nil
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	e := &Exposure{registry: registry, logger: logger, warned: map[string]bool{}}
	for _, text := range patterns {
		r := exposeRule{text: text}
		r.pattern, r.as, _ = strings.Cut(text, " as ")
		if tag, ok := strings.CutPrefix(r.pattern, "tag:"); ok {
			r.pattern, r.tag = tag, true
		}
		e.rules = append(e.rules, r)
	}
	return e
}

func (r exposeRule) matches(c capability.Capability) bool {
	if !r.tag {
		return glob(r.pattern, c.Name)
	}
	for _, tag := range c.Tags {
		if glob(strings.ToLower(r.pattern), strings.ToLower(tag)) {
			return true
		}
	}
	return false
}

// Unmatched lists the patterns that no capability fits at the moment.
func (e *Exposure) Unmatched() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.update()
	return e.unmatched
}

// tools lists what is exposed at the moment, by canonical name. They are shared and
// must not be changed.
func (e *Exposure) tools() []*exposedTool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.update()
	return e.exposures
}

// warn logs each pattern that nothing fits, once. It's for when everything is
// loaded.
func (e *Exposure) warn() {
	for _, pattern := range e.Unmatched() {
		e.mu.Lock()
		known := e.warned[pattern]
		e.warned[pattern] = true
		e.mu.Unlock()
		if !known {
			e.logger.Warn("nothing matches a pattern of [mcp] expose", "pattern", pattern)
		}
	}
}

func (e *Exposure) update() {
	revision := e.registry.Revision()
	if e.known && e.revision == revision {
		return
	}
	e.known, e.revision = true, revision
	e.exposures, e.unmatched = nil, nil
	matched := make([]bool, len(e.rules))
	wanted := map[string]int{} // how many want a name
	for _, c := range e.registry.List() {
		t := &exposedTool{capability: c}
		for i, r := range e.rules {
			if !r.matches(c) {
				continue
			}
			matched[i] = true
			if name := e.nameOf(c, r); t.name == "" || r.as != "" {
				t.name = name // a name that was chosen counts, the last one of several
			}
		}
		if t.name != "" {
			e.exposures = append(e.exposures, t)
			wanted[t.name]++
		}
	}
	for _, t := range e.exposures {
		if wanted[t.name] > 1 || fixedTools[t.name] || len(t.name) > maxToolName {
			t.name = distinct(t.name, t.capability.Name)
		}
	}
	for i, r := range e.rules {
		if !matched[i] {
			e.unmatched = append(e.unmatched, r.text)
		}
	}
}

// nameOf is what a tool would best be called.
func (e *Exposure) nameOf(c capability.Capability, r exposeRule) string {
	n, err := capability.ParseName(c.Name)
	if err != nil {
		return toolName(c.Name)
	}
	own := n.Tool
	if own == "" {
		own = n.Provider
	}
	switch {
	case r.as != "":
		return toolName(strings.Replace(r.as, "*", own, 1))
	case n.Tool == "":
		return toolName(n.Provider)
	}
	return toolName(n.Provider + "_" + n.Tool)
}

// toolName replaces what a tool's name can't have.
func toolName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
}

// distinct makes a name that no other capability gets, and that stays the same
// from start to start.
func distinct(name, canonical string) string {
	sum := sha256.Sum256([]byte(canonical))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxToolName-len(suffix))] + suffix
}

// glob matches * (any run of characters) and ? (one character). It takes time
// proportional to the product of the lengths at most.
func glob(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	i, j, star, mark := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
