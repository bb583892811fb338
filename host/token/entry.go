package token

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Kind says what uses a token. The store keeps any short word; these are
// Toolplane's.
type Kind string

// The kinds that Toolplane knows.
const (
	Agent     Kind = "agent"     // an MCP client
	Person    Kind = "person"    // someone at the console
	Extension Kind = "extension" // a paired browser extension
)

// Bounds of what is kept of a token.
const (
	MaxNameRunes   = 64
	MaxKindBytes   = 32
	MaxOriginBytes = 256
	MinTTL         = time.Minute
	MaxTTL         = 10 * 366 * 24 * time.Hour
)

// Entry is what is known of a token. It holds neither the token nor its hash and
// can be shown and logged.
type Entry struct {
	ID      string    `json:"id"`   // short and public: how people name it to revoke it
	Name    string    `json:"name"` // whatever its maker called it; needn't be unique
	Kind    Kind      `json:"kind"`
	Created time.Time `json:"created"`
	// LastUsed is exact to about an hour, and zero until the first use.
	LastUsed time.Time `json:"last_used,omitzero"`
	// Expires is zero where it never does.
	Expires time.Time `json:"expires,omitzero"`
	// Origin is the only web origin that may use it; "" means that none is pinned.
	Origin string `json:"origin,omitempty"`
}

// Expired tells whether the token has run out at a time.
func (e Entry) Expired(now time.Time) bool { return !e.Expires.IsZero() && !now.Before(e.Expires) }

// AllowsOrigin tells whether a request with this Origin header may use the token.
// Where one is pinned, a request without any may not.
func (e Entry) AllowsOrigin(origin string) bool {
	return e.Origin == "" || strings.EqualFold(e.Origin, origin)
}

// CreateOptions say more about a new token. All of them may be left out.
type CreateOptions struct {
	Kind   Kind          // default Agent
	TTL    time.Duration // 0 means that it never expires
	Origin string        // such as chrome-extension://abcdefghijklmnopabcdefghijklmnop
}

func newEntry(name string, o CreateOptions, now time.Time) (Entry, error) {
	e := Entry{Name: name, Kind: o.Kind, Created: now.UTC().Truncate(time.Second), Origin: strings.ToLower(o.Origin)}
	if e.Kind == "" {
		e.Kind = Agent
	}
	switch {
	case o.TTL == 0:
	case o.TTL < MinTTL || o.TTL > MaxTTL:
		return Entry{}, fmt.Errorf("a token may be valid for %s to %d days, not %s; leave it out for one that doesn't expire",
			MinTTL, MaxTTL/(24*time.Hour), o.TTL)
	default:
		e.Expires = e.Created.Add(o.TTL).Truncate(time.Second)
	}
	return e, e.check()
}

// check holds what was given, or read from the file, to the bounds.
func (e Entry) check() error {
	switch {
	case e.Name == "" || utf8.RuneCountInString(e.Name) > MaxNameRunes || !printable(e.Name):
		return fmt.Errorf("the name must have 1 to %d printable characters, and no space at its ends", MaxNameRunes)
	case e.Kind == "" || len(e.Kind) > MaxKindBytes || strings.ContainsFunc(string(e.Kind), func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') }):
		return fmt.Errorf("the kind must be a word of at most %d lower-case letters, such as %s", MaxKindBytes, Agent)
	case e.Created.IsZero():
		return fmt.Errorf("it lacks the time at which it was created")
	case e.Origin != "":
		return checkOrigin(e.Origin)
	}
	return nil
}

func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	switch {
	case err != nil, len(origin) > MaxOriginBytes, u.Scheme == "", u.Host == "", origin != strings.ToLower(u.Scheme+"://"+u.Host), !ascii(origin):
		return fmt.Errorf("the origin must be a scheme and a host without a path, at most %d bytes, such as chrome-extension://abcdefgh or http://127.0.0.1:7350",
			MaxOriginBytes)
	}
	return nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
