package wsbridge_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/wsbridgetest"
)

// flooder is a WebSocket client by hand, because no decent one sends without reading.
type flooder struct {
	t    *testing.T
	conn net.Conn
}

func newFlooder(t *testing.T, o wsbridge.AcceptOptions, conns chan<- *wsbridge.Conn) *flooder {
	t.Helper()
	network := wsbridgetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := wsbridge.Accept(w, r, o)
		if err != nil {
			t.Error(err)
			return
		}
		wsbridgetest.Cleanup(t, c)
		conns <- c
	}))
	conn, err := network.Client().Transport.(*http.Transport).DialContext(testContext(t), "tcp", "host.test:80")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, _ = fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: host.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: toolplane.v1\r\n\r\n")
	return &flooder{t, conn}
}

// floodUntil sends requests, each with an id of its own, and reads nothing.
func (f *flooder) floodUntil(done <-chan struct{}) {
	f.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	if err := f.conn.SetWriteDeadline(deadline); err != nil {
		f.t.Fatal(err)
	}
	for id := 1; ; {
		select {
		case <-done:
			return
		default:
		}
		if time.Now().After(deadline) {
			f.t.Fatal("the server took a flood for 30 s")
		}
		var batch []byte
		for range 200 {
			batch = append(batch, clientFrame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"hold"}`, id))...)
			id++
		}
		if _, err := f.conn.Write(batch); err != nil {
			return
		}
	}
}

// clientFrame makes a text frame (RFC 6455, section 5.2) masked with zeros.
func clientFrame(payload []byte) []byte {
	frame := []byte{0x81}
	switch {
	case len(payload) < 126:
		frame = append(frame, 0x80|byte(len(payload)))
	default:
		frame = append(frame, 0x80|126)
		frame = binary.BigEndian.AppendUint16(frame, uint16(len(payload)))
	}
	frame = append(frame, 0, 0, 0, 0)
	return append(frame, payload...)
}
