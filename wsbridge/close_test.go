package wsbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
	"github.com/toolplane/toolplane/wsbridge/wsbridgetest"
)

func wantClosed(t *testing.T, c *wsbridge.Conn, code int, local bool, words ...string) {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("connection didn't close")
	}
	var closed *wsbridge.CloseError
	if !errors.As(c.Err(), &closed) || !errors.Is(c.Err(), wsbridge.ErrClosed) {
		t.Fatalf("Err() = %v, want a *CloseError that is ErrClosed", c.Err())
	}
	if closed.Code != code || closed.Local != local {
		t.Errorf("closed with code %d, local %v, want %d, %v (%v)", closed.Code, closed.Local, code, local, closed)
	}
	for _, word := range words {
		if !strings.Contains(closed.Error(), word) {
			t.Errorf("%q doesn't mention %q", closed.Error(), word)
		}
	}
	ctx := testContext(t)
	if _, err := c.Call(ctx, "echo", nil); !errors.Is(err, wsbridge.ErrClosed) {
		t.Errorf("Call after closing returned %v", err)
	}
	if err := c.Notify(ctx, "note", nil); !errors.Is(err, wsbridge.ErrClosed) {
		t.Errorf("Notify after closing returned %v", err)
	}
	if err := c.Wait(ctx); err != nil {
		t.Errorf("handlers didn't return: %v", err)
	}
}

func TestCloseTellsThePeer(t *testing.T) {
	for _, test := range []struct {
		name      string
		code      int
		reason    string
		arrives   int
		arrivesAs string
		byServer  bool
	}{
		{name: "normal", code: 1000, reason: "bye", arrives: 1000, arrivesAs: "bye"},
		{name: "by server", code: 1001, reason: "going away", arrives: 1001, arrivesAs: "going away", byServer: true},
		{name: "private code", code: 4001, reason: "", arrives: 4001},
		{name: "code that can't be sent", code: 1006, reason: "x", arrives: 1011, arrivesAs: "x"},
		{name: "long reason is cut between characters", code: 1000, reason: strings.Repeat("é", 100), arrives: 1000, arrivesAs: strings.Repeat("é", 61)},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, client := pair(t, wsbridge.Options{}, wsbridge.Options{})
			closer, other := client, server
			if test.byServer {
				closer, other = server, client
			}
			if closer.Err() != nil {
				t.Errorf("Err() of an open connection is %v", closer.Err())
			}
			if err := closer.Close(test.code, test.reason); err != nil {
				t.Errorf("Close: %v", err)
			}
			wantClosed(t, closer, test.arrives, true)
			wantClosed(t, other, test.arrives, false, test.arrivesAs)
			if err := closer.Close(1002, "again"); err != nil {
				t.Errorf("closing again: %v", err)
			}
			if err := other.Close(1002, "again"); err != nil {
				t.Errorf("closing what the peer closed: %v", err)
			}
			wantClosed(t, other, test.arrives, false)
		})
	}
}

func TestBothSidesCloseAtOnce(t *testing.T) {
	for range 20 {
		server, client := pair(t, wsbridge.Options{}, wsbridge.Options{})
		errs := make(chan error, 2)
		go func() { errs <- server.Close(1001, "server") }()
		go func() { errs <- client.Close(1000, "client") }()
		for range 2 {
			if err := <-errs; err != nil {
				t.Errorf("Close: %v", err)
			}
		}
	}
}

func TestCloseEndsCallsAndHandlers(t *testing.T) {
	held := newHold()
	server, client := pair(t, wsbridge.Options{Handler: held.handle}, wsbridge.Options{})
	results := make(chan error, 5)
	for range cap(results) {
		go func() {
			_, err := client.Call(context.Background(), "hold", nil)
			results <- err
		}()
		<-held.started
	}
	if err := server.Close(1001, "shutting down"); err != nil {
		t.Errorf("Close: %v", err)
	}
	for range cap(results) {
		if err := <-results; !errors.Is(err, wsbridge.ErrClosed) || !strings.Contains(err.Error(), "shutting down") {
			t.Errorf("waiting call returned %v", err)
		}
		if cause := <-held.causes; !errors.Is(cause, wsbridge.ErrClosed) {
			t.Errorf("handler's context ended with %v", cause)
		}
	}
	wantClosed(t, client, 1001, false)
}

// What was queued before Close arrives before the close frame.
func TestCloseSendsWhatIsQueued(t *testing.T) {
	const notes = 50
	arrived := make(chan string, notes)
	server, client := pair(t, wsbridge.Options{WriteQueue: notes}, wsbridge.Options{OnNotification: func(_ context.Context, _ *wsbridge.Conn, method string, _ json.RawMessage) {
		arrived <- method
	}})
	for i := range notes {
		if err := server.Notify(testContext(t), fmt.Sprint(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Close(1000, ""); err != nil {
		t.Fatal(err)
	}
	<-client.Done()
	for i := range notes {
		if got := <-arrived; got != fmt.Sprint(i) {
			t.Fatalf("notification %d is %q", i, got)
		}
	}
}

func TestFatalErrorIsReadBeforeTheConnectionCloses(t *testing.T) {
	refusal := protocol.Errorf(protocol.CodeUnauthenticated, "the token is wrong")
	server, client := pair(t, wsbridge.Options{Handler: func(context.Context, *wsbridge.Conn, string, json.RawMessage) (json.RawMessage, error) {
		return nil, &wsbridge.FatalError{Answer: refusal, Code: 1008, Reason: "not authenticated"}
	}}, wsbridge.Options{})
	_, err := client.Call(testContext(t), "session.hello", nil)
	wantCode(t, err, protocol.CodeUnauthenticated, "token")
	wantClosed(t, server, 1008, true)
	wantClosed(t, client, 1008, false, "not authenticated")
}

func TestHandlersMayClose(t *testing.T) {
	closing := make(chan error, 2)
	closeIt := func(c *wsbridge.Conn) { closing <- c.Close(1000, "from a handler") }
	server, client := pair(t, wsbridge.Options{
		Handler: func(_ context.Context, c *wsbridge.Conn, _ string, _ json.RawMessage) (json.RawMessage, error) {
			closeIt(c)
			return nil, nil
		},
		OnNotification: func(_ context.Context, c *wsbridge.Conn, _ string, _ json.RawMessage) { closeIt(c) },
	}, wsbridge.Options{})
	if _, err := client.Call(testContext(t), "close", nil); !errors.Is(err, wsbridge.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := <-closing; err != nil {
		t.Errorf("Close in a request handler: %v", err)
	}
	wantClosed(t, client, 1000, false, "from a handler")
	_ = server

	_, client = pair(t, wsbridge.Options{OnNotification: func(_ context.Context, c *wsbridge.Conn, _ string, _ json.RawMessage) { closeIt(c) }}, wsbridge.Options{})
	if err := client.Notify(testContext(t), "close", nil); err != nil {
		t.Error(err)
	}
	if err := <-closing; err != nil {
		t.Errorf("Close in a notification handler: %v", err)
	}
	wantClosed(t, client, 1000, false)
}

func TestBrokenNetwork(t *testing.T) {
	held := newHold()
	server, client := pair(t, wsbridge.Options{Handler: held.handle}, wsbridge.Options{})
	result := make(chan error, 1)
	go func() {
		_, err := client.Call(context.Background(), "hold", nil)
		result <- err
	}()
	<-held.started
	client.CutNetwork()
	if err := <-result; !errors.Is(err, wsbridge.ErrClosed) {
		t.Errorf("got %v", err)
	}
	wantClosed(t, client, 1006, false, "broke")
	wantClosed(t, server, 1006, false, "broke")
	if cause := <-held.causes; !errors.Is(cause, wsbridge.ErrClosed) {
		t.Errorf("handler's context ended with %v", cause)
	}
}

// silentServer upgrades the connection by hand, then reads nothing and says nothing until the test ends. It calls opened
// with what follows the handshake.
func silentServer(t *testing.T, opened func(net.Conn)) *wsbridgetest.Network {
	t.Helper()
	return silentServerWith(t, "Sec-WebSocket-Protocol: toolplane.v1\r\n", opened)
}

func silentServerWith(t *testing.T, header string, opened ...func(net.Conn)) *wsbridgetest.Network {
	t.Helper()
	return wsbridgetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+header+
			"Sec-WebSocket-Accept: "+acceptKey(r.Header.Get("Sec-WebSocket-Key"))+"\r\n\r\n")
		if err := rw.Flush(); err != nil {
			t.Error(err)
		}
		for _, then := range opened {
			then(conn)
		}
	}))
}

func dialSilent(t *testing.T, o wsbridge.Options, opened func(net.Conn)) *wsbridge.Conn {
	t.Helper()
	network := silentServer(t, opened)
	c, err := wsbridge.Dial(testContext(t), "ws://silent.test/", wsbridge.DialOptions{Options: o, HTTPClient: network.Client()})
	if err != nil {
		t.Fatal(err)
	}
	wsbridgetest.Cleanup(t, c)
	return c
}

// A peer that never answers the close frame costs CloseTimeout, not the library's own waits.
func TestCloseOfASilentPeerIsBounded(t *testing.T) {
	c := dialSilent(t, wsbridge.Options{CloseTimeout: 50 * time.Millisecond}, func(net.Conn) {})
	start := time.Now()
	err := c.Close(1000, "bye")
	if err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("Close returned %v", err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("Close took %v", took)
	}
	wantClosed(t, c, 1000, true)
}

// A peer that stalls in the middle of a frame that is too large can't hold up closing either.
func TestCloseInTheMiddleOfAnEndlessFrame(t *testing.T) {
	c := dialSilent(t, wsbridge.Options{CloseTimeout: 50 * time.Millisecond, MaxFrameBytes: 1024}, func(conn net.Conn) {
		header := []byte{0x81, 127, 0, 0, 0x10, 0, 0, 0, 0, 0} // text, 2**44 bytes
		if _, err := conn.Write(append(header, make([]byte, 2000)...)); err != nil {
			t.Error(err)
		}
	})
	start := time.Now()
	wantClosed(t, c, 1009, true, "1024")
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("closing took %v", took)
	}
}

func TestWriteTimeout(t *testing.T) {
	c := dialSilent(t, wsbridge.Options{WriteTimeout: 50 * time.Millisecond, PingInterval: -1}, func(net.Conn) {})
	// Larger than what the network buffers.
	if err := c.Notify(testContext(t), "note", json.RawMessage(`{"text":"`+strings.Repeat("x", 15<<20)+`"}`)); err != nil {
		t.Fatal(err)
	}
	wantClosed(t, c, 1006, false, "write", "didn't take")
}

func TestPingFindsADeadPeer(t *testing.T) {
	c := dialSilent(t, wsbridge.Options{PingInterval: 10 * time.Millisecond, WriteTimeout: 50 * time.Millisecond}, func(conn net.Conn) {
		buf := make([]byte, 1024)
		for { // takes everything, answers nothing
			if _, err := conn.Read(buf); err != nil {
				return
			}
		}
	})
	wantClosed(t, c, 1006, false, "ping", "sign of life")
}

func TestPingKeepsALivePeer(t *testing.T) {
	server, client := pair(t, wsbridge.Options{Handler: echo, PingInterval: 2 * time.Millisecond, WriteTimeout: 5 * time.Second}, wsbridge.Options{})
	for start := time.Now(); time.Since(start) < 100*time.Millisecond; {
		usable(t, client)
	}
	if server.Err() != nil || client.Err() != nil {
		t.Errorf("closed: %v, %v", server.Err(), client.Err())
	}
}

func TestCloseErrorSaysHowItEnded(t *testing.T) {
	cause := errors.New("reset")
	for _, test := range []struct {
		err  wsbridge.CloseError
		want string
	}{
		{wsbridge.CloseError{Code: 1000, Local: true}, "wsbridge: connection closed by this side with code 1000"},
		{wsbridge.CloseError{Code: 1008, Reason: "not authenticated"}, "wsbridge: connection closed by the peer with code 1008: not authenticated"},
		{wsbridge.CloseError{Code: 1006, Cause: cause}, "wsbridge: connection broke: reset"},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
		if !errors.Is(&test.err, wsbridge.ErrClosed) || errors.Is(&test.err, cause) != (test.err.Cause != nil) {
			t.Errorf("%v: errors.Is is wrong", &test.err)
		}
	}
}
