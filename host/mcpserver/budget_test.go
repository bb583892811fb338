package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/executor"
)

// What reaches a model costs it context, in every conversation. The limits are
// those that README.md promises.
const (
	maxInlineTotal = 6 << 10 // tools/list and instructions, with 12 capabilities inline
	maxSearchTotal = 5 << 10 // the same, with 1,000 behind search
	maxMegabyte    = 6 << 10 // the whole result of a run that returns 1 MB
)

// typical are capabilities as plugins have them: two to four arguments, a sentence.
func typical(t testing.TB, n int) *capability.Registry {
	t.Helper()
	verbs := []struct{ name, about, schema string }{
		{"list", "Lists issues, newest first.", `{"type":"object","properties":{"count":{"type":"integer","default":100},"state":{"type":"string"}}}`},
		{"get", "Reads one record by its id.", `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`},
		{"search", "Finds records by words.", `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","default":20}},"required":["query"]}`},
	}
	r := capability.NewRegistry()
	for i := range (n + 2) / 3 {
		id := fmt.Sprintf("plugin:service%d", i)
		var caps []capability.Capability
		for _, v := range verbs[:min(3, n-3*i)] {
			caps = append(caps, capability.Capability{Name: id + "/" + v.name, Description: v.about, InputSchema: json.RawMessage(v.schema)})
		}
		put(t, r, id, caps...)
	}
	if got := len(r.List()); got != n {
		t.Fatalf("%d capabilities, want %d", got, n)
	}
	return r
}

// wide is a list of objects with many keys, long texts and objects inside: what a
// preview is largest for.
func wide(n int) string {
	object := `{"inner":{"deep":{"deeper":[1,2,3,4,5,6,7]}}`
	for i := range 60 {
		object += fmt.Sprintf(`,"a rather long key %d":%q`, i, strings.Repeat("é<long text> ", 60))
	}
	object += "}"
	list := "[" + object
	for len(list) < n {
		list += "," + object
	}
	return list + "]"
}

// TestContextBudget prints what an agent's context holds, and keeps it small.
func TestContextBudget(t *testing.T) {
	table := fmt.Sprintf("\n%-52s %8s %8s\n", "what reaches the client", "bytes", "limit")
	row := func(what string, n, limit int) {
		table += fmt.Sprintf("%-52s %8d %8d\n", what, n, limit)
		if n > limit {
			t.Errorf("%s: %d bytes are over the limit of %d", what, n, limit)
		}
	}
	start := func(n int) int {
		o := testOptions(t)
		o.Registry = typical(t, n)
		o.Index = indexOf(t, o.Registry)
		c := converse(t, New(o))
		_, hello := c.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
		c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		_, list := c.request("tools/list", `{}`)
		c.end()
		var h struct{ Instructions string }
		if err := json.Unmarshal([]byte(hello), &h); err != nil || h.Instructions == "" {
			t.Fatalf("%v %s", err, hello)
		}
		return len(h.Instructions) + len(list)
	}
	row("tools/list + instructions, 12 capabilities inline", start(12), maxInlineTotal)
	row("tools/list + instructions, 1,000 behind search", start(1000), maxSearchTotal)

	value := rows(1 << 20)
	run := func(res executor.Result, change func(*Options)) int {
		o := testOptions(t)
		o.Runner = answers(res)
		if change != nil {
			change(&o)
		}
		c := initialized(t, New(o))
		defer c.end()
		_, got := c.request("tools/call", `{"name":"execute_code","arguments":{"code":"x"}}`)
		return len(got)
	}
	row("execute_code, value of 1 MB (list of records)", run(okResult(value), nil), maxMegabyte)
	row("execute_code, value of 1 MB (one text)", run(okResult(string(jsonString(value))), nil), maxMegabyte)
	row("execute_code, value of 1 MB (wide, long, nested)", run(okResult(wide(1<<20)), nil), maxMegabyte)
	printed := okResult("null")
	printed.Stdout = value
	row("execute_code, 1 MB printed", run(printed, nil), 2*maxMegabyte)
	if n := run(okResult(value), func(o *Options) { o.Fold.Enabled = false }); n < 2<<20 {
		t.Errorf("without folding it's %d bytes: the measure is wrong", n)
	}

	o := exposing(t, testOptions(t), func(capability.Invocation) (capability.Answer, *capability.Error) {
		return capability.Answer{Value: json.RawMessage(value)}, nil
	}, capability.Capability{Name: "plugin:p/list"})
	c := initialized(t, New(o))
	_, got := c.request("tools/call", `{"name":"p_list","arguments":{}}`)
	c.end()
	row("exposed tool, answer of 1 MB", len(got), maxMegabyte)
	t.Log(table)
}
