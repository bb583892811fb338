package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/result"
)

// TestHandlesAmongArguments: a stored value, or a part of it, arrives in the place
// of its handle with every byte, before the schema is checked.
func TestHandlesAmongArguments(t *testing.T) {
	b := newBridge(t, echo, nil)
	const stored = `{"rows":[{"id":9007199254740993,"f":1.0},[-0.0]],"n":7,"text":"{\"$result\":\"res_x\"}","inner":{"$result":"res_x"}}`
	h := save(t, b, ada, `{"value":`+stored+`}`).Handle
	for args, want := range map[string]string{
		`{"value":{"$result":"HANDLE"}}`:                                   stored,
		`{"value":{"$result":"HANDLE","path":"/rows"}}`:                    `[{"id":9007199254740993,"f":1.0},[-0.0]]`,
		`{"value":{"path":"$.rows[0].id","$result":"HANDLE"}}`:             `9007199254740993`,
		`{"value":[{"$result":"HANDLE","path":"n"}, 1.0]}`:                 `[7, 1.0]`,
		`{"value":{"a":{"\u0024result":"HANDLE","path":"n"}}}`:             `{"a":7}`,
		`{"value":1,"count":{"$result":"HANDLE","path":"n"}}`:              `1`,
		`{"value":{"$result":"HANDLE","path":"/inner"}}`:                   `{"$result":"res_x"}`, // what is stored isn't searched
		`{"value":{"$result":"HANDLE","kept":1}}`:                          `{"$result":"HANDLE","kept":1}`,
		`{"value":{"$result":"HANDLE","$result":"HANDLE"}}`:                `{"$result":"HANDLE","$result":"HANDLE"}`,
		`{"value":{"$result":"other"}}`:                                    `{"$result":"other"}`,
		`{"value":{"$result":7}}`:                                          `{"$result":7}`,
		`{"value":{"handle":"HANDLE","preview":[],"shape":{},"folded":1}}`: `{"handle":"HANDLE","preview":[],"shape":{},"folded":1}`, // looks like a fold
	} {
		args, want = strings.ReplaceAll(args, "HANDLE", h), strings.ReplaceAll(want, "HANDLE", h)
		got, err := b.Call(t.Context(), ada, "plugin:t/tool", json.RawMessage(args))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", args, got, err, want)
		}
	}
}

func TestHandlesThatAreRefused(t *testing.T) {
	b := newBridge(t, echo, nil)
	mine := save(t, b, ada, `{"value":{"n":11,"deep":`+strings.Repeat("[", 500)+strings.Repeat("]", 500)+`}}`).Handle
	foreign := save(t, b, bridge.Caller{Scope: "two", Subject: "ada"}, `{"value":1}`).Handle
	store, args := bridge.ResultStoreError, capability.InvalidArgumentsError
	var missing []string
	for _, tc := range []struct{ args, typ, says string }{
		{`{"value":{"$result":"` + foreign + `"}}`, store, "save the value again"},
		{`{"value":{"$result":"res_AAAAAAAAAAAAAAAAAAAAAAAAAA"}}`, store, "save the value again"},
		{`{"value":{"$result":"res_"}}`, store, "save the value again"},
		{`{"value":{"$result":"` + mine + `","path":"/m"}}`, args, "without \"m\""},
		{`{"value":{"$result":"` + mine + `","path":"a b"}}`, args, "can't be read"},
		{`{"count":{"$result":"` + mine + `","path":"n"}}`, args, "count"}, // over its maximum: checked after it is in its place
		{`{"value":` + strings.Repeat("[", 20) + `{"$result":"` + mine + `","path":"deep"}` + strings.Repeat("]", 20) + `}`, args, "stored value in its place"},
		{`{"value":[` + strings.TrimSuffix(strings.Repeat(`{"$result":"`+mine+`","path":"n"},`, 33), ",") + `]}`, args, "32 handles"},
	} {
		_, err := b.Call(t.Context(), ada, "plugin:t/tool", json.RawMessage(tc.args))
		if err == nil || err.Builtin != capability.ValueError || err.Type != tc.typ || !strings.Contains(err.Message, tc.says) {
			t.Errorf("%.80s: %+v, want %s with %q", tc.args, err, tc.typ, tc.says)
			continue
		}
		if strings.Contains(err.Message, mine) || strings.Contains(err.Message, foreign) || strings.Contains(err.Message, "res_") {
			t.Errorf("%.80s: the message repeats the handle: %s", tc.args, err.Message)
		}
		if tc.typ == store {
			missing = append(missing, err.Message)
		}
	}
	for _, m := range missing {
		if m != missing[0] {
			t.Errorf("misses differ: %q and %q", m, missing[0])
		}
	}
	off := bridge.New(bridge.Options{Registry: registryOf(t, echo)})
	_, err := off.Call(t.Context(), ada, "plugin:t/tool", json.RawMessage(`{"value":{"$result":"`+mine+`"}}`))
	if err == nil || err.Type != store || !strings.Contains(err.Message, "turned off") {
		t.Errorf("without a store: %+v", err)
	}
}

// TestSaveKeepsWhatLooksLikeAHandle: what is saved is data.
func TestSaveKeepsWhatLooksLikeAHandle(t *testing.T) {
	b := newBridge(t, echo, nil)
	h := save(t, b, ada, `{"value":1}`).Handle
	value := fmt.Sprintf(`{"$result":%q}`, h)
	again := save(t, b, ada, `{"value":`+value+`}`)
	if got, err := load(b, ada, again.Handle); err != nil || got != value {
		t.Errorf("%s, %v", got, err)
	}
}

// TestAnswerCarriesContentAndProgress.
func TestAnswerCarriesContentAndProgress(t *testing.T) {
	const content = `[{"type":"text","text":"hello","x":1.0}]`
	var reported []string
	b := newBridge(t, func(_ context.Context, inv capability.Invocation) (capability.Answer, error) {
		inv.Progress(1, 2, "half")
		if strings.Contains(string(inv.Arguments), "broken") {
			return capability.Answer{Value: json.RawMessage("1"), Content: json.RawMessage(`[1,]`)}, nil
		}
		return capability.Answer{Value: json.RawMessage("1"), Content: json.RawMessage(content)}, nil
	}, nil)
	progress := func(done, total float64, message string) {
		reported = append(reported, fmt.Sprint(done, "/", total, " ", message))
	}
	got, err := b.Answer(t.Context(), ada, bridge.Request{Name: "plugin:t/tool", Progress: progress})
	if err != nil || string(got.Value) != "1" || string(got.Content) != content || strings.Join(reported, ";") != "1/2 half" {
		t.Errorf("%s %s %v %v", got.Value, got.Content, err, reported)
	}
	_, err = b.Answer(t.Context(), ada, bridge.Request{Name: "plugin:t/tool", Arguments: json.RawMessage(`{"value":"broken"}`), Progress: progress})
	if err == nil || err.Type != "PluginError" || !strings.Contains(err.Message, "content") {
		t.Errorf("broken content: %+v", err)
	}
	answer, err := b.Answer(t.Context(), ada, bridge.Request{Name: bridge.SaveResult, Arguments: json.RawMessage(`{"value":1}`)})
	if err != nil || !strings.Contains(string(answer.Value), "res_") {
		t.Errorf("the store's own: %s %v", answer.Value, err)
	}
}

func registryOf(t *testing.T, call func(context.Context, capability.Invocation) (capability.Answer, error)) *capability.Registry {
	t.Helper()
	registry := capability.NewRegistry()
	if err := registry.Put(provider{"plugin:t", call}, []capability.Capability{{Name: "plugin:t/tool", InputSchema: json.RawMessage(toolSchema)}}); err != nil {
		t.Fatal(err)
	}
	return registry
}

// TestFoldsAreLoaded: the handle of a fold works in load_result.
func TestFoldsAreLoaded(t *testing.T) {
	store := result.New(result.Options{})
	b := bridge.New(bridge.Options{Results: store})
	e, err := store.SaveFold(result.Owner{Scope: ada.Scope, Subject: ada.Subject}, json.RawMessage(`[1.0]`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := load(b, ada, e.Handle); err != nil || got != "[1.0]" {
		t.Errorf("%s, %v", got, err)
	}
}
