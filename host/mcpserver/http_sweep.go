package mcpserver

import "time"

const (
	// sweepEvery is how often sessions are looked at, at the least.
	sweepEvery = 15 * time.Second
	// lateSaves is how long after the end of a session a call of its last run could
	// still be saving something.
	lateSaves = 10 * time.Second
)

// droppedScope is a scope whose data was dropped, and will be once more: a call
// that was cancelled may have been saving when the run had ended already.
type droppedScope struct {
	scope string
	at    time.Time
}

// sweep ends the sessions that idle, and those whose subject may do nothing any
// more.
func (h *HTTP) sweep() {
	tick := time.NewTicker(min(max(h.o.Idle/4, 10*time.Millisecond), sweepEvery))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, s := range h.idle(time.Now()) {
				h.o.Logger.Info("MCP session isn't used", "subject", s.subject, "after", h.o.Idle)
				h.finish(s)
			}
			for _, s := range h.invalid() {
				h.o.Logger.Info("the token of an MCP session isn't valid any more", "subject", s.subject)
				h.finish(s)
			}
			for _, scope := range h.late(time.Now()) {
				h.o.Ended(scope)
			}
		case <-h.stop:
			return
		}
	}
}

func (h *HTTP) idle(now time.Time) []*session {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*session
	for _, s := range h.sessions {
		if s.requests == 0 && now.Sub(s.used) >= h.o.Idle && s.server.calls.quiet(0) {
			out = append(out, s)
		}
	}
	return out
}

func (h *HTTP) invalid() []*session {
	h.mu.Lock()
	subjects := map[string][]*session{}
	for _, s := range h.sessions {
		subjects[s.subject] = append(subjects[s.subject], s)
	}
	h.mu.Unlock()
	var out []*session
	for subject, sessions := range subjects {
		if !h.o.Valid(subject) {
			out = append(out, sessions...)
		}
	}
	return out
}

func (h *HTTP) late(now time.Time) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for len(h.dropped) > 0 && now.Sub(h.dropped[0].at) >= lateSaves {
		out = append(out, h.dropped[0].scope)
		h.dropped = h.dropped[1:]
	}
	return out
}
