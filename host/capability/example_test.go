package capability_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolplane/toolplane/host/capability"
)

// greeter is about the smallest provider that there can be.
type greeter struct{}

func (greeter) ID() string { return "plugin:greeter" }

func (greeter) Call(_ context.Context, inv capability.Invocation) (capability.Answer, error) {
	var args struct{ Name string }
	if err := json.Unmarshal(inv.Arguments, &args); err != nil {
		return capability.Answer{}, err
	}
	if args.Name == "nobody" {
		return capability.Answer{}, capability.Errorf(capability.PermissionError, "PolicyError", "nobody may be greeted")
	}
	value, err := json.Marshal("Hello, " + args.Name)
	return capability.Answer{Value: value}, err
}

func ExampleRegistry() {
	registry := capability.NewRegistry()
	err := registry.Put(greeter{}, []capability.Capability{{
		Name:        "plugin:greeter/say-hello",
		Description: "Greets a person.",
		InputSchema: json.RawMessage(`{"type": "object", "required": ["name"],
			"properties": {"name": {"type": "string"}, "loud": {"type": "boolean", "default": false}},
			"additionalProperties": false}`),
	}})
	if err != nil {
		fmt.Println(err)
	}

	for _, hit := range registry.Search("greet", 10) {
		fmt.Println(hit.Capability.Name, "→", hit.Call)
	}
	_, _, err = registry.Lookup("greeter_sayhello")
	fmt.Println(err)
	fmt.Println(registry.ValidateArguments("plugin:greeter/say-hello", json.RawMessage(`{"nam": "Ada"}`)))
	// Output:
	// plugin:greeter/say-hello → await greeter_say_hello(name=<string>, loud=<boolean=False>)
	// unknown capability "greeter_sayhello": did you mean plugin:greeter/say-hello? Call it as: await greeter_say_hello(name=<string>, loud=<boolean=False>). For more, search_capabilities shows the only one there is
	// invalid arguments for plugin:greeter/say-hello: missing argument name; unknown argument nam (did you mean name?). Call it as: await greeter_say_hello(name=<string>, loud=<boolean=False>)
}

func ExampleCapability_CallShape() {
	c := capability.Capability{Name: "plugin:issues/search", InputSchema: json.RawMessage(
		`{"properties": {"limit": {"type": "integer", "default": 20}, "query": {"type": "string"}}, "required": ["query"]}`)}
	fmt.Println(c.CallShape())
	// Output: await issues_search(query=<string>, limit=<integer=20>)
}
