package result_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/result"
)

var (
	alice      = result.Owner{Scope: "one", Subject: "alice"}
	bob        = result.Owner{Scope: "one", Subject: "bob"}
	otherScope = result.Owner{Scope: "two", Subject: "alice"}
)

// clock is a time that stands still until it is moved.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

func mustSave(t *testing.T, s *result.Store, o result.Owner, label, value string) result.Entry {
	t.Helper()
	e, err := s.Save(o, label, json.RawMessage(value))
	if err != nil {
		t.Fatalf("Save: %v", err)
	}
	return e
}

func wantCode(t *testing.T, err error, code string) *result.Error {
	t.Helper()
	var e *result.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %#v, want code %s", err, code)
	}
	return e
}

func TestSaveAndLoad(t *testing.T) {
	c := newClock()
	s := result.New(result.Options{TTL: time.Minute, Now: c.Now})
	const text = ` {"id": 9007199254740993, "x": [1.0, -0.0]} `
	e := mustSave(t, s, alice, "größe", text)
	if e.Label != "größe" || e.Bytes != int64(len(text)+len("größe")) ||
		!e.Created.Equal(c.now) || !e.Expires.Equal(c.now.Add(time.Minute)) {
		t.Errorf("wrong description: %+v", e)
	}
	for range 2 {
		got, err := s.Load(alice, e.Handle)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != text {
			t.Errorf("got %s, want the text as saved", got)
		}
	}
}

func TestHandles(t *testing.T) {
	s := result.New(result.Options{MaxEntries: 1000})
	form := regexp.MustCompile(`^res_[A-Za-z0-9_-]{22,64}$`) // 22 characters of base64 are 128 bits
	seen := map[string]bool{}
	for range 1000 {
		h := mustSave(t, s, alice, "", "1").Handle
		if !form.MatchString(h) || url.PathEscape(h) != h {
			t.Fatalf("handle %q doesn't have the form %s", h, form)
		}
		if seen[h] {
			t.Fatalf("handle %q was given twice", h)
		}
		seen[h] = true
	}
}

// What is refused must look alike, or a handle could be probed for.
func TestMissesAreIndistinguishable(t *testing.T) {
	c := newClock()
	s := result.New(result.Options{TTL: time.Minute, Now: c.Now})
	expired := mustSave(t, s, alice, "", "1").Handle
	c.now = c.now.Add(time.Minute)
	foreign := mustSave(t, s, otherScope, "", "1").Handle
	colleague := mustSave(t, s, bob, "", "1").Handle

	var first *result.Error
	for name, handle := range map[string]string{
		"expired":         expired,
		"foreign scope":   foreign,
		"foreign subject": colleague,
		"unknown":         "res_AAAAAAAAAAAAAAAAAAAAAAAAAA",
		"malformed":       "../../etc/passwd",
		"empty":           "",
	} {
		_, err := s.Load(alice, handle)
		e := wantCode(t, err, result.CodeNotFound)
		if handle != "" && strings.Contains(e.Message, handle) {
			t.Errorf("%s: the message repeats the handle", name)
		}
		if !strings.Contains(e.Message, "save the value again") {
			t.Errorf("%s: the message names no way out: %s", name, e.Message)
		}
		if first == nil {
			first = e
		} else if *first != *e {
			t.Errorf("%s: %+v differs from %+v", name, e, first)
		}
	}
	// And the owners still read theirs.
	for o, h := range map[result.Owner]string{otherScope: foreign, bob: colleague} {
		if _, err := s.Load(o, h); err != nil {
			t.Errorf("the owner can't load: %v", err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		options result.Options
		before  []string // values saved first
		label   string
		value   string
		code    string
		says    []string // limit and way out
	}{
		"empty":                  {value: "", code: result.CodeEmptyValue, says: []string{"one JSON value"}},
		"value too large":        {options: result.Options{MaxEntryBytes: 10}, value: `"0123456789"`, code: result.CodeEntryTooLarge, says: []string{"12 bytes", "10 bytes", "smaller projection"}},
		"label counts":           {options: result.Options{MaxEntryBytes: 10}, label: "12345", value: `"1234"`, code: result.CodeEntryTooLarge, says: []string{"11 bytes", "10 bytes"}},
		"larger than the total":  {options: result.Options{MaxEntryBytes: 100, MaxTotalBytes: 10}, value: `"0123456789"`, code: result.CodeEntryTooLarge, says: []string{"10 bytes"}},
		"too many":               {options: result.Options{MaxEntries: 2}, before: []string{"1", "2"}, value: "3", code: result.CodeTooMany, says: []string{"2 values", "reuse an existing handle", "1h"}},
		"scope full":             {options: result.Options{MaxTotalBytes: 10}, before: []string{"12345", "12345"}, value: "3", code: result.CodeScopeFull, says: []string{"10 bytes", "smaller projection", "existing handle"}},
		"store full":             {options: result.Options{MaxProcessBytes: 10}, before: []string{"12345", "12345"}, value: "3", code: result.CodeStoreFull, says: []string{"10 bytes", "smaller projection"}},
		"label too long":         {label: strings.Repeat("é", 101), value: "1", code: result.CodeBadLabel, says: []string{"202 bytes", "200", "short label"}},
		"label with newline":     {label: "a\nb", value: "1", code: result.CodeBadLabel, says: []string{"U+000A", "one line"}},
		"label with NUL":         {label: "a\x00", value: "1", code: result.CodeBadLabel, says: []string{"U+0000"}},
		"label with C1":          {label: "a\u0085", value: "1", code: result.CodeBadLabel, says: []string{"U+0085"}},
		"label with line sep":    {label: "a\u2028", value: "1", code: result.CodeBadLabel, says: []string{"U+2028"}},
		"label that turns text":  {label: "a\u202eb", value: "1", code: result.CodeBadLabel, says: []string{"U+202E"}},
		"label with broken UTF8": {label: "a\xff", value: "1", code: result.CodeBadLabel, says: []string{"UTF-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := result.New(tc.options)
			for _, v := range tc.before {
				mustSave(t, s, alice, "", v)
			}
			before := s.Stats()
			_, err := s.Save(alice, tc.label, json.RawMessage(tc.value))
			e := wantCode(t, err, tc.code)
			for _, s := range tc.says {
				if !strings.Contains(e.Message, s) {
					t.Errorf("message %q doesn't say %q", e.Message, s)
				}
			}
			if after := s.Stats(); after != before {
				t.Errorf("a refused save changed the store: %+v, was %+v", after, before)
			}
		})
	}
}

func TestAtTheLimit(t *testing.T) {
	s := result.New(result.Options{MaxEntries: 2, MaxEntryBytes: 10, MaxTotalBytes: 20})
	mustSave(t, s, alice, "12345", "12345")
	mustSave(t, s, bob, "", `"12345678"`) // subjects share their scope's limits
	if _, err := s.Save(alice, "", json.RawMessage("1")); err == nil {
		t.Error("a third value fits into 2")
	}
	// Another scope has limits of its own.
	mustSave(t, s, otherScope, "", `"12345678"`)
	mustSave(t, s, otherScope, "😀\u200dé", "1")
}

func TestExpiryMakesRoom(t *testing.T) {
	c := newClock()
	s := result.New(result.Options{MaxEntries: 1, MaxTotalBytes: 10, MaxProcessBytes: 10, TTL: time.Minute, Now: c.Now})
	e := mustSave(t, s, alice, "", "1234567890")

	c.now = c.now.Add(time.Minute - 1)
	if _, err := s.Load(alice, e.Handle); err != nil {
		t.Errorf("expired a nanosecond early: %v", err)
	}
	_, err := s.Save(alice, "", json.RawMessage("2"))
	_ = wantCode(t, err, result.CodeTooMany)

	c.now = c.now.Add(1) // reading it a nanosecond ago hasn't prolonged it
	_, err = s.Load(alice, e.Handle)
	_ = wantCode(t, err, result.CodeNotFound)
	if got := s.Stats(); got != (result.Stats{}) {
		t.Errorf("an expired value still counts: %+v", got)
	}
	mustSave(t, s, alice, "", "1234567890")
}

func TestCopies(t *testing.T) {
	s := result.New(result.Options{})
	value := json.RawMessage(`[1,2,3]`)
	e, err := s.Save(alice, "", value)
	if err != nil {
		t.Fatal(err)
	}
	value[1] = '9'
	first, err := s.Load(alice, e.Handle)
	if err != nil {
		t.Fatal(err)
	}
	first[3] = '9'
	second, err := s.Load(alice, e.Handle)
	if err != nil {
		t.Fatal(err)
	}
	if string(second) != `[1,2,3]` {
		t.Errorf("the saved value became %s", second)
	}
}

func TestListAndDropScope(t *testing.T) {
	c := newClock()
	s := result.New(result.Options{Now: c.Now})
	for _, label := range []string{"first", "second", "third"} {
		mustSave(t, s, alice, label, "1")
	}
	mustSave(t, s, bob, "bob's", "1")
	kept := mustSave(t, s, otherScope, "kept", "1")

	var labels []string
	for _, e := range s.List(alice) {
		labels = append(labels, e.Label)
	}
	if got := strings.Join(labels, " "); got != "first second third" {
		t.Errorf("List: %s", got)
	}

	s.DropScope("one")
	s.DropScope("never seen")
	if n := len(s.List(alice)) + len(s.List(bob)); n != 0 {
		t.Errorf("%d values outlived their scope", n)
	}
	if _, err := s.Load(otherScope, kept.Handle); err != nil {
		t.Errorf("another scope's value went, too: %v", err)
	}
	if got := s.Stats(); got != (result.Stats{Scopes: 1, Entries: 1, Bytes: kept.Bytes}) {
		t.Errorf("stats %+v", got)
	}
}

func TestClose(t *testing.T) {
	s := result.New(result.Options{})
	e := mustSave(t, s, alice, "", "1")
	s.Close()
	s.Close()
	_, err := s.Load(alice, e.Handle)
	_ = wantCode(t, err, result.CodeNotFound)
	_, err = s.Save(alice, "", json.RawMessage("1"))
	_ = wantCode(t, err, result.CodeClosed)
	s.DropScope("one")
	if got := s.Stats(); got != (result.Stats{}) {
		t.Errorf("stats %+v", got)
	}
}
