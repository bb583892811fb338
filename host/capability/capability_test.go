package capability_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
)

// provider is one that answers nothing.
type provider string

func (p provider) ID() string { return string(p) }

func (p provider) Call(context.Context, capability.Invocation) (capability.Answer, error) {
	return capability.Answer{}, errors.New("not called in these tests")
}

// one makes a capability with an input schema.
func one(name, schema string) capability.Capability {
	return capability.Capability{Name: name, InputSchema: json.RawMessage(schema)}
}

// registry makes one that holds capabilities under their own providers.
func registry(t testing.TB, caps ...capability.Capability) *capability.Registry {
	t.Helper()
	r := capability.NewRegistry()
	byProvider := map[string][]capability.Capability{}
	for _, c := range caps {
		n, err := capability.ParseName(c.Name)
		if err != nil {
			t.Fatal(err)
		}
		id := n.Kind + ":" + n.Provider
		byProvider[id] = append(byProvider[id], c)
	}
	for id, caps := range byProvider {
		if err := r.Put(provider(id), caps); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// wantError checks that err is an *Error of a builtin and type.
func wantError(t *testing.T, err error, b capability.Builtin, typ string) *capability.Error {
	t.Helper()
	var e *capability.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if e.Builtin != b || e.Type != typ {
		t.Fatalf("got %s/%s (%s), want %s/%s", e.Builtin, e.Type, e.Message, b, typ)
	}
	return e
}
