package wsbridge

import (
	"context"
	"fmt"
	"net/url"

	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// Dial opens a connection to a ws, wss, http or https URL. ctx bounds the handshake only: the connection ends by
// [Conn.Close], by the peer, or when it breaks. Secrets belong into a message, not into the URL; errors show the URL without its
// query and user.
func Dial(ctx context.Context, rawURL string, o DialOptions) (*Conn, error) {
	options, err := o.withDefaults()
	if err == nil {
		o.Subprotocol = orVersion(o.Subprotocol)
		var s *socket
		if s, err = dialSocket(ctx, rawURL, o); err == nil {
			return newConn(s, options), nil
		}
	}
	return nil, fmt.Errorf("wsbridge: dial %s: %w", shownURL(rawURL), err)
}

func shownURL(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "(broken URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func orVersion(subprotocol string) string {
	if subprotocol == "" {
		return protocol.Version
	}
	return subprotocol
}
