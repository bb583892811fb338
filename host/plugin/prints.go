package plugin

import (
	"bytes"
	"context"
	"log/slog"
)

const (
	maxPrintedPerCall = 64 << 10 // of each stream, and of the guest's log, that goes to the logger
	maxPrintedLine    = 2 << 10
	keptPrinted       = 16 << 10 // of each stream, to quote a dying guest's last words
)

// prints takes what a guest writes to one of its standard streams. Lines go to the logger, at level debug and bounded
// per call; the last bytes are kept for error messages. It is used by the goroutine that runs the instance only.
type prints struct {
	log    *slog.Logger
	stream string

	kept   []byte
	line   []byte
	logged int
}

// Write implements io.Writer. It never fails: a guest shall not notice how much of its output is kept.
func (p *prints) Write(b []byte) (int, error) {
	n := len(b)
	p.keep(b)
	if p.logged > maxPrintedPerCall || !p.log.Enabled(context.Background(), slog.LevelDebug) {
		return n, nil
	}
	for len(b) > 0 {
		part, rest, whole := bytes.Cut(b, []byte("\n"))
		b = rest
		p.line = append(p.line, part[:min(len(part), maxPrintedLine-len(p.line))]...)
		if whole {
			p.flush()
		}
	}
	return n, nil
}

func (p *prints) keep(b []byte) {
	b = b[max(0, len(b)-keptPrinted):]
	if over := len(p.kept) + len(b) - keptPrinted; over > 0 {
		p.kept = append(p.kept[:0], p.kept[over:]...)
	}
	p.kept = append(p.kept, b...)
}

// flush logs the line that has been collected.
func (p *prints) flush() {
	if p.logged <= maxPrintedPerCall && len(p.line) > 0 {
		p.log.Debug("plugin printed", "stream", p.stream, "text", clip(string(p.line), maxPrintedLine))
		if p.logged += len(p.line); p.logged > maxPrintedPerCall {
			p.log.Debug("plugin prints too much: the rest of this call's is dropped", "stream", p.stream)
		}
	}
	p.line = p.line[:0]
}

// begin forgets what the last call printed.
func (p *prints) begin() {
	p.kept, p.line, p.logged = p.kept[:0], p.line[:0], 0
}
