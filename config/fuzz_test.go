package config

import (
	"errors"
	"strings"
	"testing"
)

// FuzzLoad: whatever stands in a file, the answer is a configuration within its
// bounds, or problems that each say what and, where there's a key, on which line.
func FuzzLoad(f *testing.F) {
	f.Add(string(Sample()))
	f.Add("[server]\nlisten = 1\n[plugins.a]\nsource = 'x'\nenv = {A='b'}")
	f.Add("a.b.c = 1\n[a]\n")
	f.Add("plugins = [{source='x'}]\nserver.listen.x = ''\n\"\" = {}")
	f.Add("[[plugins]]\n[plugins.x]\n")
	f.Fuzz(func(t *testing.T, text string) {
		// The parser takes time quadratic in the depth of inline tables.
		if len(text) > 4096 {
			return
		}
		c, doc, err := decodeFile("f.toml", []byte(text))
		if err == nil {
			if err := c.Validate(); err != nil {
				t.Fatalf("accepted, but %v", err)
			}
			for _, row := range Describe(c, Found{doc: doc}) {
				if row.Value == "" {
					t.Fatalf("%s.%s has no value", row.Table, row.Key)
				}
			}
			return
		}
		var problems Problems
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("an error that isn't Problems: %v", err)
		}
		lines := 1 + strings.Count(text, "\n")
		for _, p := range problems {
			if p.Text == "" || p.Line > lines {
				t.Fatalf("problem %+v in a text of %d lines", p, lines)
			}
		}
	})
}

func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"8 MiB", "1.5kb", "", "9999999999999999999 GiB", "1.. B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseBytes(s)
		if err != nil {
			return
		}
		if n < 0 {
			t.Fatalf("%q is %d", s, n)
		}
		if back, err := ParseBytes(n.String()); err != nil || back != n {
			t.Fatalf("%q is %d, written %q, read %d, %v", s, n, n, back, err)
		}
	})
}
