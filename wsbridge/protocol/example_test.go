package protocol_test

import (
	"encoding/json"
	"fmt"

	"github.com/toolplane/toolplane/wsbridge/protocol"
)

func ExampleDecode() {
	frame := `{"jsonrpc":"2.0","id":7,"method":"tool.call","params":{"run_id":"run_1","name":"plugin:issues/list","arguments":{"ids": [1.0, 9007199254740993]}}}`
	m, err := protocol.Decode([]byte(frame))
	if err != nil {
		fmt.Println(err)
		return
	}
	var p protocol.ToolCallParams
	if err := protocol.DecodeParams(m.Params, &p); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Kind(), m.ID, p.Name)
	fmt.Printf("%s\n", p.Arguments)
	// Output:
	// request 7 plugin:issues/list
	// {"ids": [1.0, 9007199254740993]}
}

func ExampleDecode_refused() {
	_, err := protocol.Decode([]byte(`{"jsonrpc":"2.0","id":7,"Method":"tool.call"}`))
	fmt.Println(err)
	// Output:
	// the frame isn't a JSON-RPC 2.0 message: unknown member "Method", names are case-sensitive: write "method"
}

func ExampleEncodePayload() {
	params, err := protocol.EncodePayload(protocol.ToolCallParams{
		RunID:     "run_1",
		Name:      "plugin:issues/list",
		Arguments: json.RawMessage(`{ "state": "open" }`), // carried as it is
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	frame, err := protocol.EncodeRequest(1, protocol.MethodToolCall, params)
	fmt.Println(string(frame), err)
	// Output:
	// {"jsonrpc":"2.0","id":1,"method":"tool.call","params":{"run_id":"run_1","name":"plugin:issues/list","arguments":{ "state": "open" }}} <nil>
}
