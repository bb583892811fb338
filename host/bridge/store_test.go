package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/result"
)

type saved struct {
	Handle           string
	Label            *string
	Bytes            int64
	ExpiresInSeconds int64 `json:"expires_in_seconds"`
}

func save(t *testing.T, b *bridge.Bridge, c bridge.Caller, args string) saved {
	t.Helper()
	raw, err := b.Call(t.Context(), c, bridge.SaveResult, json.RawMessage(args))
	if err != nil {
		t.Fatalf("save: %v", err)
	}
	var s saved
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func load(b *bridge.Bridge, c bridge.Caller, handle string) (string, *capability.Error) {
	raw, err := b.Call(context.Background(), c, bridge.LoadResult, json.RawMessage(`{"handle":"`+handle+`"}`))
	return string(raw), err
}

func TestSaveAndLoad(t *testing.T) {
	b := bridge.New(bridge.Options{Results: result.New(result.Options{TTL: 90 * time.Second})})
	const value = `{"id":9007199254740993,"big":10000000000000000000000000000000000000000,"x":[1.0,-0.0,"\u0000"],"😀":{"a":1,"a":2}}`
	s := save(t, b, ada, `{"label":"größe \ud83d\ude00", "value": `+value+` }`)
	if s.Label == nil || *s.Label != "größe 😀" || s.Bytes != int64(len(value)+len(*s.Label)) || s.ExpiresInSeconds != 90 {
		t.Errorf("answer %+v", s)
	}
	if got, err := load(b, ada, s.Handle); err != nil || got != value {
		t.Errorf("loaded %s, %v", got, err)
	}
	for _, args := range []string{`{"value":null}`, `{"value":null,"label":null}`, `{"value":null,"label":""}`} {
		if s := save(t, b, ada, args); s.Label != nil || s.Bytes != 4 {
			t.Errorf("%s: answer %+v", args, s)
		}
	}
}

// Whose call it is decides, not who knows the handle.
func TestHandlesStayInTheirScope(t *testing.T) {
	b := bridge.New(bridge.Options{Results: result.New(result.Options{})})
	s := save(t, b, ada, `{"value":1}`)
	var first *capability.Error
	for _, c := range []bridge.Caller{
		{Scope: "two", Subject: "ada", RunID: "run_1"},
		{Scope: "one", Subject: "bob", RunID: "run_1"},
		{Scope: "", Subject: "", RunID: "run_1"},
	} {
		got, err := load(b, c, s.Handle)
		if err == nil {
			t.Fatalf("%+v read %s", c, got)
		}
		unknown, unknownErr := load(b, c, "res_AAAAAAAAAAAAAAAAAAAAAAAAAA")
		if unknownErr == nil || unknown != "" || unknownErr.Message != err.Message || unknownErr.Type != err.Type || unknownErr.Builtin != err.Builtin {
			t.Errorf("a foreign handle (%+v) differs from an unknown one (%+v)", err, unknownErr)
		}
		if first == nil {
			first = err
		} else if first.Message != err.Message {
			t.Errorf("%q differs from %q", err.Message, first.Message)
		}
	}
	another := ada
	another.RunID = "run_2"
	if _, err := load(b, another, s.Handle); err != nil {
		t.Errorf("a later run of the same scope: %v", err)
	}
}

func TestStoreTurnedOff(t *testing.T) {
	b := bridge.New(bridge.Options{})
	for name, args := range map[string]string{bridge.SaveResult: `{"value":1}`, bridge.LoadResult: `{"handle":"res_x"}`} {
		_, err := b.Call(t.Context(), ada, name, json.RawMessage(args))
		if err == nil || err.Builtin != capability.ValueError || err.Type != bridge.ResultStoreError {
			t.Fatalf("%s: got %v", name, err)
		}
		if !strings.Contains(err.Message, "turned off") || !strings.Contains(err.Message, "[results]") {
			t.Errorf("%s: %s", name, err.Message)
		}
	}
}

// No registry can take the store's names over, and none shows them.
func TestStoreComesBeforeTheRegistry(t *testing.T) {
	registry := capability.NewRegistry()
	stolen := false
	thief := provider{"toolplane:results", func(context.Context, capability.Invocation) (capability.Answer, error) {
		stolen = true
		return capability.Answer{Value: json.RawMessage(`"stolen"`)}, nil
	}}
	if err := registry.Put(thief, []capability.Capability{{Name: bridge.SaveResult}, {Name: bridge.LoadResult}}); err != nil {
		t.Fatal(err)
	}
	b := bridge.New(bridge.Options{Registry: registry, Results: result.New(result.Options{})})
	s := save(t, b, ada, `{"value":"mine"}`)
	if got, err := load(b, ada, s.Handle); err != nil || got != `"mine"` || stolen {
		t.Errorf("loaded %s, %v", got, err)
	}
}

func TestDescribe(t *testing.T) {
	b := newBridge(t, echo, nil)
	for _, name := range []string{bridge.SaveResult, bridge.LoadResult} {
		c, err := b.Describe(name)
		if err != nil || c.Name != name || !c.Hidden || c.Description == "" {
			t.Fatalf("%s: %+v, %v", name, c, err)
		}
		// The schemas must say what the bridge does by hand.
		r := capability.NewRegistry()
		if err := r.Put(provider{"toolplane:results", echo}, []capability.Capability{c}); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{
			`{}`, `{"value":1}`, `{"value":[],"label":null}`, `{"value":1,"label":"x"}`, `{"value":1,"label":2}`,
			`{"handle":"x"}`, `{"handle":1}`, `{"handle":null}`, `{"handle":"x","value":1}`, `{"value":1,"x":2}`, `[]`,
		} {
			bySchema := r.ValidateArguments(name, json.RawMessage(args))
			_, byHand := b.Call(t.Context(), ada, name, json.RawMessage(args))
			refused := byHand != nil && byHand.Type == capability.InvalidArgumentsError
			if (bySchema != nil) != refused {
				t.Errorf("%s %s: the schema says %v, the bridge %v", name, args, bySchema, byHand)
			}
		}
	}
	if c, err := b.Describe("plugin:t/tool"); err != nil || c.Name != "plugin:t/tool" {
		t.Errorf("%+v, %v", c, err)
	}
	_, err := b.Describe("plugin:t/tol")
	var e *capability.Error
	if !errors.As(err, &e) || e.Builtin != capability.LookupError {
		t.Errorf("unknown: %v", err)
	}
}
