package executor

import (
	"sync"
	"time"
	"unicode/utf8"
)

// drainTime is how long a run waits for its OnOutput to take what is left.
const drainTime = time.Second

// outputRelay hands a run's output to OnOutput without ever holding up the
// connection that it comes from. It keeps at most limit bytes of each stream,
// in all, so that a slow OnOutput costs no more memory than that.
type outputRelay struct {
	deliver func(stream, text string)
	limit   int64

	mu     sync.Mutex
	room   map[string]int64
	queue  []outputChunk
	closed bool

	more chan struct{} // holds a token when the queue or closed changed
	done chan struct{}
}

type outputChunk struct{ stream, text string }

// newOutputRelay returns a relay, which is nil and takes anything if nobody listens.
func newOutputRelay(deliver func(stream, text string), limit int64) *outputRelay {
	if deliver == nil {
		return nil
	}
	o := &outputRelay{
		deliver: deliver,
		limit:   limit,
		room:    make(map[string]int64),
		more:    make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	go o.relay()
	return o
}

// add queues a piece of output, cut to what the stream may still carry.
func (o *outputRelay) add(stream, text string) {
	if o == nil || text == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	room, ok := o.room[stream]
	if !ok {
		room = o.limit
	}
	text = cutText(text, room)
	o.room[stream] = room - int64(len(text))
	if text == "" || o.closed {
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
	if o == nil {
		return
	}
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
