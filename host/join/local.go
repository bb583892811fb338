package join

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"
)

// local is a host that runs in this process.
type local struct {
	in     *io.PipeWriter
	cancel context.CancelFunc
	ended  chan struct{}
}

func newLocal(life context.Context, b *bridge, serve func(context.Context, io.ReadCloser, io.WriteCloser) error) *local {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	life, cancel := context.WithCancel(life)
	l := &local{in: inW, cancel: cancel, ended: make(chan struct{})}
	generation := b.generation
	served := make(chan error, 1)
	go func() {
		err := serve(life, inR, outW)
		_ = inR.Close()
		_ = outW.Close()
		served <- err
	}()
	go func() {
		defer close(l.ended)
		r := bufio.NewReaderSize(outR, 64<<10)
		for {
			text, err := readLine(r, maxHostMessageBytes)
			if err != nil {
				break
			}
			b.answer(generation, text)
		}
		_ = outR.Close()
		err := <-served
		if err == nil {
			err = fmt.Errorf("the host in this process ended")
		}
		select {
		case b.failed <- err:
		default:
		}
	}()
	return l
}

func (l *local) deliver(m message) {
	_, _ = l.in.Write(append(m.text[:len(m.text):len(m.text)], '\n')) // fails where the host ended, which is reported
}

func (l *local) close() {
	_ = l.in.Close()
	patience := time.NewTimer(endTimeout)
	defer patience.Stop()
	select {
	case <-l.ended:
	case <-patience.C: // what it still owed was waited for
	}
	l.cancel()
	<-l.ended
}
