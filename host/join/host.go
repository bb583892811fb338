package join

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/toolplane/toolplane/host/token"
)

// checkTimeout bounds one challenge; the host is on this machine.
const checkTimeout = 2 * time.Second

// ErrGone is wrapped where nothing listens at a host's address, or something else
// does.
var ErrGone = errors.New("the host is gone")

// Host is one that can be joined.
type Host struct {
	URL    string
	secret token.Secret
}

// transport goes straight to the host, whatever proxies the environment names.
func transport() *http.Transport {
	return &http.Transport{
		DialContext:        (&net.Dialer{Timeout: checkTimeout}).DialContext,
		DisableCompression: true,
		// A request on a connection that the host is about to close may or may not
		// reach it; one that can't connect didn't. On one machine connecting costs
		// little.
		DisableKeepAlives: true,
	}
}

// Check asks the host to prove itself. Without ErrGone, an error leaves open
// whether it still runs.
func (h *Host) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	t := transport()
	defer t.CloseIdleConnections()
	challenge := rand.Text()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+Path, strings.NewReader(challenge))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	res, err := t.RoundTrip(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	if err != nil {
		return fmt.Errorf("ask the host at %s: %w", h.URL, err)
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1024))
	if err != nil {
		return fmt.Errorf("ask the host at %s: %w", h.URL, err)
	}
	if !hmac.Equal([]byte(strings.TrimSpace(string(answer))), []byte(Proof(h.secret, []byte(challenge)))) {
		return fmt.Errorf("%w: another program listens at %s", ErrGone, h.URL)
	}
	return nil
}
