package mcpserver

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of what is kept for streams that a client resumes. An event is counted
// with some room for its keeping.
const (
	maxSessionEventBytes = 4 << 20
	maxEventBytes        = 64 << 20
	maxSessionStreams    = 512
	eventOverhead        = 64
)

// events keeps what was sent over each session's streams, so that a client whose
// connection broke can ask for what it missed (Last-Event-ID). It implements
// [mcp.EventStore].
//
// The SDK's own store is bounded in all only, so that one talkative client takes
// away what the others could resume, and it keeps a record of every stream for as
// long as the session lasts. Here each session has a bound of its own; where all
// of them together need too much, the largest gives way. What was dropped can't be
// resumed, and the client is told so.
type events struct {
	perSession, total, streams int

	mu       sync.Mutex
	bytes    int
	sessions map[string]*sessionEvents
}

type sessionEvents struct {
	bytes   int
	streams map[string]*streamEvents
	opened  []string // the streams, oldest first
	kept    []string // the stream of each kept event, oldest first
}

// streamEvents are the events of one stream that are kept: those from index first
// on.
type streamEvents struct {
	first int
	data  [][]byte
}

func newEvents() *events {
	return &events{perSession: maxSessionEventBytes, total: maxEventBytes, streams: maxSessionStreams, sessions: map[string]*sessionEvents{}}
}

// Open implements [mcp.EventStore].
func (e *events) Open(_ context.Context, session, stream string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[session]
	if s == nil {
		s = &sessionEvents{streams: map[string]*streamEvents{}}
		e.sessions[session] = s
	}
	if s.streams[stream] != nil {
		return nil
	}
	s.streams[stream] = &streamEvents{}
	if stream == "" {
		return nil // the one that isn't a request's stays
	}
	s.opened = append(s.opened, stream)
	if len(s.opened) > e.streams {
		e.forget(s, s.opened[0])
		s.opened = slices.Delete(s.opened, 0, 1)
	}
	return nil
}

// forget drops a stream. What is appended to it later isn't kept.
func (e *events) forget(s *sessionEvents, stream string) {
	for _, data := range s.streams[stream].data {
		s.bytes -= len(data) + eventOverhead
		e.bytes -= len(data) + eventOverhead
	}
	delete(s.streams, stream)
	s.kept = slices.DeleteFunc(s.kept, func(of string) bool { return of == stream })
}

// Append implements [mcp.EventStore].
func (e *events) Append(_ context.Context, session, stream string, data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[session]
	if s == nil || s.streams[stream] == nil {
		return nil
	}
	s.streams[stream].data = append(s.streams[stream].data, data)
	s.kept = append(s.kept, stream)
	s.bytes += len(data) + eventOverhead
	e.bytes += len(data) + eventOverhead
	for s.bytes > e.perSession {
		e.dropOldest(s)
	}
	for e.bytes > e.total {
		e.dropOldest(e.largest())
	}
	return nil
}

func (e *events) largest() *sessionEvents {
	var out *sessionEvents
	for _, s := range e.sessions {
		if out == nil || s.bytes > out.bytes {
			out = s
		}
	}
	return out
}

func (e *events) dropOldest(s *sessionEvents) {
	st := s.streams[s.kept[0]]
	s.kept = slices.Delete(s.kept, 0, 1)
	n := len(st.data[0]) + eventOverhead
	st.data[0] = nil
	st.data = st.data[1:]
	st.first++
	s.bytes -= n
	e.bytes -= n
}

// After implements [mcp.EventStore].
func (e *events) After(_ context.Context, session, stream string, index int) iter.Seq2[[]byte, error] {
	data, err := e.after(session, stream, index)
	return func(yield func([]byte, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, d := range data {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func (e *events) after(session, stream string, index int) ([][]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[session]
	if s == nil || s.streams[stream] == nil {
		return nil, mcp.ErrEventsPurged
	}
	st := s.streams[stream]
	if index >= st.first+len(st.data)-1 {
		return nil, nil
	}
	if index+1 < st.first {
		return nil, mcp.ErrEventsPurged
	}
	return slices.Clone(st.data[index+1-st.first:]), nil
}

// SessionClosed implements [mcp.EventStore].
func (e *events) SessionClosed(_ context.Context, session string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sessions[session]; s != nil {
		e.bytes -= s.bytes
		delete(e.sessions, session)
	}
	return nil
}
