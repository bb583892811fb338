package fold_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/fold"
)

// stored answers for "res_a" with what the path leads to in a document.
func stored(calls *[]string) func(handle, path string) (json.RawMessage, error) {
	doc := fold.NewDocument(json.RawMessage(`{"rows": [1.0, {"$result": "res_a"}], "n": 9007199254740993}`))
	return func(handle, path string) (json.RawMessage, error) {
		*calls = append(*calls, handle+" "+path)
		if handle != "res_a" {
			return nil, &fold.Error{Code: fold.CodeHandleNotFound, Message: "no such value"}
		}
		return doc.At(path)
	}
}

func TestResolveHandles(t *testing.T) {
	for name, tc := range map[string]struct {
		arguments, want string
		calls           int
	}{
		"none":              {`{"a": 1}`, `{"a": 1}`, 0},
		"whole value":       {`{"a":{"$result":"res_a"}}`, `{"a":{"rows": [1.0, {"$result": "res_a"}], "n": 9007199254740993}}`, 1},
		"path":              {`{"a":{"$result":"res_a","path":"/n"}}`, `{"a":9007199254740993}`, 1},
		"path first":        {`{"a": { "path" : "rows[0]" , "$result" : "res_a" } , "b":-0.0 }`, `{"a": 1.0 , "b":-0.0 }`, 1},
		"empty path":        {`{"a":{"$result":"res_a","path":""},"b":1}`, `{"a":{"rows": [1.0, {"$result": "res_a"}], "n": 9007199254740993},"b":1}`, 1},
		"not inside a text": {`{"a":{"$result":"res_a","path":"rows"}}`, `{"a":[1.0, {"$result": "res_a"}]}`, 1},
		"in lists, deep":    {`{"a":[ [{"$result":"res_a","path":"n"}], {"x":{"$result":"res_a","path":"rows[0]"}} , 3 ]}`, `{"a":[ [9007199254740993], {"x":1.0} , 3 ]}`, 2},
		"escaped":           {`{"a":{"\u0024result":"\u0072es_a","\u0070ath":"\u006e"}}`, `{"a":9007199254740993}`, 1},

		"the arguments as a whole": {`{"$result":"res_a"}`, `{"$result":"res_a"}`, 0},
		"one more key":             {`{"a":{"$result":"res_a","path":"n","x":1}}`, "", 0},
		"another key":              {`{"a":{"$result":"res_a","offset":"1"}}`, "", 0},
		"twice":                    {`{"a":{"$result":"res_a","$result":"res_a"}}`, "", 0},
		"path twice":               {`{"a":{"$result":"res_a","path":"n","path":"n"}}`, "", 0},
		"path alone":               {`{"a":{"path":"n"}}`, "", 0},
		"no string":                {`{"a":{"$result":1}}`, "", 0},
		"path that is null":        {`{"a":{"$result":"res_a","path":null}}`, "", 0},
		"another prefix":           {`{"a":{"$result":"art_a"}}`, "", 0},
		"another case":             {`{"a":{"$Result":"res_a"}}`, "", 0},
		"a list":                   {`{"a":["$result","res_a"]}`, "", 0},
		"in a string":              {`{"a":"{\"$result\":\"res_a\"}"}`, "", 0},
		"as a key":                 {`{"{\"$result\":\"res_a\"}":1}`, "", 0},
		"looks like a fold":        {`{"a":{"handle":"res_a","preview":{},"shape":{}}}`, "", 0},
		"empty objects":            {`{"a":{},"$result":[{},[{}]]}`, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.want == "" {
				tc.want = tc.arguments
			}
			var calls []string
			got, err := fold.ResolveHandles(json.RawMessage(tc.arguments), fold.HandleLimits{}, stored(&calls))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if len(calls) != tc.calls {
				t.Errorf("%d calls: %q", len(calls), calls)
			}
		})
	}
}

func TestResolveHandlesRefuses(t *testing.T) {
	one := `{"$result":"res_a","path":"n"}`
	list := func(n int) string { return `{"a":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}` }
	for name, tc := range map[string]struct {
		arguments     string
		limits        fold.HandleLimits
		code, message string
	}{
		"unknown handle": {`{"a":{"b":[{"$result":"res_b"}]}}`, fold.HandleLimits{}, fold.CodeHandleNotFound, "arguments.a.b[0]: no such value"},
		"unknown path":   {`{"a":{"$result":"res_a","path":"/m"}}`, fold.HandleLimits{}, fold.CodePathNotFound, `arguments.a: $ is an object without "m"`},
		"bad path":       {`{"a":{"$result":"res_a","path":"a b"}}`, fold.HandleLimits{}, fold.CodeInvalidInput, "at character 2"},
		"33 handles":     {list(33), fold.HandleLimits{}, fold.CodeInvalidInput, "arguments.a[32]: more than 32 handles"},
		"3 handles":      {list(3), fold.HandleLimits{MaxHandles: 2}, fold.CodeInvalidInput, "more than 2 handles"},
		"too large":      {`{"b":{"$result":"res_a"}}`, fold.HandleLimits{MaxBytes: 60}, fold.CodeSliceTooLarge, "this value of 60 bytes the arguments are over the limit of 60 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []string
			_, err := fold.ResolveHandles(json.RawMessage(tc.arguments), tc.limits, stored(&calls))
			if codeOf(err) != tc.code || !strings.Contains(err.Error(), tc.message) {
				t.Errorf("%v, want %s with %q", err, tc.code, tc.message)
			}
			if tc.limits.MaxHandles > 0 && len(calls) > tc.limits.MaxHandles {
				t.Errorf("%d values were loaded", len(calls))
			}
		})
	}

	var calls []string
	if got, err := fold.ResolveHandles(json.RawMessage(list(32)), fold.HandleLimits{}, stored(&calls)); err != nil || strings.Count(string(got), "9007199254740993") != 32 {
		t.Errorf("32 handles: %s, %v", got, err)
	}
}

func TestResolveHandlesKeepsTheCause(t *testing.T) {
	cause := errors.New("the disk is on fire")
	for _, answer := range []struct {
		text json.RawMessage
		err  error
	}{{nil, cause}, {json.RawMessage(" \n"), nil}} {
		_, err := fold.ResolveHandles(json.RawMessage(`{"a":{"$result":"res_x"}}`), fold.HandleLimits{}, func(string, string) (json.RawMessage, error) {
			return answer.text, answer.err
		})
		if codeOf(err) != fold.CodeInvalidInput || errors.Is(err, cause) != (answer.err != nil) {
			t.Errorf("%v", err)
		}
	}
}

// TestResolveHandlesCostsLittle has arguments full of things that look like handles.
func TestResolveHandlesCostsLittle(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"a":[0`)
	for i := range 50_000 {
		fmt.Fprintf(&b, `,{"$result":"res_a","path":"n","%d":{"path":"\u0024result"}}`, i)
	}
	b.WriteString(`,{"$result":"res_a","path":"n"}]}`)
	var calls []string
	got, err := fold.ResolveHandles(json.RawMessage(b.String()), fold.HandleLimits{}, stored(&calls))
	want := strings.Replace(b.String(), `{"$result":"res_a","path":"n"}`, `9007199254740993`, 1)
	if err != nil || string(got) != want || len(calls) != 1 {
		t.Errorf("%d calls, %v", len(calls), err)
	}
	// The nesting of arguments is bounded; past it nothing is looked for.
	deep := strings.Repeat(`[`, 100_000) + `{"$result":"res_a"}`
	if got, err := fold.ResolveHandles(json.RawMessage(deep), fold.HandleLimits{}, stored(&calls)); err != nil || string(got) != deep {
		t.Errorf("deep arguments: %v", err)
	}
}
