package capability_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
)

const listSchema = `{
	"type": "object",
	"properties": {
		"count": {"type": "integer", "minimum": 1, "maximum": 100000, "default": 100},
		"state": {"type": "string", "enum": ["open", "closed"]},
		"since": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
		"filter": {"type": "object", "properties": {"labels": {"type": "array", "items": {"type": "string", "minLength": 2}, "maxItems": 3, "uniqueItems": true}}, "additionalProperties": false, "required": ["labels"]},
		"who": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"login": {"type": "string"}}, "required": ["login"]}]},
		"by": {"oneOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]},
		"id": {"type": "integer", "exclusiveMinimum": 9007199254740992},
		"step": {"type": "number", "multipleOf": 0.1},
		"code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
		"odd key": {"const": 1},
		"never": false
	},
	"required": ["count"],
	"additionalProperties": false
}`

func TestValidateArgumentsAccepts(t *testing.T) {
	r := registry(t, one("plugin:issues/list", listSchema), one("plugin:issues/any", ""))
	for _, args := range []string{
		`{"count":1}`,
		`{"count":1.0}`,
		`{"count":100000,"state":"open","since":null,"filter":{"labels":["ab","cd"]}}`,
		`{"count":1,"since":5}`,
		`{"count":1,"who":{"login":"ada"},"by":{"a":1}}`,
		`{"count":1,"id":9007199254740993}`, // equal to the bound as a float
		`{"count":1,"id":10000000000000000000000000000000000000000}`,
		`{"count":1,"step":0.3}`, // not a multiple as a float
		`{"count":1e2}`,
		`{"count":1,"odd key":1.0}`,
	} {
		if err := r.ValidateArguments("plugin:issues/list", json.RawMessage(args)); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
	for _, args := range []string{``, ` `, `{}`, `{"x":[1,{"y":null}]}`} {
		if err := r.ValidateArguments("plugin:issues/any", json.RawMessage(args)); err != nil {
			t.Errorf("no schema, %s: %v", args, err)
		}
	}
}

func TestValidateArgumentsRefuses(t *testing.T) {
	r := registry(t, one("plugin:issues/list", listSchema))
	const call = `. Call it as: await call_tool("plugin:issues/list", {"count": <integer>`
	for name, tc := range map[string]struct{ args, want string }{
		"nothing":            {``, `missing argument count`},
		"wrong type":         {`{"count":"many"}`, `count: expected integer, got the string "many"`},
		"fraction":           {`{"count":1.5}`, `count: expected integer, got 1.5`},
		"too small":          {`{"count":0}`, `count: expected at least 1, got 0`},
		"too large":          {`{"count":100001}`, `count: expected at most 100000, got 100001`},
		"misspelled":         {`{"count":1,"sate":"open"}`, `unknown argument sate (did you mean state?)`},
		"unknown":            {`{"count":1,"shade":"red"}`, `unknown argument shade`},
		"unknown, odd":       {`{"count":1,"a b":"red"}`, `unknown argument "a b"`},
		"enum":               {`{"count":1,"state":"opne"}`, `state: expected one of "open", "closed", got the string "opne"; did you mean "open"?`},
		"enum, null":         {`{"count":1,"state":null}`, `state: expected string, got null`},
		"union":              {`{"count":1,"since":[1,2]}`, `since: expected integer or null or string, got an array of 2 items`},
		"nullable object":    {`{"count":1,"who":{}}`, `who: missing member login`},
		"alternatives":       {`{"count":1,"by":{}}`, `by: fits none of 2 alternative forms (by: missing member a | by: missing member b)`},
		"several forms":      {`{"count":1,"by":{"a":1,"b":2}}`, `by: fits several of its alternative forms, and must fit exactly one, got an object of 2 members`},
		"nested":             {`{"count":1,"filter":{"labels":["ab","x"]}}`, `filter.labels[1]: expected at least 2 characters, got 1`},
		"nested, missing":    {`{"count":1,"filter":{}}`, `filter: missing member labels`},
		"nested, unknown":    {`{"count":1,"filter":{"labels":[],"x":1}}`, `filter: unknown member x`},
		"too many items":     {`{"count":1,"filter":{"labels":["aa","bb","cc","dd"]}}`, `filter.labels: expected at most 3 items, got 4`},
		"equal items":        {`{"count":1,"filter":{"labels":["aa","aa"]}}`, `filter.labels: items 0 and 1 are equal`},
		"big integer":        {`{"count":1,"id":9007199254740992}`, `id: expected more than 9007199254740992, got 9007199254740992`},
		"multiple":           {`{"count":1,"step":0.35}`, `step: expected a multiple of 0.1, got 0.35`},
		"pattern":            {`{"count":1,"code":"A1"}`, `code: expected a match of the pattern ^[a-z]+$, got "A1"`},
		"too long":           {`{"count":1,"code":"abcdef"}`, `code: expected at most 5 characters, got 6`},
		"odd key":            {`{"count":1,"odd key":2}`, `["odd key"]: expected 1, got 2`},
		"forbidden":          {`{"count":1,"never":2}`, `argument never isn't allowed here`},
		"array":              {`[1]`, `expected an object of named arguments, got an array of 1 item`},
		"string":             {`"count"`, `expected an object of named arguments, got the string "count"`},
		"not JSON":           {`{"count":}`, `they aren't JSON`},
		"more text":          {`{"count":1} {}`, `they aren't JSON`},
		"long value":         {`{"count":"` + strings.Repeat("x", 100_000) + `"}`, `count: expected integer, got the string "` + strings.Repeat("x", 60) + `…"`},
		"several":            {`{"state":1,"code":"A","zzz":1}`, `missing argument count; unknown argument zzz; code: expected a match`},
		"more than are told": {`{"state":1,"code":"A","zzz":1,"id":1}`, `missing argument count; unknown argument zzz; code: expected a match of the pattern ^[a-z]+$, got "A"; and 2 more`},
	} {
		t.Run(name, func(t *testing.T) {
			err := r.ValidateArguments("plugin:issues/list", json.RawMessage(tc.args))
			e := wantError(t, err, capability.ValueError, capability.InvalidArgumentsError)
			if !strings.HasPrefix(e.Message, "invalid arguments for plugin:issues/list: "+tc.want) {
				t.Errorf("got  %s\nwant %s", e.Message, tc.want)
			}
			if !strings.Contains(e.Message, call) {
				t.Errorf("it doesn't show the call: %s", e.Message)
			}
			if len(e.Message) > 2000 {
				t.Errorf("the message has %d bytes", len(e.Message))
			}
			again := r.ValidateArguments("plugin:issues/list", json.RawMessage(tc.args))
			if again.Error() != err.Error() {
				t.Errorf("the second time it says %s", again)
			}
		})
	}
}

// The validator computes with exact fractions. A few bytes must not become
// millions of digits, and no number may take it down.
func TestValidateArgumentsAbsurdNumbers(t *testing.T) {
	r := registry(t, one("plugin:a/b", `{"properties":{"n":{"type":"array","items":{"type":"number","minimum":-1,"multipleOf":0.5,"exclusiveMaximum":1e308}}}}`))
	small := "[" + strings.Repeat("1e-999999999,", 10_000) + "0]"
	if err := r.ValidateArguments("plugin:a/b", json.RawMessage(`{"n":`+small+`}`)); err != nil {
		t.Errorf("numbers that read as zero: %v", err)
	}
	long := "0." + strings.Repeat("3", 1_000_000)
	if err := r.ValidateArguments("plugin:a/b", json.RawMessage(`{"n":[`+long+`]}`)); err == nil {
		t.Error("a third is no multiple of a half")
	}
	if err := r.ValidateArguments("plugin:a/b", json.RawMessage(`{"n":[`+strings.Repeat("9", 4300)+`]}`)); err == nil {
		t.Error("4,300 digits are more than 1e308")
	}
	// The bridge refuses this one before; alone, it must not panic either.
	if err := r.ValidateArguments("plugin:a/b", json.RawMessage(`{"n":[1e999999999]}`)); err == nil {
		t.Error("1e999999999 fits")
	}
}

func TestValidateArgumentsUnknownCapability(t *testing.T) {
	r := registry(t, one("plugin:issues/list", ""))
	err := r.ValidateArguments("plugin:isues/list", json.RawMessage(`{}`))
	e := wantError(t, err, capability.LookupError, capability.UnknownCapabilityError)
	if !strings.Contains(e.Message, "plugin:issues/list") {
		t.Error(e.Message)
	}
}

func BenchmarkValidateArguments(b *testing.B) {
	r := registry(b, one("plugin:issues/list", listSchema))
	args := json.RawMessage(`{"count":100,"state":"open","filter":{"labels":["bug","ui"]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := r.ValidateArguments("plugin:issues/list", args); err != nil {
			b.Fatal(err)
		}
	}
}
