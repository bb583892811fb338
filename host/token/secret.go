package token

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

const (
	// Prefix begins the text of each token that is made here, so that people and
	// scanners for leaked secrets know one when they see it.
	Prefix = "tp_"

	secretBytes = 32 // of randomness
	redacted    = Prefix + "[redacted]"

	// Bounds of a secret that comes from elsewhere.
	minSecretBytes = 32
	maxSecretBytes = 512
)

// Secret is the text of a token. Whatever prints, logs or encodes it gets a
// placeholder; only [Secret.Reveal] returns the text. The zero value is no token
// and matches nothing.
type Secret struct {
	// A pointer, because fmt prints the unexported fields of a struct that holds a
	// Secret without asking the Secret; of a pointer there it prints the address.
	text *string
}

// Generate makes a secret of 256 random bits that no store knows: for a process
// that hands it to another one itself.
func Generate() Secret {
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // never fails: it ends the process where there is no randomness
	text := Prefix + base64.RawURLEncoding.EncodeToString(random)
	return Secret{&text}
}

// Wrap makes a secret of a text that was configured, such as an environment
// variable. It must have 32 to 512 characters, all of them printable ASCII without
// spaces. The error doesn't repeat the text.
func Wrap(text string) (Secret, error) {
	if len(text) < minSecretBytes || len(text) > maxSecretBytes {
		return Secret{}, fmt.Errorf("a token must have %d to %d characters, this one has %d; make one with: toolplane token new",
			minSecretBytes, maxSecretBytes, len(text))
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return Secret{}, errors.New("a token must be printable ASCII without spaces; make one with: toolplane token new")
		}
	}
	return Secret{&text}, nil
}

// Reveal returns the text itself, to be shown once to whom it is for.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero tells whether there is no token.
func (s Secret) IsZero() bool { return s.text == nil }

// Matches tells whether a presented text is this secret, in a time that doesn't
// depend on where they differ.
func (s Secret) Matches(presented string) bool {
	a, b := digest(s.Reveal()), digest(presented)
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && !s.IsZero()
}

// String returns a placeholder.
func (s Secret) String() string { return redacted }

// Format writes the placeholder for every verb: %d and %x would print the fields.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue returns a placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns a placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON returns a placeholder.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

type hash [sha256.Size]byte

// digest hashes what was presented. What is longer than any secret isn't read.
func digest(text string) hash {
	if len(text) > maxSecretBytes {
		text = ""
	}
	return sha256.Sum256([]byte(text))
}
