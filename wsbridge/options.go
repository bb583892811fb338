package wsbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// Handler answers a request of the peer. It runs on a goroutine of its own; ctx ends when the peer cancels the request
// ([context.Cause] is [ErrCancelled]) or the connection closes ([ErrClosed]).
//
// The answer must be one JSON value and is sent verbatim; nil means null. An error that is a *protocol.Error is sent as it is,
// a [*FatalError] is sent and then closes the connection, anything else is sent as an internal error with its text.
type Handler func(ctx context.Context, c *Conn, method string, params json.RawMessage) (json.RawMessage, error)

// NotificationHandler takes a notification of the peer. All notifications of a connection are handled one after the
// other, in the order of their arrival. ctx ends when the connection closes.
type NotificationHandler func(ctx context.Context, c *Conn, method string, params json.RawMessage)

// Options configure a connection. The zero value of each field means its default.
type Options struct {
	MaxFrameBytes int64         // bytes of one message, in either direction; default 16 MiB
	MaxInFlight   int           // unanswered requests, per direction; default 64
	WriteQueue    int           // frames that wait for the writer; default 64
	NotifyQueue   int           // received notifications that wait for their handler; default 1024
	PingInterval  time.Duration // default 30 s for Accept, none for Dial; negative turns pings off
	WriteTimeout  time.Duration // for one frame, and for the answer to a ping; default 30 s
	CloseTimeout  time.Duration // for the whole closing handshake; default 5 s

	Handler        Handler             // nil refuses every request with "method not found"
	OnNotification NotificationHandler // nil drops them
	Logger         *slog.Logger        // nil logs nothing; never given params, results or headers
}

// AcceptOptions configure [Accept].
type AcceptOptions struct {
	Options

	// CheckOrigin decides about a request; its error is the text of a 403 answer. When nil, requests without an Origin
	// header, from the request's own host, or from a host that matches one of OriginPatterns (see path.Match) pass.
	CheckOrigin    func(r *http.Request) error
	OriginPatterns []string

	Subprotocol string // default protocol.Version; clients that don't offer it are refused
}

// DialOptions configure [Dial].
type DialOptions struct {
	Options

	Header      http.Header  // more headers of the handshake
	HTTPClient  *http.Client // nil means http.DefaultClient
	Subprotocol string       // default protocol.Version; servers that don't select it are refused
}

const (
	// minFrameBytes leaves room for an error frame.
	minFrameBytes = 1 << 10

	// maxRefusals bounds how many refusals wait for a peer that doesn't read them.
	maxRefusals = 256
)

func (o Options) withDefaults() (Options, error) {
	if o.MaxFrameBytes == 0 {
		o.MaxFrameBytes = 16 << 20
	}
	for _, number := range []struct {
		value    *int
		fallback int
	}{{&o.MaxInFlight, 64}, {&o.WriteQueue, 64}, {&o.NotifyQueue, 1024}} {
		if *number.value == 0 {
			*number.value = number.fallback
		}
	}
	o.WriteTimeout = orDuration(o.WriteTimeout, 30*time.Second)
	o.CloseTimeout = orDuration(o.CloseTimeout, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.MaxFrameBytes < minFrameBytes:
		return o, fmt.Errorf("MaxFrameBytes is %d, the least is %d", o.MaxFrameBytes, minFrameBytes)
	case o.MaxInFlight < 0 || o.WriteQueue < 0 || o.NotifyQueue < 0:
		return o, errors.New("MaxInFlight, WriteQueue and NotifyQueue must be positive")
	case o.WriteTimeout < 0 || o.CloseTimeout < 0:
		return o, errors.New("WriteTimeout and CloseTimeout must be positive")
	}
	return o, nil
}

func orDuration(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}
