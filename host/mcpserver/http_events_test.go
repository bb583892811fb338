package mcpserver

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (e *events) check(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	total := 0
	for id, s := range e.sessions {
		bytes, kept := 0, 0
		for _, st := range s.streams {
			for _, d := range st.data {
				bytes += len(d) + eventOverhead
				kept++
			}
		}
		if bytes != s.bytes || kept != len(s.kept) || s.bytes > e.perSession || len(s.opened) > e.streams {
			t.Errorf("session %s: %d bytes in %d events, counted as %d in %d", id, bytes, kept, s.bytes, len(s.kept))
		}
		total += bytes
	}
	if total != e.bytes || total > e.total {
		t.Errorf("%d bytes, counted as %d", total, e.bytes)
	}
}

func after(e *events, session, stream string, index int) (string, error) {
	var out []byte
	for d, err := range e.After(nil, session, stream, index) { //nolint:staticcheck // it uses none
		if err != nil {
			return "", err
		}
		out = append(append(out, d...), ' ')
	}
	return string(out), nil
}

func TestEvents(t *testing.T) {
	e := newEvents()
	e.perSession, e.total, e.streams = 1000, 1800, 3
	open := func(session, stream string) {
		if err := e.Open(t.Context(), session, stream); err != nil {
			t.Fatal(err)
		}
	}
	add := func(session, stream, text string) {
		if err := e.Append(t.Context(), session, stream, []byte(text)); err != nil {
			t.Fatal(err)
		}
		e.check(t)
	}
	want := func(session, stream string, index int, data string, purged bool) {
		t.Helper()
		got, err := after(e, session, stream, index)
		if got != data || purged != errors.Is(err, mcp.ErrEventsPurged) {
			t.Errorf("%s %s after %d: %q %v, want %q", session, stream, index, got, err, data)
		}
	}
	open("a", "")
	open("a", "x")
	add("a", "x", "0")
	add("a", "", "s0")
	add("a", "x", "1")
	want("a", "x", -1, "0 1 ", false)
	want("a", "x", 0, "1 ", false)
	want("a", "x", 1, "", false)
	want("a", "x", 99, "", false)
	want("a", "", -1, "s0 ", false)
	want("a", "y", -1, "", true)
	want("b", "x", -1, "", true)
	// The session's oldest events give way, whichever stream they are of.
	add("a", "", string(bytes.Repeat([]byte("l"), 870)))
	want("a", "x", -1, "", true)
	want("a", "x", 0, "1 ", false)
	want("a", "", -1, "", true)
	// One that is too large for the bound isn't kept, nor what came before.
	add("a", "x", string(bytes.Repeat([]byte("l"), 2000)))
	want("a", "x", 1, "", true)
	want("a", "x", 2, "", false)
	add("a", "x", "3")
	want("a", "x", 2, "3 ", false)
	// The oldest stream gives way, but never the one that is no request's.
	open("a", "y")
	open("a", "z")
	open("a", "w")
	add("a", "x", "4")
	want("a", "x", 2, "", true)
	add("a", "", "s")
	want("a", "", 1, "s ", false)
	// What all of them need together is bounded: the largest gives way.
	for _, session := range []string{"b", "c"} {
		open(session, "")
		add(session, "", string(bytes.Repeat([]byte(session), 850)))
	}
	open("d", "")
	add("d", "", "small")
	want("a", "", 1, "s ", false)
	want("d", "", -1, "small ", false)
	for _, session := range []string{"a", "b", "c", "d", "e"} {
		if err := e.SessionClosed(t.Context(), session); err != nil {
			t.Error(err)
		}
	}
	e.check(t)
	if len(e.sessions) != 0 || e.bytes != 0 {
		t.Errorf("%d sessions, %d bytes are left", len(e.sessions), e.bytes)
	}
	add("a", "x", "late")
}

func TestEventsHammer(t *testing.T) {
	e := newEvents()
	e.perSession, e.total, e.streams = 4000, 9000, 4
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			session := fmt.Sprint(i % 4)
			for k := range 500 {
				stream := fmt.Sprint(k % 9)
				_ = e.Open(t.Context(), session, stream)
				_ = e.Append(t.Context(), session, stream, make([]byte, k))
				_, _ = after(e, session, stream, k%3)
				if k%100 == 99 {
					_ = e.SessionClosed(t.Context(), session)
				}
			}
		})
	}
	wg.Wait()
	e.check(t)
}
