package token

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
)

func TestSecretsAreRandomAndLong(t *testing.T) {
	form := regexp.MustCompile(`^tp_[A-Za-z0-9_-]{43}$`)
	seen := map[string]bool{}
	for range 1000 {
		text := Generate().Reveal()
		if !form.MatchString(text) || seen[text] {
			t.Fatalf("made %q, which isn't new or not of the form %v", text, form)
		}
		seen[text] = true
	}
}

// TestSecretsPrintAsPlaceholders prints one in all the ways there are.
func TestSecretsPrintAsPlaceholders(t *testing.T) {
	secret := Generate()
	type exported struct{ S Secret }
	type hidden struct{ s Secret }
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%t", "%T"} {
		for _, value := range []any{secret, &secret, exported{secret}, hidden{secret}, &hidden{secret}, []Secret{secret}, map[string]Secret{"x": secret}, struct{ any }{secret}} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
	}
	fmt.Fprintln(&out, secret, fmt.Errorf("bad %w %v", fmt.Errorf("%v", secret), secret))
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		log := slog.New(handler)
		log.Info("used", "secret", secret, "in", exported{secret}, "hidden", hidden{secret}, "list", []Secret{secret})
	}
	for _, value := range []any{secret, &secret, exported{secret}, hidden{secret}, map[string]any{"x": secret}} {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data)
	}
	text := secret.Reveal()
	list := []byte(text)[3:9]
	for _, form := range []string{text, text[len(Prefix):], fmt.Sprintf("%x", text), fmt.Sprintf("%X", text), fmt.Sprintf("%d", list)} {
		if i := strings.Index(out.String(), strings.Trim(form, "[]")); i >= 0 {
			t.Errorf("the secret stands in: …%s…", out.String()[max(0, i-60):i])
		}
	}
	if !strings.Contains(out.String(), redacted) {
		t.Error("nothing was printed")
	}
}

func TestMatches(t *testing.T) {
	secret := Generate()
	tests := map[string]bool{
		secret.Reveal():                          true,
		secret.Reveal() + " ":                    false,
		secret.Reveal()[:45]:                     false,
		strings.ToLower(secret.Reveal()):         false,
		"":                                       false,
		redacted:                                 false,
		strings.Repeat(secret.Reveal(), 100_000): false,
	}
	for text, want := range tests {
		if got := secret.Matches(text); got != want {
			t.Errorf("matches %.60q: %v, want %v", text, got, want)
		}
	}
	var none Secret
	if none.Matches("") || !none.IsZero() || none.Reveal() != "" || none.Matches(strings.Repeat("x", maxSecretBytes+1)) {
		t.Error("no secret matches something")
	}
}

func TestWrap(t *testing.T) {
	good := strings.Repeat("k", minSecretBytes)
	for text, ok := range map[string]bool{
		good:                                  true,
		strings.Repeat("k", maxSecretBytes):   true,
		good[1:]:                              false,
		strings.Repeat("k", maxSecretBytes+1): false,
		good + " ":                            false,
		good + "ü":                            false,
		good + "\n":                           false,
		"":                                    false,
	} {
		secret, err := Wrap(text)
		if (err == nil) != ok || ok && !secret.Matches(text) {
			t.Errorf("wrap %d bytes: error %v, want one: %v", len(text), err, !ok)
		}
		if err != nil && len(text) > 2 && strings.Contains(err.Error(), text) {
			t.Errorf("the error repeats the secret: %v", err)
		}
	}
}
