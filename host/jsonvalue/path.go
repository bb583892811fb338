package jsonvalue

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxPathSteps = 16 // more are shown as the first and the last eight
	maxNameRunes = 40
)

// path is where a walk stands: one step for each array or object around it.
type path []step

type step struct {
	array bool
	index int    // of the element that is next, in an array
	name  string // of the member that is next, in an object
	named bool   // the name has been read
}

// next moves on after a whole value.
func (p path) next() {
	if len(p) == 0 {
		return
	}
	top := &p[len(p)-1]
	if top.array {
		top.index++
	} else {
		top.name, top.named = "", false
	}
}

func (p path) String() string {
	var sb strings.Builder
	sb.WriteString("value")
	for i, s := range p {
		if len(p) > maxPathSteps && i >= maxPathSteps/2 && i < len(p)-maxPathSteps/2 {
			if i == maxPathSteps/2 {
				sb.WriteString("…")
			}
			continue
		}
		switch {
		case s.array:
			sb.WriteString("[" + strconv.Itoa(s.index) + "]")
		case s.named && isIdentifier(s.name):
			sb.WriteString("." + s.name)
		case s.named:
			sb.WriteString("[" + strconv.Quote(shorten(s.name, maxNameRunes)) + "]")
		}
	}
	return sb.String()
}

func isIdentifier(s string) bool {
	if s == "" || len(s) > maxNameRunes {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// shorten keeps the first n runes of s.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	i := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return s[:i] + "…"
}
