package token

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func tempPath(t testing.TB) string { return filepath.Join(t.TempDir(), "state", "tokens.json") }

func open(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Path == "" {
		o.Path = tempPath(t)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func create(t testing.TB, s *Store, name string, o CreateOptions) (Secret, Entry) {
	t.Helper()
	secret, e, err := s.Create(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return secret, e
}

func list(t testing.TB, s *Store) []Entry {
	t.Helper()
	all, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func valid(s *Store, secret Secret) bool {
	_, ok := s.Verify(secret.Reveal())
	return ok
}

func TestALifeOfATokens(t *testing.T) {
	c := &clock{at: start}
	s := open(t, Options{Now: c.now})
	if _, ok := s.Verify(Generate().Reveal()); ok || len(list(t, s)) != 0 {
		t.Error("a store without a file knows a token")
	}
	secret, made := create(t, s, "laptop", CreateOptions{Kind: Extension, TTL: 24 * time.Hour, Origin: "Chrome-Extension://ABC"})
	want := Entry{ID: made.ID, Name: "laptop", Kind: Extension, Created: start, Expires: start.Add(24 * time.Hour), Origin: "chrome-extension://abc"}
	if made != want || !isID(made.ID) {
		t.Errorf("made %+v, want %+v", made, want)
	}
	if got := list(t, s); len(got) != 1 || got[0] != want {
		t.Errorf("listed %+v, want %+v", got, want)
	}
	used := want
	used.LastUsed = start
	if got, ok := s.Verify(secret.Reveal()); !ok || got != used {
		t.Errorf("verified %+v, %v, want %+v", got, ok, used)
	}
	for _, text := range []string{"", "tp_", secret.Reveal() + "x", secret.Reveal()[:45], strings.ToUpper(secret.Reveal()), Generate().Reveal(), made.ID, strings.Repeat("x", 1<<20)} {
		if e, ok := s.Verify(text); ok || e != (Entry{}) {
			t.Errorf("%.60q is valid", text)
		}
	}
	second, _ := create(t, s, "laptop", CreateOptions{})
	c.move(24*time.Hour - time.Second)
	if !valid(s, secret) {
		t.Error("it isn't valid a second before it expires")
	}
	c.move(time.Second)
	if valid(s, secret) || !valid(s, second) {
		t.Error("it is valid when it expires, or the other one isn't")
	}
	if got := list(t, s); len(got) != 2 || !got[0].Expired(c.now()) || got[1].Expired(c.now()) || got[1].Kind != Agent {
		t.Errorf("listed %+v, want an expired one and an agent's", got)
	}
	if err := s.Revoke(made.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Revoke(made.ID); !errors.Is(err, ErrNotFound) || strings.Contains(err.Error(), made.ID) {
		t.Errorf("revoked twice: %v, want %v without the id", err, ErrNotFound)
	}
	if got := list(t, s); len(got) != 1 || got[0].Name != "laptop" || !valid(s, second) {
		t.Errorf("listed %+v, want the second one alone, and valid", got)
	}
}

func TestBadTokens(t *testing.T) {
	s := open(t, Options{})
	tests := []struct {
		name    string
		options CreateOptions
		want    string
	}{
		{"", CreateOptions{}, "the name must have 1 to 64"},
		{" x", CreateOptions{}, "the name must have 1 to 64"},
		{"a\tb", CreateOptions{}, "the name must have 1 to 64"},
		{"\xff", CreateOptions{}, "the name must have 1 to 64"},
		{strings.Repeat("ü", MaxNameRunes+1), CreateOptions{}, "the name must have 1 to 64"},
		{"x", CreateOptions{Kind: "Agent"}, "the kind must be a word"},
		{"x", CreateOptions{Kind: Kind(strings.Repeat("x", MaxKindBytes+1))}, "the kind must be a word"},
		{"x", CreateOptions{TTL: -1}, "may be valid for 1m0s to 3660 days"},
		{"x", CreateOptions{TTL: time.Second}, "may be valid for 1m0s to 3660 days, not 1s"},
		{"x", CreateOptions{TTL: MaxTTL + 1}, "may be valid for"},
		{"x", CreateOptions{Origin: "null"}, "the origin must be a scheme and a host"},
		{"x", CreateOptions{Origin: "example.com"}, "the origin must be a scheme and a host"},
		{"x", CreateOptions{Origin: "https://example.com/"}, "the origin must be a scheme and a host"},
		{"x", CreateOptions{Origin: "https://user@example.com"}, "the origin must be a scheme and a host"},
		{"x", CreateOptions{Origin: "https://example.com?x"}, "the origin must be a scheme and a host"},
		{"x", CreateOptions{Origin: "https://exämple.com"}, "the origin must be a scheme and a host"},
		{"x", CreateOptions{Origin: "https://" + strings.Repeat("x", MaxOriginBytes)}, "the origin must be a scheme and a host"},
		{"x", CreateOptions{Origin: "file:///"}, "the origin must be a scheme and a host"},
	}
	for _, test := range tests {
		secret, e, err := s.Create(test.name, test.options)
		if err == nil || !strings.Contains(err.Error(), test.want) || !secret.IsZero() || e != (Entry{}) {
			t.Errorf("%.20q %+v: %v, want an error that says %q and no token", test.name, test.options, err, test.want)
		}
	}
	if _, err := os.Stat(s.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused token leaves a file: %v", err)
	}
}

func TestOrigins(t *testing.T) {
	tests := []struct {
		pinned, origin string
		want           bool
	}{
		{"", "", true},
		{"", "https://anywhere", true},
		{"chrome-extension://abc", "chrome-extension://abc", true},
		{"chrome-extension://abc", "Chrome-Extension://ABC", true},
		{"chrome-extension://abc", "", false},
		{"chrome-extension://abc", "null", false},
		{"chrome-extension://abc", "chrome-extension://abcd", false},
		{"http://127.0.0.1:7350", "http://127.0.0.1:7351", false},
		{"http://127.0.0.1:7350", "https://127.0.0.1:7350", false},
	}
	for _, test := range tests {
		if got := (Entry{Origin: test.pinned}).AllowsOrigin(test.origin); got != test.want {
			t.Errorf("pinned to %q, from %q: %v, want %v", test.pinned, test.origin, got, test.want)
		}
	}
}

func TestAFullList(t *testing.T) {
	c := &clock{at: start}
	s := open(t, Options{Now: c.now})
	var records []record
	for i := range MaxTokens {
		records = append(records, record{hash: hash{byte(i), byte(i >> 8), 1}, Entry: Entry{
			ID: fmt.Sprintf("aaaaaa%c%c", 'a'+i/16, 'a'+i%16), Name: "x", Kind: Agent, Created: start, Expires: start.Add(time.Duration(i+1) * time.Hour),
		}})
	}
	if err := s.change(0, func([]record) ([]record, error) { return records, nil }); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Create("one more", CreateOptions{}); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "the limit is 256; revoke one") {
		t.Errorf("one more: %v, want %v with a way out", err, ErrFull)
	}
	c.move(2 * time.Hour)
	secret, _ := create(t, s, "in the place of two that expired", CreateOptions{})
	if got := list(t, s); len(got) != MaxTokens-1 || !valid(s, secret) {
		t.Errorf("%d tokens, want the two that expired gone and the new one valid", len(got))
	}
}

// TestUsesAreNotedNowAndThen counts the writes of many uses.
func TestUsesAreNotedNowAndThen(t *testing.T) {
	c := &clock{at: start}
	s := open(t, Options{Now: c.now})
	secret, e := create(t, s, "busy", CreateOptions{})
	writes := 0
	s.step = func(name string) {
		if name == "renamed" {
			writes++
		}
	}
	for range 500 { // every minute
		if !valid(s, secret) {
			t.Fatal("not valid")
		}
		c.move(time.Minute)
	}
	if writes != 9 { // at minutes 0, 60, … 480
		t.Errorf("%d writes for 500 uses in 500 minutes, want 9", writes)
	}
	if got := list(t, s)[0].LastUsed; got != start.Add(480*time.Minute) {
		t.Errorf("last used %s, want 480 minutes after the start", got)
	}
	// Where the use can't be noted, the token still works, and it isn't tried again at once.
	c.move(time.Hour)
	held := open(t, Options{Path: s.Path(), Now: c.now})
	unlock, err := held.lock(0)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := s.Verify(secret.Reveal()); !ok || got.ID != e.ID || writes != 9 {
		t.Errorf("valid %v with %d writes while the file is locked", ok, writes)
	}
	unlock()
	if valid(s, secret); writes != 9 {
		t.Error("it was tried again at once")
	}
	c.move(useRetry)
	if valid(s, secret); writes != 10 {
		t.Error("it was never tried again")
	}
}

func TestALockedFile(t *testing.T) {
	s := open(t, Options{LockTimeout: 30 * time.Millisecond})
	_, e := create(t, s, "x", CreateOptions{})
	other := open(t, Options{Path: s.Path()})
	unlock, err := other.lock(0)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Create("y", CreateOptions{})
	for what, err := range map[string]error{"create": err, "revoke": s.Revoke(e.ID)} {
		if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "30ms") {
			t.Errorf("%s: %v, want %v", what, err, ErrBusy)
		}
	}
	if len(list(t, s)) != 1 {
		t.Error("reading needs the lock")
	}
	// A change waits for the lock to be let go.
	s.lockTimeout = time.Minute
	waiting := make(chan error)
	go func() { waiting <- s.Revoke(e.ID) }()
	unlock()
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}

// TestNothingPrintsHashes prints all that a store gives, with errors and logs of
// files that were tampered with.
func TestNothingPrintsHashes(t *testing.T) {
	var out bytes.Buffer
	s := open(t, Options{Logger: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	secret, e := create(t, s, "x", CreateOptions{})
	got, _ := s.Verify(secret.Reveal())
	printed, err := json.Marshal([]any{e, got, list(t, s)})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "%s %+v %#v %+v", printed, e, got, list(t, s))
	data, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	sum := digest(secret.Reveal())
	text := hex.EncodeToString(sum[:])
	if !bytes.Contains(data, []byte(text)) || bytes.Contains(data, []byte(secret.Reveal()[len(Prefix):])) {
		t.Error("the file holds the secret, or not its hash")
	}
	for i := range len(data) {
		damaged := bytes.Clone(data)
		damaged[i] ^= 0x15
		if err := os.WriteFile(s.Path(), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.List()
		fmt.Fprintln(&out, err, s.Revoke("abcdefg2"))
	}
	for _, secretText := range []string{text[:16], text[48:], strings.ToUpper(text)[:16], secret.Reveal()[len(Prefix):]} {
		if bytes.Contains(out.Bytes(), []byte(secretText)) {
			t.Errorf("%s was printed", secretText)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	s := open(b, Options{})
	var secrets []Secret
	for i := range 20 {
		secret, _ := create(b, s, fmt.Sprint(i), CreateOptions{})
		secrets = append(secrets, secret)
		valid(s, secret)
	}
	old := time.Now().Add(-time.Hour) // so that the file isn't read each time
	if err := os.Chtimes(s.Path(), old, old); err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"the first": secrets[0].Reveal(), "the last": secrets[19].Reveal(), "none": Generate().Reveal()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Verify(text)
			}
		})
	}
	now := time.Now()
	if err := os.Chtimes(s.Path(), now, now); err != nil {
		b.Fatal(err)
	}
	b.Run("just after a change", func(b *testing.B) {
		for range b.N {
			if err := os.Chtimes(s.Path(), now, time.Now()); err != nil {
				b.Fatal(err)
			}
			s.Verify(secrets[0].Reveal())
		}
	})
}
