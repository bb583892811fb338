package jsonvalue_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolplane/toolplane/host/jsonvalue"
)

// FuzzCheck compares Check with encoding/json, whose grammar is the same but
// for the extra refusals of this package.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `null`, `[1,2.5e3,-0.0,1e400]`, `{"a":{"b":[1]},"a":2}`, `"\ud83d\ude00"`, `"\ud800"`, "\"\xff\"",
		`[NaN]`, `{"a":1}}`, `1 2`, "\ufeff{}", strings.Repeat("[", 600), nested(513), strings.Repeat("8", 4301), `"\\\""`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		err := jsonvalue.Check(text)
		if !bytes.Equal(before, text) {
			t.Fatal("Check changed the text")
		}
		// Must not panic, whatever the text.
		_, _ = jsonvalue.Members(text)

		if err == nil {
			if !json.Valid(text) || !utf8.Valid(text) {
				t.Fatalf("accepted %q, which isn't JSON in UTF-8", text)
			}
			wrapped := append(append([]byte(`{"x":0,"value":`), text...), '}')
			members, err := jsonvalue.Members(wrapped)
			if err != nil || len(members) != 2 || !bytes.Equal(members[1].Value, bytes.TrimSpace(text)) {
				t.Fatalf("Members(%q) = %q, %v", wrapped, members, err)
			}
			return
		}
		var e *jsonvalue.Error
		if !errors.As(err, &e) {
			t.Fatalf("%T isn't a *jsonvalue.Error", err)
		}
		if !strings.HasPrefix(e.Path, "value") || e.Offset < 0 || e.Offset > int64(len(text)) ||
			len(e.Error()) > 4000 || !utf8.ValidString(e.Error()) {
			t.Fatalf("%q: bad error %+v", text, e)
		}
		if strings.Contains(e.Problem, "isn't acceptable JSON") {
			t.Fatalf("%q: refused without a reason", text)
		}
		// A refusal of valid JSON must be one of the documented extras.
		if json.Valid(text) && utf8.Valid(text) {
			for _, reason := range []string{"lone surrogate", "deeper than", "out of range", "digits"} {
				if strings.Contains(e.Problem, reason) {
					return
				}
			}
			t.Fatalf("%q is valid, but refused: %v", text, e)
		}
	})
}
