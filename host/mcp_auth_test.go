package host

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/join"
	"github.com/toolplane/toolplane/host/token"
)

func TestMCPAuthentication(t *testing.T) {
	m := startMCP(t, nil)
	valid, entry, err := m.tokens.Create("valid", token.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pinned, _, err := m.tokens.Create("pinned", token.CreateOptions{Origin: m.URL()})
	if err != nil {
		t.Fatal(err)
	}
	revoked, gone, err := m.tokens.Create("revoked", token.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.tokens.Revoke(gone.ID); err != nil {
		t.Fatal(err)
	}
	auth := func(s string) map[string]string { return map[string]string{"Authorization": s} }
	with := func(s string, more ...string) map[string]string {
		out := auth("Bearer " + s)
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	for _, c := range []struct {
		name      string
		header    map[string]string
		status    int
		challenge string
	}{
		{"secret of the environment", with(testSecret), 200, ""},
		{"token of the store", with(valid.Reveal()), 200, ""},
		{"scheme in other case", auth("bEARER " + valid.Reveal()), 200, ""},
		{"pinned to this origin", with(pinned.Reveal(), "Origin", m.URL()), 200, ""},
		{"pinned, without origin", with(pinned.Reveal()), 401, "invalid_token"},
		{"none", auth(""), 401, "none"},
		{"empty", auth("Bearer "), 401, "invalid_token"},
		{"no scheme", auth(testSecret), 401, "none"},
		{"another scheme", auth("Basic " + testSecret), 401, "none"},
		{"wrong", with(testSecret + "x"), 401, "invalid_token"},
		{"half", with(testSecret[:20]), 401, "invalid_token"},
		{"huge", with(strings.Repeat("x", 10_000)), 401, "invalid_token"},
		{"revoked", with(revoked.Reveal()), 401, "invalid_token"},
		{"id of a token", with(entry.ID), 401, "invalid_token"},
		{"of a stranger's page", with(testSecret, "Origin", "https://evil.example"), 403, ""},
		{"opaque origin", with(testSecret, "Origin", "null"), 403, ""},
		{"rebound name", with(testSecret, "Host", "evil.example"), 403, ""},
		{"rebound name, same origin", with(testSecret, "Host", "evil.example:80", "Origin", "http://evil.example:80"), 403, ""},
		{"rebound name, no token", map[string]string{"Authorization": "", "Host": "evil.example"}, 403, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, head, text := m.raw(t, "POST", initialize, c.header)
			if status != c.status {
				t.Errorf("status %d, want %d: %s", status, c.status, text)
			}
			got := head.Get("WWW-Authenticate")
			switch {
			case c.challenge == "" && got != "":
				t.Errorf("challenge %q", got)
			case c.challenge != "" && (!strings.HasPrefix(got, `Bearer realm="toolplane"`) || strings.Contains(got, "invalid_token") != (c.challenge == "invalid_token")):
				t.Errorf("challenge %q, want %s", got, c.challenge)
			case c.challenge != "" && !strings.Contains(text, "toolplane token new"):
				t.Errorf("the refusal doesn't say where a token comes from: %s", text)
			}
			if status != 200 && head.Get("Mcp-Session-Id") != "" {
				t.Error("a refused request began a session")
			}
		})
	}
	// Every method needs the token, and no query parameter stands for it.
	for _, method := range []string{"GET", "DELETE", "PUT", "OPTIONS"} {
		if status, _, text := m.raw(t, method, "", auth("")); status != 401 {
			t.Errorf("%s: %d %s", method, status, text)
		}
	}
	for _, secret := range []string{testSecret, valid.Reveal(), pinned.Reveal(), revoked.Reveal()} {
		if strings.Contains(m.logs.String(), secret) {
			t.Error("the log has a token")
		}
	}
}

// TestJoinProof: the host proves that it knows the secret, and answers nothing else.
func TestJoinProof(t *testing.T) {
	m := startMCP(t, nil)
	post := func(url, body string) (int, string) {
		res, err := http.Post(url+join.Path, "text/plain", bytes.NewBufferString(body)) //nolint:gosec // our own
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, strings.TrimSpace(string(text))
	}
	defer http.DefaultClient.CloseIdleConnections()
	if status, text := post(m.URL(), "abc"); status != 200 || text != join.Proof(m.bearers.secrets[joinSubject], []byte("abc")) {
		t.Errorf("%d %s", status, text)
	}
	for _, body := range []string{"", strings.Repeat("x", join.MaxChallengeBytes+1)} {
		if status, text := post(m.URL(), body); status != 400 {
			t.Errorf("%.10q: %d %s", body, status, text)
		}
	}
	plain := startHost(t, testConfig(), &logBuffer{})
	if status, text := post(plain.URL(), "abc"); status != 404 {
		t.Errorf("a host that can't be joined: %d %s", status, text)
	}
}
