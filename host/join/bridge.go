package join

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Next is what serves from now on: a host to join, or, where that's nil, one that
// runs in this process. Serve then speaks MCP over two pipes until in ends or ctx
// does, and closes both.
type Next struct {
	Host  *Host
	Serve func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error
}

// BridgeOptions are what [Bridge] stands on. All but Logger are required.
type BridgeOptions struct {
	// In and Out are the agent's: one JSON message a line.
	In  io.Reader
	Out io.Writer
	// First is the host to begin with, usually one to join.
	First Next
	// Again finds what serves when the host that was joined last is gone, or has no
	// room. Hosts with the addresses of except won't do.
	Again func(ctx context.Context, last string, except []string) (Next, error)
	// Linger is how long calls under way may go on after the agent closed In.
	Linger time.Duration
	// MaxMessageBytes bounds a message of the agent; those of the host may be longer.
	MaxMessageBytes int
	// Say tells a person of a change.
	Say    func(format string, a ...any)
	Logger *slog.Logger
}

// ownID is how the handshake and the settings of a session are told from the
// agent's own requests.
const ownID = `"toolplane-join-`

// backend is what serves at the moment.
type backend interface {
	// deliver passes a message on. A request may be answered later, by answer; what
	// follows on others it may have waited for.
	deliver(m message)
	// close ends the session, and returns when nothing more comes from it.
	close()
}

// Bridge passes the messages of one agent on to a host and back, until the agent
// closes In and has its answers, or ctx ends. When a host that it joined goes away,
// the calls under way are answered with an error, and the bridge goes on with
// what Again returns: with a new session there, which begins as the agent's did.
func Bridge(ctx context.Context, o BridgeOptions) error {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	b := &bridge{o: o, pending: map[string]bool{}, asked: map[string]bool{}, lost: make(chan loss, 1), failed: make(chan error, 1)}
	return b.run(ctx)
}

type bridge struct {
	o BridgeOptions

	writing sync.Mutex // of Out

	mu         sync.Mutex
	generation int             // of the backend
	pending    map[string]bool // the agent's requests that have no answer
	asked      map[string]bool // the host's requests that the agent hasn't answered
	own        map[string]chan message
	kept       []message     // requests that a lost host never saw, to be sent to the next one
	drained    chan struct{} // closed when pending is empty, while that's waited for

	// Only of the goroutine of run.
	backend    backend
	where      string   // the address of a joined host
	full       []string // hosts without room
	initialize *message // what the agent began with
	ready      *message // its notifications/initialized
	level      *message // the last logging/setLevel

	lost   chan loss  // a joined host went away
	failed chan error // the host in this process ended
}

// loss is the end of a joined host, or of the session there.
type loss struct {
	generation int
	reason     error
}

func (b *bridge) run(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	lines := b.lines(life)
	b.start(life, b.o.First)
	defer func() {
		if b.backend != nil {
			b.backend.close()
		}
	}()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				b.drain(ctx)
				return nil
			}
			b.take(ctx, life, line)
		case l := <-b.lost:
			b.recover(ctx, life, l)
		case err := <-b.failed:
			return err
		case <-ctx.Done():
			b.abandon("this process was told to end")
			return nil
		}
	}
}

type line struct {
	text []byte
	err  error
}

// lines reads the agent's messages. The goroutine ends with In, or with the process:
// nothing interrupts a read of standard input.
func (b *bridge) lines(life context.Context) <-chan line {
	out := make(chan line)
	go func() {
		defer close(out)
		r := bufio.NewReaderSize(b.o.In, 64<<10)
		for {
			text, err := readLine(r, b.o.MaxMessageBytes)
			if err != nil && !errors.Is(err, errTooLong) {
				return
			}
			select {
			case out <- line{text, err}:
			case <-life.Done():
				return
			}
		}
	}()
	return out
}

// take handles what the agent sent.
func (b *bridge) take(ctx, life context.Context, l line) {
	if l.err != nil {
		b.write(failure("", codeTooLarge, "a message has more than %d bytes ([server] max_frame_bytes): save large values with save_result and pass their handle", b.o.MaxMessageBytes))
		return
	}
	if len(strings.TrimSpace(string(l.text))) == 0 {
		return
	}
	messages, err := split(l.text)
	if err != nil {
		b.write(failure("", codeParse, "a line of the input isn't a JSON-RPC message"))
		return
	}
	for _, m := range messages {
		b.pass(ctx, life, m)
	}
}

// pass hands one message of the agent to who serves, and sees to it that somebody
// does.
func (b *bridge) pass(ctx, life context.Context, m message) {
	select {
	case l := <-b.lost: // before something more is sent there
		b.recover(ctx, life, l)
	default:
	}
	if m.isResponse() {
		b.mu.Lock()
		asked := b.asked[m.id]
		delete(b.asked, m.id)
		b.mu.Unlock()
		if !asked {
			return // to a host that's gone
		}
	}
	if b.backend == nil {
		b.replace(ctx, life)
	}
	switch m.method {
	case "initialize":
		b.initialize = &m
	case "notifications/initialized":
		b.ready = &m
	case "logging/setLevel":
		b.level = &m
	}
	if b.backend == nil {
		if m.isRequest() {
			b.write(failure(m.id, codeGone, "no Toolplane host can be joined or started; see the standard error of toolplane serve mcp"))
		}
		return
	}
	if m.isRequest() {
		b.mu.Lock()
		again := b.pending[m.id]
		b.pending[m.id] = true
		b.mu.Unlock()
		if again {
			b.write(failure(m.id, -32600, "a request with the id %s is under way", m.id))
			return
		}
	}
	if m.method == "initialize" {
		b.begin(ctx, life, m)
		return
	}
	b.backend.deliver(m)
}

// answer takes what a backend sends.
func (b *bridge) answer(generation int, text []byte) {
	messages, err := split(text)
	if err != nil {
		b.o.Logger.Warn("the host sent something that isn't a message", "error", err)
		return
	}
	for _, m := range messages {
		if b.wanted(generation, m) {
			b.write(m.text)
			b.written()
		}
	}
}

// wanted keeps the books, and says whether the message is the agent's to see.
func (b *bridge) wanted(generation int, m message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case generation != b.generation:
		return false
	case m.isResponse():
		if own := b.own[m.id]; own != nil {
			delete(b.own, m.id)
			own <- m
			return false
		}
		known := b.pending[m.id]
		delete(b.pending, m.id)
		return known
	case m.isRequest():
		b.asked[m.id] = true
	}
	return true
}

// lose reports that a joined host, or the session there, is gone.
func (b *bridge) lose(generation int, reason error) {
	b.mu.Lock()
	own := b.own
	b.own = nil
	b.mu.Unlock()
	for id, answered := range own {
		answered <- message{text: failure(id, codeGone, "%v", reason)}
	}
	select {
	case b.lost <- loss{generation, reason}:
	default: // one is waiting already
	}
}

// write sends a line to the agent. An agent that can't be written to is gone, which
// the end of In shows.
func (b *bridge) write(text []byte) {
	b.writing.Lock()
	defer b.writing.Unlock()
	_, _ = b.o.Out.Write(append(text[:len(text):len(text)], '\n'))
}

func (b *bridge) written() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.drained != nil && len(b.pending) == 0 {
		close(b.drained)
		b.drained = nil
	}
}

// drain waits for the answers to what is under way.
func (b *bridge) drain(ctx context.Context) {
	drained := make(chan struct{})
	b.mu.Lock()
	b.drained = drained
	b.mu.Unlock()
	b.written()
	linger := time.NewTimer(b.o.Linger)
	defer linger.Stop()
	select {
	case <-drained:
	case <-linger.C:
	case l := <-b.lost:
		b.abandon(fmt.Sprintf("the Toolplane host at %s, which ran this, went away (%v)", b.where, l.reason))
	case <-ctx.Done():
	}
}
