package host

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolplane/toolplane/config"
)

func testGuard(change func(*config.Server)) *guard {
	c := config.Default().Server
	c.AllowedHosts = []string{"Toolplane.Internal"}
	c.AllowedOrigins = []string{"chrome-extension://abcdef", "https://console.example.org"}
	if change != nil {
		change(&c)
	}
	return newGuard(c, slog.New(slog.DiscardHandler))
}

// TestGuard is the allow-lists: DNS rebinding, foreign origins, embedding.
func TestGuard(t *testing.T) {
	cases := []struct {
		name    string
		host    string
		headers map[string]string
		allowed bool
	}{
		{"by address", "127.0.0.1:7350", nil, true},
		{"by another loopback address", "127.1.2.3:7350", nil, true},
		{"by IPv6 address", "[::1]:7350", nil, true},
		{"by mapped address", "[::ffff:127.0.0.1]:7350", nil, true},
		{"by name", "localhost:7350", nil, true},
		{"by name, upper case, with a dot", "LOCALHOST.:7350", nil, true},
		{"without port", "localhost", nil, true},
		{"by an allowed name", "toolplane.internal:7350", nil, true},
		{"by an allowed name in other case", "TOOLPLANE.internal", nil, true},

		{"DNS rebinding", "evil.example:7350", nil, false},
		{"a name that begins like ours", "localhost.evil.example:7350", nil, false},
		{"a name that ends like ours", "evil-localhost:7350", nil, false},
		{"an address as a prefix", "127.0.0.1.evil.example:7350", nil, false},
		{"no host", "", nil, false},
		{"another machine's address", "192.0.2.1:7350", nil, false},
		{"the unspecified address", "0.0.0.0:7350", nil, false},
		{"a user before the host", "localhost@evil.example", nil, false},
		{"a short form of 127.0.0.1", "127.1:7350", nil, false},
		{"an address as a number", "2130706433:7350", nil, false},

		{"our own page", "127.0.0.1:7350", map[string]string{"Origin": "http://127.0.0.1:7350"}, true},
		{"our own page through TLS", "toolplane.internal", map[string]string{"Origin": "https://toolplane.internal"}, true},
		{"an allowed extension", "127.0.0.1:7350", map[string]string{"Origin": "chrome-extension://abcdef", "Sec-Fetch-Site": "cross-site"}, true},
		{"an allowed site", "127.0.0.1:7350", map[string]string{"Origin": "https://console.example.org", "Sec-Fetch-Site": "cross-site"}, true},
		{"a stranger's page", "127.0.0.1:7350", map[string]string{"Origin": "http://evil.example"}, false},
		{"an opaque page", "127.0.0.1:7350", map[string]string{"Origin": "null"}, false},
		{"an empty origin", "127.0.0.1:7350", map[string]string{"Origin": ""}, false},
		{"another port of this machine", "127.0.0.1:7350", map[string]string{"Origin": "http://127.0.0.1:3000"}, false},
		{"another name of this machine", "127.0.0.1:7350", map[string]string{"Origin": "http://localhost:7350"}, false},
		{"an origin with a path", "127.0.0.1:7350", map[string]string{"Origin": "http://127.0.0.1:7350/x"}, false},
		{"an origin with a user", "127.0.0.1:7350", map[string]string{"Origin": "http://a@127.0.0.1:7350"}, false},
		{"an allowed site's name with another scheme", "127.0.0.1:7350", map[string]string{"Origin": "http://console.example.org"}, false},
		{"an allowed site as a prefix", "127.0.0.1:7350", map[string]string{"Origin": "https://console.example.org.evil.example"}, false},
		{"a rebound page that is its own origin", "evil.example:7350", map[string]string{"Origin": "http://evil.example:7350"}, false},
		{"a scheme that isn't the web's", "127.0.0.1:7350", map[string]string{"Origin": "ftp://127.0.0.1:7350"}, false},

		{"typed by a person", "127.0.0.1:7350", map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, true},
		{"a link on another site", "127.0.0.1:7350", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, true},
		{"part of our own page", "127.0.0.1:7350", map[string]string{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, true},
		{"a script in another site's page", "127.0.0.1:7350", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, false},
		{"an image in a page of another port", "127.0.0.1:7350", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, false},
		{"a frame in another site's page", "127.0.0.1:7350", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, false},
	}
	g := testGuard(nil)
	handler := g.wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("in")) }))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/ws", nil)
			r.Host = c.host
			for name, value := range c.headers {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			got := w.Body.String() == "in" && w.Code == http.StatusOK
			if got != c.allowed {
				t.Errorf("allowed: %t, want %t (%d %s)", got, c.allowed, w.Code, w.Body)
			}
			if !c.allowed && (w.Code != http.StatusForbidden || !strings.HasPrefix(w.Body.String(), "toolplane refuses this request: it") && !strings.Contains(w.Body.String(), "embeds it")) {
				t.Errorf("refused with %d %s", w.Code, w.Body)
			}
			if w.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Error("no security headers")
			}
		})
	}
}

func TestGuardRefusesTwoOrigins(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = "127.0.0.1"
	r.Header.Add("Origin", "http://127.0.0.1")
	r.Header.Add("Origin", "http://evil.example")
	if err := testGuard(nil).check(r); err == nil {
		t.Error("two origins are allowed")
	}
}

// TestGuardForRemote: where other machines may connect, the address on which a
// request arrived is a name of ours; any other one isn't.
func TestGuardForRemote(t *testing.T) {
	for _, c := range []struct {
		host          string
		local, remote bool // allowed without and with allow_remote
	}{{"192.0.2.7:7350", false, true}, {"192.0.2.8:7350", false, false}, {"evil.example", false, false}, {"127.0.0.1", true, true}} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = c.host
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 7350}))
		if got := testGuard(nil).check(r) == nil; got != c.local {
			t.Errorf("%s without allow_remote: %t", c.host, got)
		}
		if got := testGuard(func(s *config.Server) { s.AllowRemote = true }).check(r) == nil; got != c.remote {
			t.Errorf("%s with allow_remote: %t", c.host, got)
		}
	}
}

// TestRefusalsDontFloodTheLog: a page that asks in a loop is logged now and then,
// with how often it was refused in between.
func TestRefusalsDontFloodTheLog(t *testing.T) {
	now := time.Unix(0, 0)
	l := limiter{burst: 2, every: time.Minute, now: func() time.Time { return now }}
	var got []bool
	for range 5 {
		ok, missed := l.allow()
		got = append(got, ok)
		if missed != 0 {
			t.Errorf("missed %d in the first burst", missed)
		}
	}
	if !got[0] || !got[1] || got[2] || got[3] || got[4] {
		t.Errorf("%v", got)
	}
	now = now.Add(time.Minute)
	if ok, missed := l.allow(); !ok || missed != 3 {
		t.Errorf("after a minute: %t, %d missed, want 3", ok, missed)
	}
}

func TestClip(t *testing.T) {
	if got := clip(strings.Repeat("é", 200)); len(got) > 203 || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
