package executor

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"sync"
)

// ticket admits one page, once. Only a digest of its token is kept, so that no
// memory of the hub holds what would open it.
type ticket struct {
	kind   Kind
	digest [sha256.Size]byte
	// admitted receives the page that used the ticket.
	admitted chan *page
}

// tickets are the tokens that the hub waits for. Safe for concurrent use.
type tickets struct {
	mu   sync.Mutex
	open map[*ticket]struct{}
}

// issue makes a ticket for one page of a kind, and the token that goes with it.
// The token is for that page alone: it belongs in no URL and in no log.
func (t *tickets) issue(kind Kind) (*ticket, string) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails, see crypto/rand
	token := base64.RawURLEncoding.EncodeToString(secret[:])
	tk := &ticket{kind: kind, digest: sha256.Sum256([]byte(token)), admitted: make(chan *page, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = make(map[*ticket]struct{})
	}
	t.open[tk] = struct{}{}
	return tk, token
}

// redeem uses up the ticket that token and kind open. The time it takes says
// nothing about how much of a token was right: digests are compared, each in
// constant time, and every one of them.
func (t *tickets) redeem(token string, kind Kind) (*ticket, bool) {
	digest := sha256.Sum256([]byte(token))
	t.mu.Lock()
	defer t.mu.Unlock()
	var found *ticket
	for tk := range t.open {
		if subtle.ConstantTimeCompare(tk.digest[:], digest[:]) == 1 {
			found = tk
		}
	}
	if found == nil || found.kind != kind {
		return nil, false
	}
	delete(t.open, found)
	return found, true
}

// revoke makes a ticket worthless. Revoking one that was used does nothing.
func (t *tickets) revoke(tk *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, tk)
}
