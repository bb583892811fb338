package host

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolplane/toolplane/config"
)

// guard decides which requests are answered at all. It stands in front of every
// path.
//
// The server listens on this machine only, but a browser on this machine runs the
// scripts of strangers. So a request must be addressed to a name of ours (a
// stranger's name that resolves to 127.0.0.1 is DNS rebinding), and where it says
// which page it comes from, that page must be ours or allowed.
type guard struct {
	hosts       map[string]bool
	origins     map[string]bool
	allowRemote bool
	logger      *slog.Logger
	log         limiter
}

func newGuard(c config.Server, logger *slog.Logger) *guard {
	g := &guard{
		hosts:       map[string]bool{"localhost": true},
		origins:     map[string]bool{},
		allowRemote: c.AllowRemote,
		logger:      logger,
		log:         limiter{burst: 10, every: time.Minute, now: time.Now},
	}
	for _, h := range c.AllowedHosts {
		g.hosts[hostKey(h)] = true
	}
	for _, o := range c.AllowedOrigins {
		g.origins[o] = true
	}
	return g
}

// wrap answers refused requests with 403, and hands on the others.
func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecurityHeaders(w.Header())
		if err := g.check(r); err != nil {
			if ok, missed := g.log.allow(); ok {
				attrs := []any{"path", clip(r.URL.Path), "host", clip(r.Host), "origin", clip(r.Header.Get("Origin")), "remote", r.RemoteAddr}
				if missed > 0 {
					attrs = append(attrs, "not_logged_before", missed)
				}
				g.logger.Warn("request refused", attrs...)
			}
			answerText(w, http.StatusForbidden, "toolplane refuses this request: "+err.Error())
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *guard) check(r *http.Request) error {
	if err := g.checkHost(r); err != nil {
		return err
	}
	if err := g.checkOrigin(r); err != nil {
		return err
	}
	return checkFetchMetadata(r)
}

func (g *guard) checkHost(r *http.Request) error {
	key := hostKey(r.Host)
	if g.hosts[key] {
		return nil
	}
	if addr, err := netip.ParseAddr(key); err == nil {
		addr = addr.Unmap()
		if addr.IsLoopback() {
			return nil
		}
		// An address can't be rebound, and this one is where the request arrived.
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && g.allowRemote && local.AddrPort().Addr().Unmap() == addr {
			return nil
		}
	}
	return fmt.Errorf("it's addressed to the host %q, which isn't a name of this one; if it should be, add it to allowed_hosts in [server]", clip(key))
}

// checkOrigin judges the page that a request comes from, where it names one. A
// program that isn't a browser names none.
func (g *guard) checkOrigin(r *http.Request) error {
	values := r.Header.Values("Origin")
	switch {
	case len(values) == 0:
		return nil
	case len(values) > 1:
		return errors.New("it has more than one Origin header")
	}
	origin := values[0]
	if g.origins[origin] || sameOrigin(origin, r.Host) {
		return nil
	}
	return fmt.Errorf("it comes from a page of %q; if that page may connect, add it to allowed_origins in [server]", clip(origin))
}

// sameOrigin reports whether an origin is a page of the host that the request
// went to. The scheme may be either: a TLS proxy may stand in between.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
		strings.EqualFold(u.Host, host) && strings.EqualFold(u.Scheme+"://"+u.Host, origin)
}

// checkFetchMetadata refuses what another site's page embeds from here (scripts,
// images, frames), which carries no Origin but tells strangers that we run. A link
// that a person follows is fine.
func checkFetchMetadata(r *http.Request) error {
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "cross-site" && site != "same-site" || r.Header.Get("Origin") != "" {
		return nil // not from another site, or its origin has been judged
	}
	if r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && slices.Contains([]string{"GET", "HEAD"}, r.Method) {
		return nil
	}
	return errors.New("another site's page embeds it")
}

// hostKey is a host in the form in which hosts are compared: without port,
// brackets and a dot at the end, in lower case.
func hostKey(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// setSecurityHeaders sets what holds for every answer; a handler may replace them.
func setSecurityHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
}

// clip bounds what a stranger can put into a log line or an answer.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// limiter lets a burst through in each span of time, so that a page that asks in
// a loop doesn't fill the log.
type limiter struct {
	burst int
	every time.Duration
	now   func() time.Time

	mu     sync.Mutex
	since  time.Time
	used   int
	missed int
}

// allow reports whether there's room, and how many were turned down since it
// last said yes.
func (l *limiter) allow() (ok bool, missed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); now.Sub(l.since) >= l.every {
		l.since, l.used = now, 0
	}
	if l.used >= l.burst {
		l.missed++
		return false, 0
	}
	l.used++
	missed, l.missed = l.missed, 0
	return true, missed
}
