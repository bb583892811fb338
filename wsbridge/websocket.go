//nolint:staticcheck // nhooyr.io/websocket is the library that the design names; this file is all that a successor would change
package wsbridge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"time"

	"nhooyr.io/websocket"
)

// WebSocket status codes (RFC 6455, section 7.4) that this package sends or reports itself.
const (
	statusAbnormal = 1006 // never on the wire: the connection broke
	statusPolicy   = 1008
	statusTooBig   = 1009
	statusInternal = 1011
)

// readChunk is how much of a frame is read at once; each chunk counts as a sign of life.
const readChunk = 64 << 10

var errFrameTooLarge = errors.New("frame is too large")

// socket is a WebSocket with bounded waits. It hides the library: its read limit, whose close reason says nothing about the
// way out, is replaced by one of our own, and its fixed waits when closing are cut short through the network connection.
type socket struct {
	ws   *websocket.Conn
	net  net.Conn
	rest io.Reader // of a message that was too large
}

func acceptSocket(w http.ResponseWriter, r *http.Request, subprotocol string, checked bool, origins []string) (*socket, error) {
	hijack := &hijacker{ResponseWriter: w}
	ws, err := websocket.Accept(hijack, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: checked,
		OriginPatterns:     origins,
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1)
	return &socket{ws: ws, net: hijack.conn}, nil
}

// hijacker remembers the network connection under a WebSocket.
type hijacker struct {
	http.ResponseWriter
	conn net.Conn
}

func (h *hijacker) Hijack() (conn net.Conn, rw *bufio.ReadWriter, err error) {
	conn, rw, err = http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, rw, err
}

func dialSocket(ctx context.Context, url string, o DialOptions) (*socket, error) {
	var conn net.Conn
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { conn = info.Conn },
	})
	//nolint:bodyclose // the library closes it, or hands out a copy
	ws, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPClient:      o.HTTPClient,
		HTTPHeader:      o.Header,
		Subprotocols:    []string{o.Subprotocol},
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if resp == nil || resp.StatusCode == http.StatusSwitchingProtocols {
			return nil, err
		}
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		return nil, fmt.Errorf("server answered %s: %s", resp.Status, strings.TrimSpace(string(body)))
	}
	s := &socket{ws: ws, net: conn}
	if got := ws.Subprotocol(); got != o.Subprotocol {
		s.release()
		return nil, fmt.Errorf("server speaks subprotocol %q, not %q", got, o.Subprotocol)
	}
	ws.SetReadLimit(-1)
	return s, nil
}

// read returns the next message. alive is called whenever something arrived. An errFrameTooLarge leaves the rest of the
// message unread: discard is what may be called after it.
func (s *socket) read(ctx context.Context, limit int64, alive func()) (data []byte, text bool, err error) {
	kind, r, err := s.ws.Reader(ctx)
	if err != nil {
		return nil, false, err
	}
	buf := make([]byte, 0, 512)
	for {
		if len(buf) == cap(buf) {
			// Doubled, not grown by append's smaller steps: the library doesn't tell how much is to come.
			buf = slices.Grow(buf, len(buf)+1)
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), len(buf)+readChunk)])
		buf = buf[:len(buf)+n]
		alive()
		switch {
		case int64(len(buf)) > limit:
			s.rest = r
			return nil, false, errFrameTooLarge
		case err == io.EOF:
			return buf, kind == websocket.MessageText, nil
		case err != nil:
			return nil, false, err
		}
	}
}

// discard reads the rest of a message that was too large, or until cut.
func (s *socket) discard() {
	buf := make([]byte, readChunk)
	for {
		if _, err := s.rest.Read(buf); err != nil {
			return
		}
	}
}

// write sends one message in one frame.
func (s *socket) write(ctx context.Context, text bool, data []byte) error {
	kind := websocket.MessageText
	if !text {
		kind = websocket.MessageBinary
	}
	return s.ws.Write(ctx, kind, data)
}

// ping waits for the peer's pong. It needs a concurrent read.
func (s *socket) ping(ctx context.Context) error { return s.ws.Ping(ctx) }

// close sends a close frame and waits for the peer's, at most until deadline; then the connection is cut.
func (s *socket) close(code int, reason string, deadline time.Time) error {
	cut := time.AfterFunc(time.Until(deadline), s.cut)
	defer cut.Stop()
	_ = s.ws.Close(websocket.StatusCode(code), reason)
	if !cut.Stop() || time.Now().After(deadline) {
		return errors.New("the peer didn't answer the close frame in time")
	}
	// The library's error is about what can't matter any more: the peer's own code, or the end of the stream, when it comes
	// right behind the peer's close frame.
	return nil
}

// cut ends the connection without a word. Every other method returns with an error soon.
func (s *socket) cut() {
	if s.net != nil {
		_ = s.net.Close()
	}
}

// release frees everything, without a closing handshake.
func (s *socket) release() {
	s.cut()
	_ = s.ws.CloseNow()
}

// closeStatus returns the peer's close frame, if err tells of one.
func closeStatus(err error) (code int, reason string, ok bool) {
	var closed websocket.CloseError
	if !errors.As(err, &closed) {
		return 0, "", false
	}
	return int(closed.Code), closed.Reason, true
}

// validStatus tells whether code may stand in a close frame (RFC 6455, section 7.4).
func validStatus(code int) bool {
	return code >= 1000 && code <= 1003 || code >= 1007 && code <= 1014 || code >= 3000 && code <= 4999
}
