package executor

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// drainTime is how long a run waits for its OnOutput to take what is left.
const drainTime = time.Second

// outputRelay takes a run's output as it comes. It keeps at most limit bytes of
// each stream, for the run that never gets to send its own answer, and hands
// them to OnOutput, if there is one, without ever holding up the connection that
// they come from.
type outputRelay struct {
	deliver func(stream, text string) // may be nil
	limit   int64

	mu     sync.Mutex
	kept   map[string]*strings.Builder
	queue  []outputChunk
	closed bool

	more chan struct{} // holds a token when the queue or closed changed
	done chan struct{}
}

type outputChunk struct{ stream, text string }

func newOutputRelay(deliver func(stream, text string), limit int64) *outputRelay {
	o := &outputRelay{
		deliver: deliver,
		limit:   limit,
		kept:    make(map[string]*strings.Builder),
		more:    make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	if deliver == nil {
		close(o.done)
	} else {
		go o.relay()
	}
	return o
}

// add takes a piece of output, cut to what the stream may still carry.
func (o *outputRelay) add(stream, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := o.kept[stream]
	if kept == nil {
		kept = new(strings.Builder)
		o.kept[stream] = kept
	}
	text = cutText(text, o.limit-int64(kept.Len()))
	if text == "" || o.closed {
		return
	}
	kept.WriteString(text)
	if o.deliver == nil {
		return
	}
	// Pieces of one stream are joined while they wait, so that many small
	// writes don't take more room than their bytes.
	if n := len(o.queue); n > 0 && o.queue[n-1].stream == stream && len(o.queue[n-1].text) < 4096 {
		o.queue[n-1].text += text
	} else {
		o.queue = append(o.queue, outputChunk{stream, text})
	}
	o.signal()
}

// text returns what a stream carried so far.
func (o *outputRelay) text(stream string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if kept := o.kept[stream]; kept != nil {
		return kept.String()
	}
	return ""
}

func (o *outputRelay) signal() {
	select {
	case o.more <- struct{}{}:
	default:
	}
}

func (o *outputRelay) relay() {
	defer close(o.done)
	for {
		o.mu.Lock()
		queue, closed := o.queue, o.closed
		o.queue = nil
		o.mu.Unlock()
		for _, c := range queue {
			o.deliver(c.stream, c.text)
		}
		if closed && len(queue) == 0 {
			return
		}
		if len(queue) == 0 {
			<-o.more
		}
	}
}

// finish takes no more output and waits until what there is was delivered, but
// no longer than drainTime.
func (o *outputRelay) finish() {
	o.mu.Lock()
	o.closed = true
	o.signal()
	o.mu.Unlock()
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-o.done:
	case <-timer.C:
	}
}

// cutText returns at most limit bytes of text, cut between characters.
func cutText(text string, limit int64) string {
	if int64(len(text)) <= limit {
		return text
	}
	n := max(limit, 0)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
