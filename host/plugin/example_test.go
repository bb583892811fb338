package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/plugin"
)

func ExampleRuntime_Open() {
	ctx := context.Background()
	runtime, err := plugin.NewRuntime(ctx, plugin.Options{CacheDir: "../../.cache/wazero-test"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runtime.Close(ctx) //nolint:errcheck // of an example

	wasm, err := os.ReadFile("../../plugins/dist/issues.wasm")
	if err != nil {
		fmt.Println(err)
		return
	}
	issues, err := runtime.Open(ctx, plugin.Spec{Name: "issues", Wasm: wasm, Timeout: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := issues.Call(ctx, capability.Invocation{
		Capability: "plugin:issues/list",
		Arguments:  json.RawMessage(`{"count":2,"fields":["id","title"]}`),
	})
	fmt.Println(string(answer.Value), err)

	_, err = issues.Call(ctx, capability.Invocation{Capability: "plugin:issues/get", Arguments: json.RawMessage(`{"id":7000000}`)})
	var failure *capability.Error
	if errors.As(err, &failure) {
		fmt.Println(failure.Builtin, failure)
	}
	// Output:
	// {"issues":[{"id":9007199254740993,"title":"Startup crashes on first start"},{"id":9007201402224652,"title":"Search on a slow connection: is this expected?"}],"total":100000} <nil>
	// LookupError there is no issue with the id or number 7000000; numbers are from 1 to 100000
}
