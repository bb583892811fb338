package wsbridge

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

const statusAbnormal = 1006

// Conn is a connection.
type Conn struct{}

func Accept(w http.ResponseWriter, r *http.Request, o AcceptOptions) (*Conn, error) { panic("soon") }
func Dial(ctx context.Context, url string, o DialOptions) (*Conn, error)            { panic("soon") }
func (c *Conn) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	panic("soon")
}

// CallWait is Call that, when ctx ends, asks the peer to cancel and waits up to grace for its answer.
func (c *Conn) CallWait(ctx context.Context, grace time.Duration, method string, params json.RawMessage) (json.RawMessage, error) {
	panic("soon")
}
func (c *Conn) Notify(ctx context.Context, method string, params json.RawMessage) error { panic("soon") }
func (c *Conn) Done() <-chan struct{}                                                   { panic("soon") }
func (c *Conn) Err() error                                                              { panic("soon") }
func (c *Conn) Close(code int, reason string) error                                     { panic("soon") }

// Wait waits until every handler returned.
func (c *Conn) Wait(ctx context.Context) error { panic("soon") }
