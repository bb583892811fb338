package capability

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxNameBytes is how long a canonical name may be.
const MaxNameBytes = 256

// Name is a canonical name taken apart: plugin:issues/list is kind "plugin",
// provider "issues", tool "list". A program, such as cli:git, has no tool. A tool
// may hold further slashes, a provider may not.
type Name struct{ Kind, Provider, Tool string }

// ParseName takes a canonical name apart. It refuses names that are empty in
// part, longer than [MaxNameBytes], or hold characters that don't print.
func ParseName(s string) (Name, error) {
	fail := func(why string) (Name, error) {
		return Name{}, fmt.Errorf("capability name %q %s; want kind:provider/tool, such as plugin:issues/list", clip(s, 80), why)
	}
	if len(s) > MaxNameBytes {
		return fail(fmt.Sprintf("has %d bytes, the limit is %d", len(s), MaxNameBytes))
	}
	kind, rest, ok := strings.Cut(s, ":")
	if !ok {
		return fail("has no kind")
	}
	provider, tool, hasTool := strings.Cut(rest, "/")
	switch {
	case kind == "" || strings.ContainsFunc(kind, func(r rune) bool { return r < 'a' || r > 'z' }):
		return fail("has a kind that isn't lower-case letters")
	case provider == "":
		return fail("has no provider")
	case hasTool && tool == "":
		return fail("has an empty tool")
	case !printable(provider) || !printable(tool):
		return fail("holds a character that doesn't print, or a space at an edge")
	}
	return Name{kind, provider, tool}, nil
}

func (n Name) String() string {
	if n.Tool == "" {
		return n.Kind + ":" + n.Provider
	}
	return n.Kind + ":" + n.Provider + "/" + n.Tool
}

// printable keeps out what would make two names look alike, or break a line.
func printable(s string) bool {
	return utf8.ValidString(s) && strings.TrimSpace(s) == s &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// clip keeps the first n runes of s.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
