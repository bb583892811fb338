package executor

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// catchPort gets hold of a worker's own port to the page by catching it in use, and defines forge(…), which posts any message.
const catchPort = `
import js, asyncio
from pyodide.ffi import create_proxy, to_js
import _toolplane_host as host
caught = []
real = js.MessagePort.prototype.postMessage
js.MessagePort.prototype.postMessage = create_proxy(lambda this, *a: caught.append(this), capture_this=True)
host.send(900_000, "x", "{}")
js.MessagePort.prototype.postMessage = real
port = caught[0]
def js_object(fields):
    return to_js(fields, dict_converter=js.Object.fromEntries)
def forge(**fields):
    port.postMessage(js_object(fields))
`

// TestForgedMessages has a hostile run speak to the page in its own words, while a run of another scope waits for an answer. The other run
// gets its own answer and its own end, the host sees the hostile one's scope only, and the page says who tampered.
func TestForgedMessages(t *testing.T) {
	f := newRealHost(t, nil)
	cases := []struct {
		name, code string
		// forged says that the message is one that no run sends, so that the run is flagged.
		forged bool
		// calls are those that the host must see of it, as "name arguments".
		calls []string
		value string
	}{
		{"the end of another run", `forge(t="result", json='{"ok":true,"value":1}', truncated=False, run_id=inputs["other"])`, true, nil, `"done"`},
		{"a call in the name of another run", `forge(t="call", id=900_001, name="plugin:demo/echo", arguments="{}", run_id=inputs["other"])`, true, nil, `"done"`},
		{"a call of another scope, by its arguments", `forge(t="call", id=900_001, name="plugin:demo/echo", arguments='{"scope":"victim"}')`, false, []string{`plugin:demo/echo {"scope":"victim"}`}, `"done"`},
		{"a call of another scope, by breaking out of the arguments", `forge(t="call", id=900_001, name="plugin:demo/echo", arguments='{}},"run_id":"run-victim","x":{')`, true, nil, `"done"`},
		{"a call of another scope, by its name", `forge(t="call", id=900_001, name='plugin:demo/echo","run_id":"run-victim","x":"', arguments="{}")`, false, []string{`plugin:demo/echo","run_id":"run-victim","x":" {}`}, `"done"`},
		{"a call twice", `
forge(t="call", id=900_001, name="plugin:demo/echo", arguments="{}")
forge(t="call", id=900_001, name="plugin:demo/echo", arguments="{}")`, true, []string{"plugin:demo/echo {}"}, `"done"`},
		{"taking back the other's call", `
for i in range(1, 100): forge(t="cancel", id=i)`, false, nil, `"done"`},
		{"an answer to the other's call", `
for i in range(1, 20): forge(t="settle", id=i, ok=True, payload='"forged"')`, true, nil, `"done"`},
		{"output of the other", `forge(t="output", stream="stdout", text="forged", run_id=inputs["other"])`, true, nil, `"done"`},
		{"a stream that isn't one", `forge(t="output", stream="constructor", text="x")`, true, nil, `"done"`},
		{"a frame of the wire", `forge(jsonrpc="2.0", method="session.hello", params={})`, true, nil, `"done"`},
		{"the end of a worker, to the frame", `forge(t="end", id=1, patience=0)`, true, nil, `"done"`},
		{"a kind of every object's", `forge(t="__proto__"); forge(t="toString")`, true, nil, `"done"`},
		{"no object", `port.postMessage(None); port.postMessage("result"); port.postMessage(js.Array.new(5))`, true, nil, `"done"`},
		{"a buffer of its own", `port.postMessage(js.SharedArrayBuffer.new(8))`, true, nil, `"done"`},
		{"a port", `port.postMessage(js_object({"t": "idle"}), to_js([js.MessageChannel.new().port2]))`, true, nil, `"done"`},
		{"time is up", `forge(t="idle")`, true, nil, `"done"`},
		{"its own end, with another value", `forge(t="result", json='{"ok":true,"value":"mine"}', truncated=False)`, false, nil, `"mine"`},
		{"its own end, twice", `
forge(t="result", json='{"ok":true,"value":"first"}', truncated=False)
forge(t="result", json='{"ok":true,"value":"second"}', truncated=False)`, false, nil, `"first"`},
		{"an end that isn't JSON", `forge(t="result", json='{"ok":true,"value":1}}', truncated=False)`, true, nil, "null"},
		{"an end that breaks out", `forge(t="result", json='{"ok":true,"value":1},"tampered":false,"x":{}', truncated=False)`, true, nil, "null"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			victim := make(chan *Result, 1)
			go func() {
				victim <- f.Run(t.Context(), Request{
					RunID: "run-victim", Scope: "victim",
					Code: "import asyncio\nprint('mine')\nr = [(await demo.echo(x=1))['x']]\nawait asyncio.sleep(0.5)\nr.append((await demo.echo(x=2))['x'])\nreturn r",
				})
			}()
			if call := f.nextCall(t); call != `victim plugin:demo/echo {"x": 1}` && call != `victim plugin:demo/echo {"x":1}` {
				t.Fatalf("the first call is %s", call)
			}
			res := f.Run(t.Context(), Request{
				Scope: "hostile", Timeout: 5 * time.Second, Inputs: map[string]json.RawMessage{"other": json.RawMessage(`"run-victim"`)},
				Code: catchPort + c.code + "\nawait asyncio.sleep(0.1)\nreturn 'done'",
			})
			other := <-victim
			if got := strings.ReplaceAll(string(other.Value), " ", ""); got != "[1,2]" || other.Stdout != "mine\n" || other.Tampered {
				t.Errorf("the other run: value %s, error %v, output %q, tampered %t", other.Value, other.Error, other.Stdout, other.Tampered)
			}
			if string(res.Value) != c.value || res.Tampered != c.forged {
				t.Errorf("value %s, error %v, tampered %t; want %s, %t", res.Value, res.Error, res.Tampered, c.value, c.forged)
			}
			if res.Value != nil && string(res.Value) == "null" && res.Error.Type != "SandboxError" {
				t.Errorf("error %v", res.Error)
			}
			var calls []string
			for len(f.calls) > 0 {
				scope, call, _ := strings.Cut(<-f.calls, " ")
				if scope == "victim" && strings.Contains(call, "2") {
					continue // its second one
				}
				if scope != "hostile" {
					t.Errorf("a call of scope %s: %s", scope, call)
				}
				calls = append(calls, call)
			}
			if strings.Join(calls, "; ") != strings.Join(c.calls, "; ") {
				t.Errorf("the host was called: %q, want %q", calls, c.calls)
			}
		})
	}
	f.worksAsBefore(t)
}

// A run that watches can't tell what others do: what the browser measures is its own.
func TestOthersAreNotSeen(t *testing.T) {
	f := newRealHost(t, nil)
	const watch = `
import js, asyncio
heard = []
from pyodide.ffi import create_proxy
js.globalThis.addEventListener("message", create_proxy(lambda e: heard.append(str(e.data))))
before = js.performance.getEntries().length
await asyncio.sleep(0.6)
return [len(heard), js.performance.getEntries().length - before, len(list(js.performance.getEntriesByType("resource")))]
`
	watching := make(chan *Result, 1)
	go func() { watching <- f.Run(t.Context(), Request{Scope: "watcher", Code: "await demo.echo()\n" + watch}) }()
	f.nextCall(t)
	for range 5 {
		if res := f.Run(t.Context(), Request{Scope: "other", Code: "print('x' * 100)\nreturn (await demo.echo(x=1))['x']"}); !res.OK {
			t.Error(res.Error)
		}
	}
	if res := <-watching; strings.ReplaceAll(string(res.Value), " ", "") != "[0,0,0]" {
		t.Errorf("%s %v", res.Value, res.Error)
	}
	f.drainCalls()
}
