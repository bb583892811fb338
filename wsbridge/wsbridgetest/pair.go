// Package wsbridgetest connects wsbridge connections inside one process, for tests: the real codec over an in-memory network.
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
		c.Close(1000, "test ended")
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		if err := c.Wait(ctx); err != nil {
			t.Errorf("wsbridgetest: handlers didn't return: %v", err)
		}
	})
}

// Network is an HTTP server that only its own clients reach, through memory.
type Network struct {
	conns  chan net.Conn
	closed chan struct{}
}

// Serve runs handler on a network of its own until the test ends.
func Serve(t testing.TB, handler http.Handler) *Network {
	n := &Network{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: waitTimeout}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener{n}); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("wsbridgetest: serve: %v", err)
		}
	}()
	t.Cleanup(func() {
		server.Close()
		<-ended
	})
	return n
}

// Client returns a client whose every request reaches the network's server, whatever its host. It keeps no connections.
func (n *Network) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       n.dial,
	}}
}

// dial returns the client's end of a new connection.
func (n *Network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case n.conns <- server:
		return client, nil
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct{ n *Network }

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.n.conns:
		return c, nil
	case <-l.n.closed:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error {
	select {
	case <-l.n.closed:
	default:
		close(l.n.closed)
	}
	return nil
}

func (l listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "pair.test" }
