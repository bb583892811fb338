package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/executor"
	"github.com/toolplane/toolplane/web"
)

// One run, with a capability that the host answers itself. It takes a browser
// and the built web runtime, so it is compiled here and not run.
func Example() {
	const address = "127.0.0.1:7350"
	e := executor.New(executor.Options{
		Hub: executor.HubOptions{
			Dispatcher: executor.DispatcherFunc(func(_ context.Context, from executor.Origin, name string, args json.RawMessage) (json.RawMessage, *capability.Error) {
				if name != "demo:echo" {
					return nil, capability.Errorf(capability.LookupError, "UnknownCapabilityError", "no %s for %s", name, from.Scope)
				}
				return args, nil
			}),
		},
		Headless: executor.HeadlessOptions{BaseURL: "http://" + address},
	})
	mux := http.NewServeMux()
	mux.Handle("/ws", e.Hub())
	mux.Handle(web.Prefix, web.Handler())
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.ListenAndServe() }()

	res := e.Run(context.Background(), executor.Request{
		Scope:   "example",
		Code:    "answer = await call_tool('demo:echo', {'x': x})\nprint('asked')\nreturn answer['x'] + 1",
		Inputs:  map[string]json.RawMessage{"x": json.RawMessage("9007199254740993")},
		Timeout: 5 * time.Second,
	})
	if res.OK {
		fmt.Println(string(res.Value), res.Stdout)
	} else {
		fmt.Println(res.Error, res.Error.Traceback)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = e.Close(ctx) // while the server still runs
	_ = server.Shutdown(ctx)
}
