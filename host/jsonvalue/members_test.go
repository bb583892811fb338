package jsonvalue_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/jsonvalue"
)

func TestMembers(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string // name, text, name, text, …
	}{
		"empty":              {` { } `, nil},
		"scalars":            {`{"a":1,"b":"x","c":null,"d":true,"e":-0.0}`, []string{"a", `1`, "b", `"x"`, "c", `null`, "d", `true`, "e", `-0.0`}},
		"order is kept":      {`{"z":1,"a":2}`, []string{"z", `1`, "a", `2`}},
		"duplicates":         {`{"a":1,"a":[2]}`, []string{"a", `1`, "a", `[2]`}},
		"space":              {" {\n\t\"a\" :  1.0 , \"b\"\r: [ 1 , 2 ]\n} ", []string{"a", `1.0`, "b", `[ 1 , 2 ]`}},
		"escaped name":       {`{"\u0061\"\\":1}`, []string{`a"\`, `1`}},
		"brackets in string": {`{"a":"}],\"","b":"\\"}`, []string{"a", `"}],\""`, "b", `"\\"`}},
		"nested":             {`{"a":{"b":[{"c":"}"}]},"d":{}}`, []string{"a", `{"b":[{"c":"}"}]}`, "d", `{}`}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := jsonvalue.Check([]byte(tc.text)); err != nil {
				t.Fatal(err)
			}
			members, err := jsonvalue.Members([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range members {
				got = append(got, m.Name, string(m.Value))
			}
			if strings.Join(got, "|") != strings.Join(tc.want, "|") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	for _, text := range []string{`[]`, `"x"`, `1`, `null`, ``} {
		if _, err := jsonvalue.Members([]byte(text)); !errors.Is(err, jsonvalue.ErrNotObject) {
			t.Errorf("Members(%s): got %v, want ErrNotObject", text, err)
		}
	}
}

// A caller that appends to one member must not write over the next one.
func TestMembersDoNotOverlap(t *testing.T) {
	members, err := jsonvalue.Members([]byte(`{"a":1,"b":2}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = append(members[0].Value, "999999"...)
	if got := string(members[1].Value); got != "2" {
		t.Errorf("b is %s after appending to a", got)
	}
}

func BenchmarkMembers(b *testing.B) {
	text := []byte(`{"label":"x","value":` + string(records(45_000)) + `}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if m, err := jsonvalue.Members(text); err != nil || len(m) != 2 {
			b.Fatal(m, err)
		}
	}
}
