package wsbridge

import (
	"context"
	"fmt"
	"time"
)

// pingLoop finds out that a peer is gone where the network doesn't say so. Anything that arrives counts as well as a pong:
// a peer that is busy sending a large frame answers pings late. A ping that can't be sent, because a large frame of this
// side is on its way, says nothing; the time limit on writing watches that frame.
func (c *Conn) pingLoop() {
	ticker := time.NewTicker(c.o.PingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.closing:
			return
		}
		before := c.alive.Load()
		if c.pingTimedOut() && c.alive.Load() == before {
			c.breakOff(fmt.Errorf("ping: the peer gave no sign of life within %v", c.o.WriteTimeout))
			return
		}
	}
}

func (c *Conn) pingTimedOut() bool {
	ctx, cancel := context.WithTimeout(c.ctx, c.o.WriteTimeout)
	defer cancel()
	return c.socket.ping(ctx) != nil && ctx.Err() != nil
}
