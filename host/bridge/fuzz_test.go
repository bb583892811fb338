package bridge_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/jsonvalue"
)

// FuzzCall makes calls up: each ends with a value that can be passed on, or with
// an error that can be raised.
func FuzzCall(f *testing.F) {
	for _, name := range []string{"plugin:t/tool", bridge.SaveResult, bridge.LoadResult, "", "plugin:t/tol", "\xff"} {
		for _, args := range []string{``, `null`, `{"value":[1.0,{"a":1,"a":2}]}`, `{"value":1,"label":"\n"}`, `{"handle":"res_x"}`, `[`, `{"count":1e5}`, "{\"\xff\":1}"} {
			f.Add(name, []byte(args))
		}
	}
	b := newBridge(f, echo, nil)
	f.Fuzz(func(t *testing.T, name string, args []byte) {
		value, err := b.Call(t.Context(), ada, name, json.RawMessage(args))
		if err != nil {
			if !err.Builtin.Valid() || err.Type == "" || err.Message == "" || !utf8.ValidString(err.Message) || len(err.Message) > 20_000 {
				t.Errorf("bad error %#v", err)
			}
			return
		}
		if err := jsonvalue.Check(value); err != nil {
			t.Errorf("answered %q: %v", value, err)
		}
	})
}
