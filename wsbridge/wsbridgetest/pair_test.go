package wsbridgetest_test

import (
	"context"
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/wsbridgetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPair(t *testing.T) {
	name := func(name string) wsbridge.Options {
		return wsbridge.Options{Handler: func(context.Context, *wsbridge.Conn, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`"` + name + `"`), nil
		}}
	}
	server, client := wsbridgetest.Pair(t, wsbridge.AcceptOptions{Options: name("server")}, wsbridge.DialOptions{Options: name("client")})
	for want, c := range map[string]*wsbridge.Conn{`"client"`: server, `"server"`: client} {
		if got, err := c.Call(t.Context(), "name", nil); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
