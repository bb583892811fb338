package result_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/result"
)

// text is a JSON string whose text has n bytes.
func text(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }

func mustFold(t *testing.T, s *result.Store, o result.Owner, value string) result.Entry {
	t.Helper()
	e, err := s.SaveFold(o, json.RawMessage(value))
	if err != nil {
		t.Fatalf("SaveFold: %v", err)
	}
	return e
}

func has(s *result.Store, o result.Owner, e result.Entry) bool {
	_, err := s.Load(o, e.Handle)
	return err == nil
}

func TestOldestFoldGoes(t *testing.T) {
	for name, o := range map[string]result.Options{
		"by number": {MaxFolds: 3},
		"by bytes":  {MaxFoldBytes: 30},
	} {
		t.Run(name, func(t *testing.T) {
			s := result.New(o)
			saved := mustSave(t, s, alice, "", text(10))
			var folds []result.Entry
			for range 3 {
				folds = append(folds, mustFold(t, s, alice, text(10)))
			}
			foreign := mustFold(t, s, otherScope, text(10))
			fourth := mustFold(t, s, bob, text(10)) // the same scope
			for e, want := range map[result.Entry]bool{saved: true, folds[0]: false, folds[1]: true, folds[2]: true} {
				if has(s, alice, e) != want {
					t.Errorf("%+v is there: %v", e, !want)
				}
			}
			if !has(s, bob, fourth) || !has(s, otherScope, foreign) || !fourth.Fold || saved.Fold {
				t.Error("the new fold or that of another scope is gone")
			}
		})
	}
}

func TestFoldsAndSavesHaveBudgetsOfTheirOwn(t *testing.T) {
	s := result.New(result.Options{MaxEntries: 1, MaxTotalBytes: 10, MaxEntryBytes: 10, MaxFolds: 1, MaxFoldBytes: 20})
	mustSave(t, s, alice, "", text(10))
	e := mustFold(t, s, alice, text(20)) // larger than one saved value may be
	_, err := s.Save(alice, "", json.RawMessage("1"))
	_ = wantCode(t, err, result.CodeTooMany)
	refusal := wantCode(t, func() error { _, err := s.SaveFold(alice, json.RawMessage(text(21))); return err }(), result.CodeFoldTooLarge)
	if !strings.Contains(refusal.Message, "21 bytes") || !strings.Contains(refusal.Message, "20 bytes") {
		t.Error(refusal.Message)
	}
	if !has(s, alice, e) {
		t.Error("a fold that was refused took another one's place")
	}
	if got := s.Stats(); got != (result.Stats{Scopes: 1, Entries: 2, Bytes: 30}) {
		t.Errorf("%+v", got)
	}
}

func TestSavesComeBeforeFoldsWhereTheProcessIsFull(t *testing.T) {
	s := result.New(result.Options{MaxProcessBytes: 30})
	first := mustFold(t, s, alice, text(10))
	second := mustFold(t, s, otherScope, text(10))
	third := mustFold(t, s, alice, text(10))
	saved := mustSave(t, s, otherScope, "", text(15))
	if has(s, alice, first) || has(s, otherScope, second) || !has(s, alice, third) || !has(s, otherScope, saved) {
		t.Error("not the two oldest folds went")
	}
	fourth := mustFold(t, s, alice, text(11))
	if has(s, alice, third) || !has(s, alice, fourth) {
		t.Error("the fold before the new one didn't make room")
	}
	before := s.Stats()
	_, err := s.SaveFold(alice, json.RawMessage(text(16)))
	_ = wantCode(t, err, result.CodeStoreFull)
	_, err = s.Save(alice, "", json.RawMessage(text(16)))
	_ = wantCode(t, err, result.CodeStoreFull)
	if after := s.Stats(); after != before {
		t.Errorf("what was refused changed the store: %+v, was %+v", after, before)
	}
}

func TestFoldsExpireAndEndWithTheirScope(t *testing.T) {
	c := newClock()
	s := result.New(result.Options{TTL: time.Minute, Now: c.Now})
	e := mustFold(t, s, alice, "1")
	if !e.Expires.Equal(c.now.Add(time.Minute)) {
		t.Errorf("%+v", e)
	}
	c.now = c.now.Add(time.Minute)
	if has(s, alice, e) {
		t.Error("it outlived its time")
	}
	e = mustFold(t, s, alice, "1")
	if has(s, bob, e) || has(s, otherScope, e) {
		t.Error("somebody else reads it")
	}
	s.DropScope("one")
	if got := s.Stats(); has(s, alice, e) || got != (result.Stats{}) {
		t.Errorf("it outlived its scope: %+v", got)
	}
	s.Close()
	_, err := s.SaveFold(alice, json.RawMessage("1"))
	_ = wantCode(t, err, result.CodeClosed)
	_, err = s.SaveFold(alice, nil)
	_ = wantCode(t, err, result.CodeEmptyValue)
}

func TestView(t *testing.T) {
	s := result.New(result.Options{})
	for _, e := range []result.Entry{mustSave(t, s, alice, "label", "[1]"), mustFold(t, s, alice, "[1]")} {
		value, entry, err := s.View(alice, e.Handle)
		if err != nil || string(value) != "[1]" || entry != e {
			t.Errorf("%s %+v %v", value, entry, err)
		}
		again, _, _ := s.View(alice, e.Handle)
		if &again[0] != &value[0] {
			t.Error("View copies")
		}
		_, _, err = s.View(bob, e.Handle)
		_ = wantCode(t, err, result.CodeNotFound)
	}
}

// TestHammerFolds has scopes fold and save at once in a process that is too small
// for them, and holds the books to what is there.
func TestHammerFolds(t *testing.T) {
	s := result.New(result.Options{MaxEntries: 4, MaxTotalBytes: 400, MaxEntryBytes: 100, MaxFolds: 4, MaxFoldBytes: 400, MaxProcessBytes: 2000})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			o := result.Owner{Scope: fmt.Sprint(i % 8)}
			for j := range 300 {
				_, _ = s.SaveFold(o, json.RawMessage(text(2+j%99)))
				if j%3 == 0 {
					_, _ = s.Save(o, "", json.RawMessage(text(2+j%99)))
				}
				if j%50 == 49 {
					s.DropScope(o.Scope)
				}
				if st := s.Stats(); st.Bytes > 2000 || st.Entries > 8*8 {
					t.Errorf("over the limits: %+v", st)
				}
			}
		})
	}
	wg.Wait()
	bytes, entries := int64(0), 0
	for i := range 8 {
		for _, e := range s.List(result.Owner{Scope: fmt.Sprint(i)}) {
			bytes += e.Bytes
			entries++
		}
	}
	if st := s.Stats(); st.Bytes != bytes || st.Entries != entries {
		t.Errorf("the books say %+v, but there are %d of %d bytes", st, entries, bytes)
	}
}
