package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/executor"
)

// A task is done in two ways: by tools called directly, whose answers are read by
// the model, and by snippets.
type task struct {
	name   string
	direct []string // arguments of tools/call
	code   []snippet
}

// snippet is Python and what it returns. No browser runs here; what's counted is
// what is sent.
type snippet struct{ code, value string }

// record is one of a tracker's issues, of about 700 bytes.
func record(i int) string {
	return fmt.Sprintf(`{"id":%d,"title":"Issue number %d","state":%q,"author":{"login":"user%d"},"comments":%d,"body":%q}`,
		i, i, []string{"open", "closed"}[i%2], i%7, i%13, strings.Repeat("Some text about what is wrong. ", 18))
}

func records(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = record(i)
	}
	return `{"issues":[` + strings.Join(all, ",") + `]}`
}

func tasks() []task {
	get := func(i int) string { return fmt.Sprintf(`{"name":"p_get","arguments":{"id":%d}}`, i) }
	const list = `{"name":"p_list","arguments":{"count":300}}`
	single := task{name: "single look-up", direct: []string{get(7)}, code: []snippet{{"await p_get(id=7)", record(7)}}}
	filter := task{name: "filter over 30 records fetched one by one", code: []snippet{{
		`all = await asyncio.gather(*[p_get(id=i) for i in range(30)])
[r["title"] for r in all if r["state"] == "open" and r["comments"] > 9]`, `["Issue number 10","Issue number 12","Issue number 24"]`}}}
	for i := range 30 {
		filter.direct = append(filter.direct, get(i))
	}
	four := task{name: "load 300 records once, then four questions", code: []snippet{
		{"h = await save_result(await p_list(count=300)); h", `"res_AAAAAAAAAAAAAAAAAAAAAAAAAA"`},
		{`d = await load_result("res_AAAAAAAAAAAAAAAAAAAAAAAAAA"); sum(r["state"] == "open" for r in d["issues"])`, `150`},
		{`d = await load_result("res_AAAAAAAAAAAAAAAAAAAAAAAAAA"); collections.Counter(r["author"]["login"] for r in d["issues"]).most_common(3)`, `[["user0",43],["user1",43],["user2",43]]`},
		{`d = await load_result("res_AAAAAAAAAAAAAAAAAAAAAAAAAA"); max(d["issues"], key=lambda r: r["comments"])["title"]`, `"Issue number 12"`},
		{`d = await load_result("res_AAAAAAAAAAAAAAAAAAAAAAAAAA"); [r["id"] for r in d["issues"] if "299" in r["title"]]`, `[299]`},
	}}
	four.direct = []string{list} // read once, and kept in the context for all four
	return []task{single, filter, four}
}

// TestTasksSideBySide prints what three tasks cost a model, in calls and in bytes,
// done directly and by snippets.
func TestTasksSideBySide(t *testing.T) {
	base := testOptions(t)
	o := exposing(t, base, func(inv capability.Invocation) (capability.Answer, *capability.Error) {
		var args struct{ ID, Count int }
		if err := json.Unmarshal(inv.Arguments, &args); err != nil {
			return capability.Answer{}, capability.AsError(err)
		}
		if inv.Capability == "plugin:p/list" {
			return capability.Answer{Value: json.RawMessage(records(args.Count))}, nil
		}
		return capability.Answer{Value: json.RawMessage(record(args.ID))}, nil
	},
		capability.Capability{Name: "plugin:p/get", Description: "Reads one issue.", InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`)},
		capability.Capability{Name: "plugin:p/list", Description: "Lists issues.", InputSchema: json.RawMessage(`{"type":"object","properties":{"count":{"type":"integer","default":100}}}`)})
	values := map[string]string{}
	for _, task := range tasks() {
		for _, s := range task.code {
			values[s.code] = s.value
		}
	}
	o.Runner = runnerFunc(func(_ context.Context, req executor.Request) *executor.Result {
		res := okResult(values[req.Code])
		return &res
	})
	whole := o
	whole.Fold.Enabled = false // the direct way as other servers have it
	count := func(o Options, calls []string) (bytes int) {
		c := initialized(t, New(o))
		defer c.end()
		for _, params := range calls {
			_, result := c.request("tools/call", params)
			if strings.Contains(result, `"isError":true`) || !strings.HasPrefix(result, "{") {
				t.Errorf("%s: %.300s", params, result)
			}
			bytes += len(params) + len(result)
		}
		return bytes
	}
	table := fmt.Sprintf("\n%-44s %8s %8s %8s %8s\n%-44s %8s %8s %8s %8s\n", "", "direct", "", "code", "", "task", "calls", "bytes", "calls", "bytes")
	for _, task := range tasks() {
		var calls []string
		for _, s := range task.code {
			calls = append(calls, fmt.Sprintf(`{"name":"execute_code","arguments":{"code":%s}}`, jsonString(s.code)))
		}
		direct, code := count(whole, task.direct), count(o, calls)
		table += fmt.Sprintf("%-44s %8d %8d %8d %8d\n", task.name, len(task.direct), direct, len(calls), code)
		if task.name != "single look-up" && code*5 > direct {
			t.Errorf("%s: %d bytes by code, %d directly", task.name, code, direct)
		}
	}
	t.Log(table)
}
