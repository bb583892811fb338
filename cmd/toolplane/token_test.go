package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/token"
)

// TestToken makes, lists and revokes tokens: the secret is printed once.
func TestToken(t *testing.T) {
	a := newTestApp(t)
	if code := a.do(t, "token", "list"); code != exitOK || !strings.Contains(a.out.String(), "There are no tokens. Make one with: toolplane token new NAME") {
		t.Errorf("exit code %d\n%s%s", code, a.out, a.err)
	}
	if code := a.do(t, "token", "new", "my editor"); code != exitOK {
		t.Fatalf("exit code %d\n%s", code, a.err)
	}
	secret := strings.TrimSuffix(a.out.String(), "\n")
	if !strings.HasPrefix(secret, token.Prefix) || strings.ContainsAny(secret, " \n") {
		t.Errorf("stdout is %q, want the token alone", a.out)
	}
	if !strings.Contains(a.err.String(), "shown once") || !strings.Contains(a.err.String(), "It doesn't expire.") || strings.Contains(a.err.String(), secret) {
		t.Errorf("stderr: %s", a.err)
	}
	var made tokenMade
	if code := a.do(t, "token", "new", "ci", "--expires", "30d", "--json"); code != exitOK || json.Unmarshal([]byte(a.out.String()), &made) != nil {
		t.Fatalf("exit code %d\n%s%s", code, a.out, a.err)
	}
	if left := time.Until(made.Expires); made.Name != "ci" || left < 29*24*time.Hour || left > 30*24*time.Hour || !strings.HasPrefix(made.Token, token.Prefix) {
		t.Errorf("%+v", made)
	}
	var entries []token.Entry
	if code := a.do(t, "token", "list", "--json"); code != exitOK || json.Unmarshal([]byte(a.out.String()), &entries) != nil || len(entries) != 2 {
		t.Fatalf("exit code %d\n%s%s", code, a.out, a.err)
	}
	store, err := a.tokens()
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := store.Verify(secret); !ok || e.ID != entries[0].ID || e.Name != "my editor" {
		t.Errorf("the printed token: %+v %v", e, ok)
	}
	if code := a.do(t, "token", "list"); code != exitOK || !strings.Contains(a.out.String(), entries[0].ID) || strings.Contains(a.out.String(), secret) {
		t.Errorf("exit code %d\n%s", code, a.out)
	}
	if code := a.do(t, "token", "revoke", entries[0].ID, made.ID); code != exitOK {
		t.Errorf("exit code %d\n%s", code, a.err)
	}
	if _, ok := store.Verify(secret); ok {
		t.Error("a revoked token is valid")
	}
	if code := a.do(t, "token", "revoke", made.ID); code != exitFailed || !strings.Contains(a.err.String(), "no such token") {
		t.Errorf("revoked twice: exit code %d\n%s", code, a.err)
	}
	info, err := os.Stat(store.Path())
	if err != nil || info.Mode().Perm() != 0o600 || !strings.HasPrefix(store.Path(), a.dir) {
		t.Errorf("%s: %v %v", store.Path(), info.Mode(), err)
	}
	for _, c := range []struct{ args, want string }{
		{"new", "needs one name"},
		{"new a b", "it got 2 arguments"},
		{"new x --expires soon", `"soon" isn't a duration, such as 12h or 30d`},
		{"new x --expires 0d", "isn't a duration"},
		{"new x --expires -1h", "isn't a duration"},
		{"new x --expires 99999d", "isn't a duration"},
		{"new x --expires 9999d", "may be valid for"},
		{"new x --expires 1s", "may be valid for"},
		{"revoke", "needs the id of a token"},
		{"list x", "takes no arguments"},
		{"nwe", "did you mean new?"},
	} {
		if code := a.do(t, append([]string{"token"}, strings.Fields(c.args)...)...); code != exitUsage || a.out.String() != "" || !strings.Contains(a.err.String(), c.want) {
			t.Errorf("token %s: exit code %d\n%s%s\nwant %s", c.args, code, a.out, a.err, c.want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(store.Path()), "*")); err != nil || len(left) > 2 {
		t.Errorf("in the state folder: %q %v, want the file and its lock", left, err)
	}
}
