package wsbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := wsbridge.Accept(w, r, wsbridge.AcceptOptions{Options: wsbridge.Options{
			Handler: func(_ context.Context, _ *wsbridge.Conn, method string, _ json.RawMessage) (json.RawMessage, error) {
				switch method {
				case "add":
					return json.RawMessage(`{"value": 3.0}`), nil
				default:
					return nil, protocol.Errorf(protocol.CodeMethodNotFound, "no method %q", method)
				}
			},
		}})
		if err != nil {
			fmt.Println(err)
		}
	}))
	defer server.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := wsbridge.Dial(ctx, server.URL, wsbridge.DialOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close(1000, "done") }()

	sum, err := c.Call(ctx, "add", json.RawMessage(`{"a": 1, "b": 2}`))
	fmt.Println(string(sum), err)
	_, err = c.Call(ctx, "subtract", nil)
	fmt.Println(err)
	// Output:
	// {"value": 3.0} <nil>
	// no method "subtract"
}

// A handler that refuses to go on answers first and then closes.
func ExampleFatalError() {
	var handler wsbridge.Handler = func(context.Context, *wsbridge.Conn, string, json.RawMessage) (json.RawMessage, error) {
		return nil, &wsbridge.FatalError{
			Answer: protocol.Errorf(protocol.CodeUnauthenticated, "the token is wrong: open the page from its link again"),
			Code:   1008,
			Reason: "not authenticated",
		}
	}
	_, err := handler(context.Background(), nil, protocol.MethodHello, nil)
	fmt.Println(errors.Is(err, &protocol.Error{Code: protocol.CodeUnauthenticated}))
	// Output:
	// true
}
