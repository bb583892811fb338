package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/result"
)

func Example() {
	registry := capability.NewRegistry()
	err := registry.Put(provider{"plugin:demo", echo}, []capability.Capability{{
		Name:        "plugin:demo/echo",
		InputSchema: json.RawMessage(`{"type": "object", "properties": {"value": {}}, "required": ["value"]}`),
	}})
	if err != nil {
		panic(err)
	}
	b := bridge.New(bridge.Options{Registry: registry, Results: result.New(result.Options{})})

	ctx := context.Background()
	caller := bridge.Caller{Scope: "stdio", RunID: "run_1"}
	value, failure := b.Call(ctx, caller, "plugin:demo/echo", json.RawMessage(`{"value": 10000000000000000000001}`))
	fmt.Println(string(value), failure == nil)

	_, failure = b.Call(ctx, caller, "plugin:demo/echo", json.RawMessage(`{}`))
	fmt.Printf("%s, %s: %s\n", failure.Builtin, failure.Type, failure.Message)

	_, failure = b.Call(ctx, caller, bridge.LoadResult, json.RawMessage(`{"handle": "res_guessed"}`))
	fmt.Printf("%s, %s: %s\n", failure.Builtin, failure.Type, failure.Message)
	// Output:
	// 10000000000000000000001 true
	// ValueError, InvalidArgumentsError: invalid arguments for plugin:demo/echo: missing argument value. Call it as: await demo_echo(value=<any>)
	// ValueError, ResultStoreError: load_result: no saved value is found under this handle: it may have expired, or belong to another session; save the value again with save_result and use the new handle
}
