package token

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

var sums = []string{strings.Repeat("0a", 32), strings.Repeat("1B", 32)}

const anID = "abcdefg2"

// entryText is the text of a record, with members changed: a value of "" leaves it out.
func entryText(changes ...string) string {
	members := []string{
		"id", `"` + anID + `"`, "name", `"laptop"`, "kind", `"agent"`, "created", `"2026-01-31T09:00:00Z"`, "sha256", `"` + sums[0] + `"`,
	}
	for i := 0; i < len(changes); i += 2 {
		found := false
		for j := 0; j < len(members); j += 2 {
			if members[j] == changes[i] {
				members[j+1], found = changes[i+1], true
			}
		}
		if !found {
			members = append(members, changes[i], changes[i+1])
		}
	}
	var parts []string
	for i := 0; i < len(members); i += 2 {
		if members[i+1] != "" {
			parts = append(parts, fmt.Sprintf("%q: %s", members[i], members[i+1]))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func fileText(entries ...string) string {
	return `{"version": 1, "tokens": [` + strings.Join(entries, ", ") + `]}`
}

func TestParse(t *testing.T) {
	second := entryText("id", `"abcdefg3"`, "sha256", `"`+sums[1]+`"`)
	tests := []struct {
		name, text string
		want       string // part of the error, "" for none
	}{
		{"none", fileText(), ""},
		{"one", fileText(entryText()), ""},
		{"two", fileText(entryText(), second), ""},
		{"everything", fileText(entryText("last_used", `"2026-02-01T10:00:00.5+02:00"`, "expires", `"2027-01-01T00:00:00Z"`, "origin", `"chrome-extension://abc"`)), ""},
		{"space around", " \n" + fileText(entryText()) + "\n\n", ""},
		{"another order of members", `{"tokens": [], "version": 1}`, ""},

		{"empty", "", "it is empty"},
		{"blank", " \n", "it is empty"},
		{"not JSON", "{\n\"version\": 1,\n tokens", "line 3 isn't JSON"},
		{"cut", fileText(entryText())[:60], "line 1 isn't JSON"},
		{"two texts", fileText() + fileText(), "or something follows its end"},
		{"not UTF-8", fileText(entryText("name", "\"\xff\"")), "isn't UTF-8"},
		{"too large", strings.Repeat(" ", MaxFileBytes) + fileText(), "more than the 524288 bytes"},
		{"a list", "[]", "it is no object"},
		{"null", "null", "it is no object"},
		{"no version", `{"tokens": []}`, "version is missing"},
		{"no tokens", `{"version": 1}`, "tokens is missing"},
		{"null tokens", `{"version": 1, "tokens": null}`, "tokens is missing or no list"},
		{"a later version", `{"version": 2, "tokens": [], "version2": 1}`, `"version2" isn't a member`},
		{"a later version, same members", `{"version": 2, "tokens": []}`, "version 2, this program reads 1"},
		{"a version that's a text", `{"version": "1", "tokens": []}`, "version is missing or no number"},
		{"a version that's near", `{"version": 1.0, "tokens": []}`, "version 1.0"},
		{"wrong case", `{"Version": 1, "tokens": []}`, `"Version" isn't a member`},
		{"twice", `{"version": 1, "tokens": [], "tokens": []}`, "tokens is given twice"},
		{"too many", fileText(strings.Split(strings.Repeat("{};", MaxTokens)+"{}", ";")...), "holds 257 tokens, the limit is 256"},

		{"an entry that's no object", fileText("1"), "tokens[0]: it is no object"},
		{"an unknown member", fileText(entryText(), entryText("scope", `"x"`)), `tokens[1]: "scope" isn't a member`},
		{"a member in another case", fileText(entryText("ID", `"x"`)), `"ID" isn't a member`},
		{"no id", fileText(entryText("id", "")), "id is missing"},
		{"a short id", fileText(entryText("id", `"abc"`)), "id isn't 8 letters"},
		{"an id of other letters", fileText(entryText("id", `"ABCDEFGH"`)), "id isn't 8 letters"},
		{"null id", fileText(entryText("id", "null")), "id is missing or no text"},
		{"a number for an id", fileText(entryText("id", "12345678")), "id is missing or no text"},
		{"no name", fileText(entryText("name", "")), "name is missing"},
		{"empty name", fileText(entryText("name", `""`)), "name must have 1 to 64"},
		{"long name", fileText(entryText("name", `"`+strings.Repeat("x", 65)+`"`)), "name must have 1 to 64"},
		{"a name with a line break", fileText(entryText("name", `"a\nb"`)), "name must have 1 to 64"},
		{"no kind", fileText(entryText("kind", "")), "kind is missing"},
		{"a kind of two words", fileText(entryText("kind", `"an agent"`)), "kind must be a word"},
		{"no hash", fileText(entryText("sha256", "")), "sha256 is missing"},
		{"a short hash", fileText(entryText("sha256", `"0a0a"`)), "sha256 isn't 64 hexadecimal"},
		{"a hash of other letters", fileText(entryText("sha256", `"`+strings.Repeat("zz", 32)+`"`)), "sha256 isn't 64 hexadecimal"},
		{"no time", fileText(entryText("created", "")), "created is missing"},
		{"a date", fileText(entryText("created", `"2026-01-31"`)), "created is missing or no time"},
		{"the zero time", fileText(entryText("created", `"0001-01-01T00:00:00Z"`)), "created is missing or no time"},
		{"a null expiry", fileText(entryText("expires", "null")), "expires is missing or no time"},
		{"an expiry that is a number", fileText(entryText("expires", "0")), "expires is missing or no time"},
		{"a broken last use", fileText(entryText("last_used", `"yesterday"`)), "last_used is missing or no time"},
		{"an empty origin", fileText(entryText("origin", `""`)), "origin is empty"},
		{"an origin with a path", fileText(entryText("origin", `"http://x/y"`)), "origin must be a scheme and a host"},
		{"one id twice", fileText(entryText(), entryText("sha256", `"`+sums[1]+`"`)), "tokens[1] has the id or the hash of tokens[0]"},
		{"one hash twice", fileText(entryText(), entryText("id", `"abcdefg3"`)), "tokens[1] has the id or the hash of tokens[0]"},
		{"a member twice", fileText(`{"id": "a", "id": "b"}`), "tokens[0]: id is given twice"},
	}
	for _, test := range tests {
		records, err := parse([]byte(test.text))
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: error %v, want one that says %q", test.name, err, test.want)
		case err == nil:
			again(t, records)
		}
		if err != nil && (strings.Contains(err.Error(), sums[0]) || strings.Contains(err.Error(), sums[1])) {
			t.Errorf("%s: the error repeats a hash: %v", test.name, err)
		}
	}
}

// again writes records and reads them back.
func again(t *testing.T, records []record) {
	t.Helper()
	data, err := encode(records)
	if err != nil {
		t.Fatal(err)
	}
	back, err := parse(data)
	if err != nil || !reflect.DeepEqual(back, records) {
		t.Fatalf("written and read back:\n%+v\nbecame (%v)\n%+v", records, err, back)
	}
}

// TestTheLargestFileFits: no list of MaxTokens tokens may be too large to be read.
func TestTheLargestFileFits(t *testing.T) {
	name := strings.Repeat("<", MaxNameRunes) // six bytes each in JSON
	at := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	records := make([]record, MaxTokens)
	for i := range records {
		records[i] = record{hash: hash{byte(i), byte(i >> 8)}, Entry: Entry{
			ID: fmt.Sprintf("aaaaaa%c%c", 'a'+i/16, 'a'+i%16), Name: name, Kind: Kind(strings.Repeat("k", MaxKindBytes)),
			Created: at, LastUsed: at, Expires: at, Origin: "http://" + strings.Repeat("o", MaxOriginBytes-7),
		}}
	}
	again(t, records)
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		fileText(), fileText(entryText()), fileText(entryText("last_used", `"2026-02-01T10:00:00.5+02:00"`, "origin", `"moz-extension://0-1"`)),
		fileText(entryText("name", `"\ud800"`)), `{"version":1,"tokens":[{}]}`, "[[[[", `{"version":1e0,"tokens":[]}`, "\xef\xbb\xbf{}",
	} {
		f.Add([]byte(text))
	}
	long := regexp.MustCompile(`[0-9A-Za-z]{40,}`)
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := parse(data)
		if err != nil {
			if records != nil {
				t.Fatal("an error and records")
			}
			if long.MatchString(err.Error()) {
				t.Fatalf("the error repeats much of the file: %v", err)
			}
			return
		}
		if len(records) > MaxTokens {
			t.Fatalf("%d records", len(records))
		}
		for _, r := range records {
			if err := r.check(); err != nil {
				t.Fatal(err)
			}
		}
		again(t, records)
	})
}
