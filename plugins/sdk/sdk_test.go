package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
)

// withTools gives a test a module of its own.
func withTools(t *testing.T) {
	oldTools, oldNames := tools, byName
	tools, byName = nil, map[string]*tool{}
	t.Cleanup(func() { tools, byName = oldTools, oldNames })
}

func request(name, arguments string) []byte {
	return fmt.Appendf(nil, `{"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
}

type addIn struct {
	A     big.Int `json:"a"`
	B     big.Int `json:"b" jsonschema:"default=1"`
	Round *int8   `json:"round"`
}

type addOut struct {
	Sum *big.Int `json:"sum"`
}

func addTools(t *testing.T) {
	withTools(t)
	Tool("add", "Adds.", func(_ context.Context, in addIn) (addOut, error) {
		return addOut{new(big.Int).Add(&in.A, &in.B)}, nil
	}, Title("Add"), ReadOnly(), Idempotent())
	Tool("text", "Says something.", func(context.Context, struct{}) (string, error) { return "<ünïcode> \"&\"", nil })
	Tool("list", "Lists.", func(context.Context, struct{}) ([]int, error) { return []int{1, 2}, nil }, Destructive(), OpenWorld())
	Tool("raw", "Answers as it was asked.", func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil })
	Tool("any", "Carries numbers in any.", func(_ context.Context, in struct {
		V any `json:"v"`
	}) (any, error) {
		return map[string]any{"v": in.V}, nil
	})
	Tool("fail", "Fails.", func(_ context.Context, in struct {
		Kind string `json:"kind"`
	}) (string, error) {
		switch in.Kind {
		case "value":
			return "", fmt.Errorf("while looking: %w", ValueError("%d is too much", 7))
		case "panic":
			panic("boom")
		case "index":
			return []string{}[len(in.Kind)], nil
		}
		return "", errors.New("plain")
	})
	Tool("unencodable", "Answers what JSON can't.", func(context.Context, struct{}) (map[string]any, error) {
		return map[string]any{"f": func() {}}, nil
	})
}

func TestHandle(t *testing.T) {
	addTools(t)
	for name, tc := range map[string]struct{ tool, arguments, want string }{
		"struct":           {"add", `{"a":10000000000000000000000000000000000000000,"b":-1}`, `{"content":[{"type":"text","text":"{\"sum\":9999999999999999999999999999999999999999}"}],"structuredContent":{"sum":9999999999999999999999999999999999999999}}`},
		"default":          {"add", `{"a":9007199254740992}`, `{"content":[{"type":"text","text":"{\"sum\":9007199254740993}"}],"structuredContent":{"sum":9007199254740993}}`},
		"text":             {"text", `{}`, `{"content":[{"type":"text","text":"<ünïcode> \"&\""}]}`},
		"list":             {"list", `{}`, `{"content":[{"type":"text","text":"[1,2]"}]}`},
		"raw":              {"raw", `{"a":1.0,"a":2}`, `{"content":[{"type":"text","text":"{\"a\":1.0,\"a\":2}"}],"structuredContent":{"a":1.0,"a":2}}`},
		"numbers in any":   {"any", `{"v":[10000000000000000000000,1.50]}`, `{"content":[{"type":"text","text":"{\"v\":[10000000000000000000000,1.50]}"}],"structuredContent":{"v":[10000000000000000000000,1.50]}}`},
		"null arguments":   {"text", `null`, `{"content":[{"type":"text","text":"<ünïcode> \"&\""}]}`},
		"kind, wrapped":    {"fail", `{"kind":"value"}`, `{"content":[{"type":"text","text":"while looking: 7 is too much"}],"structuredContent":{"error":{"kind":"ValueError","message":"while looking: 7 is too much"}},"isError":true}`},
		"plain error":      {"fail", `{"kind":""}`, `{"content":[{"type":"text","text":"plain"}],"structuredContent":{"error":{"kind":"RuntimeError","message":"plain"}},"isError":true}`},
		"panic":            {"fail", `{"kind":"panic"}`, `{"content":[{"type":"text","text":"panic: boom"}],"structuredContent":{"error":{"kind":"RuntimeError","message":"panic: boom"}},"isError":true}`},
		"unknown tool":     {"nonesuch", `{}`, `{"content":[{"type":"text","text":"there is no tool called \"nonesuch\""}],"structuredContent":{"error":{"kind":"LookupError","message":"there is no tool called \"nonesuch\""}},"isError":true}`},
		"missing":          {"add", `{}`, `"ValueError","message":"argument a is missing"`},
		"unknown":          {"add", `{"a":1,"c":2}`, `"ValueError","message":"the arguments can't be read: unknown field \"c\""`},
		"wrong type":       {"fail", `{"kind":7}`, `"ValueError","message":"argument kind: number doesn't fit, it takes a string"`},
		"out of range":     {"add", `{"a":1,"round":300}`, `"ValueError","message":"argument round: number 300 doesn't fit, it takes an integer of 8 bits"`},
		"not an object":    {"add", `[1]`, `"ValueError"`},
		"runtime error":    {"fail", `{"kind":"index"}`, `panic: runtime error: index out of range [5] with length 0`},
		"can't be written": {"unencodable", `{}`, `"RuntimeError","message":"the answer can't be written as JSON: json: unsupported type: func()"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := string(Handle(t.Context(), request(tc.tool, tc.arguments)))
			if !json.Valid([]byte(got)) {
				t.Fatalf("not JSON: %s", got)
			}
			if got != tc.want && (strings.HasPrefix(tc.want, "{") || !strings.Contains(got, tc.want)) {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
	if got := string(Handle(t.Context(), []byte("nonsense"))); !strings.Contains(got, `"kind":"ValueError"`) {
		t.Errorf("a request that isn't JSON: %s", got)
	}
}

func TestDescribe(t *testing.T) {
	addTools(t)
	text, err := Describe()
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(text, &list); err != nil || len(list.Tools) != 7 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	want := `{"name":"add","title":"Add","description":"Adds.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer","default":1},"round":{"type":["integer","null"]}},"required":["a"],"additionalProperties":false},` +
		`"outputSchema":{"type":"object","properties":{"sum":{"type":["integer","null"]}}},"annotations":{"readOnlyHint":true,"idempotentHint":true}}`
	if got := string(list.Tools[0]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(list.Tools[2]); strings.Contains(got, "outputSchema") {
		t.Errorf("a host that may want objects is told of another output: %s", got)
	}
	for i := range 3 {
		if again, err := Describe(); err != nil || string(again) != string(text) {
			t.Errorf("description %d differs: %v", i, err)
		}
	}
}

func TestDescribeNamesTheTool(t *testing.T) {
	withTools(t)
	Tool("bad", "", func(context.Context, struct {
		A chan int `json:"a"`
	}) (string, error) {
		return "", nil
	})
	if _, err := Describe(); err == nil || !strings.Contains(err.Error(), "tool bad: input: ") {
		t.Errorf("got %v", err)
	}
	withTools(t)
	Tool("worse", "", func(context.Context, int) (string, error) { return "", nil })
	if _, err := Describe(); err == nil || !strings.Contains(err.Error(), "tool worse: its input is a int") {
		t.Errorf("got %v", err)
	}
}

func TestTwoToolsOfOneName(t *testing.T) {
	withTools(t)
	f := func(context.Context, struct{}) (string, error) { return "", nil }
	Tool("twice", "", f)
	defer func() {
		if v := recover(); v != `sdk.Tool: two tools are called "twice"` {
			t.Errorf("got %v", v)
		}
	}()
	Tool("twice", "", f)
}

func TestInvoke(t *testing.T) {
	addTools(t)
	if got, err := Invoke(t.Context(), "add", `{"a":1}`); err != nil || string(got) != `{"sum":2}` {
		t.Errorf("got %s, %v", got, err)
	}
	var e *Error
	if _, err := Invoke(t.Context(), "nonesuch", `{}`); !errors.As(err, &e) || e.Kind != "LookupError" {
		t.Errorf("got %v", err)
	}
	if _, err := Invoke(t.Context(), "add", `[]`); !errors.As(err, &e) || e.Kind != "ValueError" {
		t.Errorf("got %v", err)
	}
}

func TestErrorKinds(t *testing.T) {
	cause := errors.New("cause")
	for kind, f := range map[string]func(string, ...any) error{
		"ValueError": ValueError, "LookupError": LookupError, "PermissionError": PermissionError,
		"TimeoutError": TimeoutError, "MemoryError": MemoryError, "RuntimeError": RuntimeError,
	} {
		err := f("because of %w", cause)
		var e *Error
		if !errors.As(err, &e) || e.Kind != kind || err.Error() != "because of cause" || !errors.Is(err, cause) {
			t.Errorf("%s: got %#v", kind, err)
		}
	}
}

type nestedIn struct {
	Page struct {
		Size int `json:"size" jsonschema:"default=20"`
	} `json:"page,omitzero"`
	Tags []string `json:"tags" jsonschema:"default=[\"a\"\\,\"b\"]"`
}

func TestDefaultsWithin(t *testing.T) {
	var in nestedIn
	if err := decodeArguments([]byte(`{}`), &in); err != nil || in.Page.Size != 20 || strings.Join(in.Tags, " ") != "a b" {
		t.Errorf("got %+v, %v", in, err)
	}
	if err := decodeArguments([]byte(`{"page":{"size":5},"tags":[]}`), &in); err != nil || in.Page.Size != 5 || len(in.Tags) != 0 {
		t.Errorf("got %+v, %v", in, err)
	}
}
