package main

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null) // a character device too
}

// palette colors text for a terminal, and leaves it alone elsewhere and where
// NO_COLOR is set (https://no-color.org).
type palette struct{ on bool }

func (a *app) palette(stream io.Writer) palette {
	return palette{isTerminal(stream) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"}
}

func (p palette) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) bold(s string) string  { return p.paint("1", s) }
func (p palette) dim(s string) string   { return p.paint("2", s) }
func (p palette) red(s string) string   { return p.paint("31", s) }
func (p palette) green(s string) string { return p.paint("32", s) }
func (p palette) cyan(s string) string  { return p.paint("36", s) }

// status is one line on a terminal that says what goes on, and that vanishes
// when something else is printed. Elsewhere it prints nothing. Safe for concurrent
// use.
type status struct {
	mu    sync.Mutex
	out   io.Writer // nil where stderr is no terminal
	shown bool
}

func (a *app) status() *status {
	if !isTerminal(a.stderr) || a.getenv("TERM") == "dumb" {
		return &status{}
	}
	return &status{out: a.stderr}
}

// say replaces the line.
func (s *status) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out != nil {
		_, _ = fmt.Fprintf(s.out, "\r\x1b[K"+format, args...)
		s.shown = true
	}
}

// clear removes the line.
func (s *status) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		_, _ = fmt.Fprint(s.out, "\r\x1b[K")
		s.shown = false
	}
}
