package wsbridge

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Accept upgrades an HTTP request to a connection. On error it has already answered the request. The connection outlives
// the request: it ends by [Conn.Close], by the peer, or when it breaks.
//
// Handlers may run before Accept returns.
func Accept(w http.ResponseWriter, r *http.Request, o AcceptOptions) (*Conn, error) {
	c, err := accept(w, r, o)
	if err != nil {
		return nil, fmt.Errorf("wsbridge: accept from %s: %w", r.RemoteAddr, err)
	}
	return c, nil
}

func accept(w http.ResponseWriter, r *http.Request, o AcceptOptions) (*Conn, error) {
	options, err := o.withDefaults()
	if err != nil {
		http.Error(w, "the server's WebSocket is misconfigured", http.StatusInternalServerError)
		return nil, err
	}
	if o.CheckOrigin != nil {
		if err := o.CheckOrigin(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return nil, err
		}
	}
	// Only one end pings. Pongs are written by the library's reader: when both ends ping and both networks are full, each
	// reader would wait for the other one to read.
	options.PingInterval = orDuration(options.PingInterval, 30*time.Second)
	subprotocol := orVersion(o.Subprotocol)
	// Without an Upgrade header it isn't a WebSocket request at all; the library has the better answer.
	if r.Header.Get("Upgrade") != "" && !slices.Contains(offered(r), subprotocol) {
		err := fmt.Errorf("this endpoint speaks the WebSocket subprotocol %q, which the request doesn't offer", subprotocol)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, err
	}
	s, err := acceptSocket(w, r, subprotocol, o.CheckOrigin != nil, o.OriginPatterns)
	if err != nil {
		return nil, err
	}
	return newConn(s, options), nil
}

// offered lists the subprotocols that a request offers.
func offered(r *http.Request) []string {
	var names []string
	for _, header := range r.Header.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(header, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}
