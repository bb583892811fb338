package wsbridge

import (
	"fmt"
	"strings"
	"time"
)

// maxReason is how many bytes of a reason fit into a close frame.
const maxReason = 123

// Close closes the connection with a WebSocket status code (1000 is a normal end) and a reason of at most 123 bytes, more is
// cut. A code that can't be sent becomes 1011. The order of closing is described at [Conn].
//
// It returns when the connection's own goroutines ended, with an error when that took all of CloseTimeout because the peer
// neither confirmed nor left.
// Closing again waits for the same end and changes nothing.
func (c *Conn) Close(code int, reason string) error {
	c.startClosing(&CloseError{Code: code, Reason: reason, Local: true})
	<-c.done
	if c.unclean != nil {
		return fmt.Errorf("wsbridge: close: %w", c.unclean)
	}
	return nil
}

// startClosing does step 1 of closing and starts the others. Only the first call counts.
func (c *Conn) startClosing(why *CloseError) {
	if why.Local {
		if !validStatus(why.Code) {
			why.Code = statusInternal
		}
		if len(why.Reason) > maxReason {
			why.Reason = strings.ToValidUTF8(why.Reason[:maxReason], "")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = why
	close(c.closing)
	c.cancel(why)
	go c.finishClosing(why)
}

func (c *Conn) closedLocally() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil && c.err.Local
}

// breakOff closes a connection that can't be used any more.
func (c *Conn) breakOff(cause error) {
	c.startClosing(&CloseError{Code: statusAbnormal, Cause: cause})
}

// finishClosing does steps 2 to 4 of closing.
func (c *Conn) finishClosing(why *CloseError) {
	defer close(c.done)
	if why.Local {
		deadline := time.Now().Add(c.o.CloseTimeout)
		cut := time.AfterFunc(c.o.CloseTimeout, c.socket.cut)
		c.writer.Wait()
		cut.Stop()
		c.unclean = c.socket.close(why.Code, why.Reason, deadline)
	}
	c.socket.release()
	c.writer.Wait()
	c.loops.Wait()
}
