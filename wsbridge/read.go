package wsbridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// readLoop takes each frame as it comes and never waits for anything but the network.
func (c *Conn) readLoop() {
	for {
		frame, text, err := c.socket.read(context.Background(), c.o.MaxFrameBytes, func() { c.alive.Add(1) })
		if errors.Is(err, errFrameTooLarge) {
			c.closeTooLarge()
			return
		}
		if err != nil {
			if code, reason, ok := closeStatus(err); ok {
				c.startClosing(&CloseError{Code: code, Reason: reason})
			} else {
				c.breakOff(fmt.Errorf("read: %w", err))
			}
			return
		}
		select {
		case <-c.closing:
			continue // thrown away while the peer's close frame is awaited
		default:
		}
		if !text {
			c.refuse(0, protocol.Errorf(protocol.CodeInvalidRequest, "binary frames are refused: send one message per text frame"))
			continue
		}
		c.take(frame)
	}
}

// closeTooLarge closes the connection to a peer that doesn't check what it sends. How much of the message is to come can't be known,
// so that the connection can't be kept. The rest is read for a while, because a peer that is busy sending it reads the reason only
// afterwards, and would lose it if the network connection were cut before.
func (c *Conn) closeTooLarge() {
	why := &CloseError{Code: statusTooBig, Local: true,
		Reason: fmt.Sprintf("message is larger than the limit of %d bytes: check before sending, or raise max_frame_bytes", c.o.MaxFrameBytes)}
	late := time.AfterFunc(c.o.CloseTimeout, func() { c.startClosing(why) })
	defer late.Stop()
	c.socket.discard()
	c.startClosing(why)
}

// take handles one frame without waiting.
func (c *Conn) take(frame []byte) {
	m, err := protocol.Decode(frame)
	if err != nil {
		c.takeRefused(err)
		return
	}
	switch m.Kind() {
	case protocol.KindRequest:
		c.takeRequest(m)
	case protocol.KindNotification:
		c.takeNotification(m)
	case protocol.KindResponse:
		c.settle(m.ID, answer{result: m.Result})
	case protocol.KindError:
		if m.ID == 0 {
			c.log.Warn("the peer refused a frame", "code", m.Error.Code, "message", m.Error.Message)
			return
		}
		c.settle(m.ID, answer{err: m.Error})
	}
}

// takeRefused answers a frame that isn't a message; a broken answer fails the request that waits for it.
func (c *Conn) takeRefused(err error) {
	var refusal *protocol.FrameError
	if !errors.As(err, &refusal) {
		refusal = &protocol.FrameError{Reason: protocol.Errorf(protocol.CodeInternal, "%v", err)}
	}
	c.log.Warn("refused a frame", "code", refusal.Reason.Code, "message", refusal.Reason.Message)
	switch {
	case !refusal.Response:
		c.refuse(refusal.ID, refusal.Reason)
	case refusal.ID != 0:
		c.settle(refusal.ID, answer{err: refusal.Reason})
	}
}

// refuse answers from the reader, which must not wait for room. A peer that sends on without reading its refusals loses the
// connection: dropping them instead would leave its requests without an answer.
func (c *Conn) refuse(id int64, reason *protocol.Error) {
	frame, err := protocol.EncodeError(id, reason)
	if err != nil {
		panic(err) // codes and data are this package's own
	}
	if c.control.push(frame) > maxRefusals+c.o.MaxInFlight {
		c.startClosing(&CloseError{Code: statusPolicy, Local: true, Reason: fmt.Sprintf("%d refusals wait to be read: read them before sending more", maxRefusals)})
	}
}
