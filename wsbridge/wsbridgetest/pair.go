// Package wsbridgetest connects wsbridge connections inside one process, for tests: the real codec over
// the loopback network. Not over net.Pipe, which has no buffer: two ends that both answer a control frame would wait for each other.
package wsbridgetest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
)

// waitTimeout bounds every wait for the other end, so that a broken test fails instead of hanging.
const waitTimeout = 30 * time.Second

// Pair returns the two ends of a connection. When the test ends, both are closed and their handlers are waited for.
func Pair(t testing.TB, server wsbridge.AcceptOptions, client wsbridge.DialOptions) (serverConn, clientConn *wsbridge.Conn) {
	t.Helper()
	accepted := make(chan *wsbridge.Conn, 1)
	network := Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := wsbridge.Accept(w, r, server)
		if err != nil {
			t.Errorf("wsbridgetest: %v", err)
		}
		accepted <- c
	}))
	client.HTTPClient = network.Client()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	clientConn, err := wsbridge.Dial(ctx, "ws://pair.test/", client)
	if err != nil {
		t.Fatalf("wsbridgetest: %v", err)
	}
	Cleanup(t, clientConn)
	serverConn = <-accepted
	if serverConn == nil {
		t.FailNow()
	}
	Cleanup(t, serverConn)
	return serverConn, clientConn
}

// Cleanup closes c when the test ends, waits for its handlers, and fails the test when they don't return.
func Cleanup(t testing.TB, c *wsbridge.Conn) {
	t.Cleanup(func() {
		_ = c.Close(1000, "test ended") // may be closed, or broken, by the test itself
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		if err := c.Wait(ctx); err != nil {
			t.Errorf("wsbridgetest: handlers didn't return: %v", err)
		}
	})
}

// Network is an HTTP server that its own clients reach under any host name.
type Network struct{ addr string }

// Serve runs handler on a network of its own until the test ends.
func Serve(t testing.TB, handler http.Handler) *Network {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("wsbridgetest: %v", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: waitTimeout}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("wsbridgetest: serve: %v", err)
		}
	}()
	t.Cleanup(func() {
		_ = server.Close() // open connections of the test aren't its business
		<-ended
	})
	return &Network{addr: listener.Addr().String()}
}

// Client returns a client whose every request reaches the network's server, whatever its host. It keeps no connections.
func (n *Network) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", n.addr)
		},
	}}
}
