package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"syscall"

	"github.com/toolplane/toolplane/config"
)

// baseConnections bounds the HTTP connections, WebSockets included, besides those
// of MCP sessions. A page needs about seven.
const baseConnections = 256

// connectionsFor is how many connections a configuration needs at once: an MCP
// session has a stream, and mostly one request under way.
func connectionsFor(cfg *config.Config) int { return baseConnections + 3*cfg.MCP.MaxSessions }

type listenOptions struct {
	allowRemote, anyPort bool
	connections          int
	logger               *slog.Logger
}

// listen opens the address. It refuses one that other machines can reach unless
// that's allowed, also when the configuration was changed after it was checked.
func listen(ctx context.Context, address string, o listenOptions) (net.Listener, error) {
	if !o.allowRemote && !config.IsLoopback(address) {
		return nil, fmt.Errorf("listen on %s: other machines could reach it: use 127.0.0.1, or allow it with [server] allow_remote = true or --allow-remote (the connection isn't encrypted)", address)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) && o.anyPort {
		host, _, _ := net.SplitHostPort(address)
		o.logger.Warn("address in use, taking a free port", "address", address)
		l, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: another program (perhaps another toolplane) uses this port: end it, or choose another port with --listen or [server] listen: %w", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return &limitedListener{Listener: l, free: make(chan struct{}, o.connections), logger: o.logger}, nil
}

// baseURL is how this machine reaches a listener.
func baseURL(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return "http://" + addr.String()
	}
	host := tcp.IP.String()
	if tcp.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// limitedListener closes connections above the limit at once, rather than letting
// them wait: whoever holds the others may do so for ever.
type limitedListener struct {
	net.Listener
	free   chan struct{}
	logger *slog.Logger
	full   bool // for Accept, which the server calls from one goroutine
}

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
			l.full = false
			return &limitedConn{Conn: c, release: sync.OnceFunc(func() { <-l.free })}, nil
		default:
			if !l.full {
				l.full = true
				l.logger.Warn("too many connections, closing new ones", "limit", cap(l.free))
			}
			_ = c.Close()
		}
	}
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
