package main

import (
	"fmt"
	"strings"
	"unicode"
)

// printf writes to stdout. The first failure ends the program with an error, once
// the command is done: an answer that didn't arrive isn't a success.
func (a *app) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(a.stdout, format, args...); err != nil && a.unwritten == nil {
		a.unwritten = fmt.Errorf("write to standard output: %w", err)
	}
}

// complain writes to stderr. If that fails there's nobody to tell.
func (a *app) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stderr, format, args...)
}

// plain takes what could steer a terminal out of a text that a plugin or a
// stranger wrote.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
