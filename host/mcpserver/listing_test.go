package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/executor"
)

func listTools(t testing.TB, client *mcp.ClientSession) map[string]*mcp.Tool {
	t.Helper()
	list, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*mcp.Tool{}
	for _, tool := range list.Tools {
		out[tool.Name] = tool
	}
	return out
}

// TestInlineCatalog: a small catalog is in the description of execute_code, call
// by call, and a large one isn't.
func TestInlineCatalog(t *testing.T) {
	o := testOptions(t)
	text := listTools(t, connect(t, o, nil))["execute_code"].Description
	for _, b := range o.Registry.Bindings() {
		if !strings.Contains(text, "\n- "+b.Call) {
			t.Errorf("%s isn't there: %s", b.Call, text)
		}
	}
	if !strings.Contains(text, "# Lists issues.") || strings.Contains(text, "Newest first") {
		t.Errorf("not the first line of each description: %s", text)
	}
	for name, n := range map[string]int{"too many": 2, "none wanted": 0} {
		o.InlineCapabilities = n
		if text := listTools(t, connect(t, o, nil))["execute_code"].Description; strings.Contains(text, "\n- await issues_list") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestDescriptionSaysWhatIsTrue of this configuration.
func TestDescriptionSaysWhatIsTrue(t *testing.T) {
	all := func(o Options) string { return executeDescription(o, "") }
	o := testOptions(t)
	for _, says := range []string{"No session", "save_result(value)", "Over 16 KiB", "Time limit 30 s, at most 600 s", "asyncio.gather", "no packages"} {
		if !strings.Contains(all(o), says) {
			t.Errorf("%q is missing: %s", says, all(o))
		}
	}
	o.Session, o.Store, o.Fold.Enabled, o.RunTimeout = &fakeSession{}, false, false, 1500*time.Millisecond
	for _, says := range []string{"Variables stay", "save_result is turned off", "Time limit 1.5 s"} {
		if !strings.Contains(all(o), says) {
			t.Errorf("%q is missing: %s", says, all(o))
		}
	}
	for _, lie := range []string{"No session", "load_result", "folded"} {
		if strings.Contains(all(o), lie) {
			t.Errorf("%q isn't true here: %s", lie, all(o))
		}
	}
}

// TestLateCapabilitiesAreAnnounced: a client that has listed the tools is told of
// what is loaded afterwards, once, and not of what its own listing changed.
func TestLateCapabilitiesAreAnnounced(t *testing.T) {
	o := testOptions(t)
	registry := capability.NewRegistry()
	o.Registry, o.Index, o.Expose = registry, indexOf(t, registry), NewExposure([]string{"plugin:late/*"}, registry, nil)
	changed := make(chan struct{}, 10)
	client := connect(t, o, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }})
	if tools := listTools(t, client); tools["late_tool"] != nil || len(tools) != len(fixedTools) {
		t.Errorf("%v", tools)
	}
	put(t, registry, "plugin:late", capability.Capability{Name: "plugin:late/tool", Description: "Late."})
	<-changed
	tools := listTools(t, client)
	if tools["late_tool"] == nil || !strings.Contains(tools["execute_code"].Description, "await late_tool()") {
		t.Errorf("%v", tools)
	}
	registry.Remove("plugin:late")
	<-changed
	if tools := listTools(t, client); tools["late_tool"] != nil {
		t.Error("a tool outlived its capability")
	}
	// Longer than the SDK gathers changes: nothing more comes.
	select {
	case <-changed:
		t.Error("a change that the client has listed was announced")
	case <-time.After(50 * time.Millisecond):
	}
}

func put(t testing.TB, r *capability.Registry, id string, caps ...capability.Capability) {
	t.Helper()
	if err := r.Put(fakeProvider{id}, caps); err != nil {
		t.Fatal(err)
	}
}

// TestSearchTool: pages, tags, and what a miss says.
func TestSearchTool(t *testing.T) {
	o := testOptions(t)
	var caps []capability.Capability
	for i := range 60 {
		c := capability.Capability{Name: fmt.Sprintf("plugin:many/tool_%02d", i), Description: "Does things. " + strings.Repeat("x", 300)}
		if i%2 == 0 {
			c.Tags = []string{"even"}
		}
		caps = append(caps, c)
	}
	put(t, o.Registry, "plugin:many", caps...)
	client := connect(t, o, nil)
	var names []string
	offset, pages := 0, 0
	for {
		res := call(t, client, "search_capabilities", fmt.Sprintf(`{"limit":50,"offset":%d}`, offset))
		page := structuredOf[searchAnswer](t, res)
		if page.Total != 63 || len(page.Hits) == 0 {
			t.Fatalf("%+v", page)
		}
		if raw, _ := json.Marshal(page); len(raw) > 2*maxPageBytes {
			t.Errorf("a page of %d bytes", len(raw))
		}
		for _, h := range page.Hits {
			names = append(names, h.Name)
		}
		if pages++; page.NextOffset == 0 {
			break
		}
		offset = page.NextOffset
	}
	if len(names) != 63 || !slices.IsSorted(names) || pages < 2 {
		t.Errorf("%d names on %d pages", len(names), pages)
	}
	if page := structuredOf[searchAnswer](t, call(t, client, "search_capabilities", `{"tags":["EVEN"],"query":"things","limit":1}`)); page.Total != 30 || len(page.Hits) != 1 || page.NextOffset != 1 {
		t.Errorf("%+v", page)
	}
	hit := structuredOf[searchAnswer](t, call(t, client, "search_capabilities", `{"query":"listing isues"}`)).Hits[0]
	if hit.Call != "await issues_list(count=<integer=100>, state=<string?>)" {
		t.Errorf("%+v", hit)
	}
	for args, says := range map[string]string{
		`{"query":"zebra"}`:                     "There are 63 capabilities",
		`{"query":"isseus_lits"}`:               "plugin:issues/list",
		`{"query":"issues","tags":["nothing"]}`: "Tags in use: even, tracker",
	} {
		if text := textOf(call(t, client, "search_capabilities", args)); !strings.Contains(text, says) {
			t.Errorf("%s: %s", args, text)
		}
	}
	for args, says := range map[string]string{
		`{"limit":51}`: "limit", `{"limit":0}`: "limit", `{"offset":-1}`: "offset", `{"tags":"even"}`: "tags must be", `{"tags":[""]}`: "tags",
		`{"query":"` + strings.Repeat("x", 1001) + `"}`: "query has 1001 bytes",
	} {
		if res := call(t, client, "search_capabilities", args); !res.IsError || !strings.Contains(textOf(res), says) {
			t.Errorf("%.40s: %s", args, textOf(res))
		}
	}
}

func TestSchemasInThreeDetails(t *testing.T) {
	o := testOptions(t)
	large := json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 20<<10) + `"}`)
	put(t, o.Registry, "plugin:big",
		capability.Capability{Name: "plugin:big/a", Description: "First.", InputSchema: large},
		capability.Capability{Name: "plugin:big/b", OutputSchema: large})
	client := connect(t, o, nil)
	ask := func(args string) (schemasAnswer, string) {
		res := call(t, client, "get_capability_schemas", args)
		if res.IsError {
			t.Errorf("%s: %s", args, textOf(res))
		}
		return structuredOf[schemasAnswer](t, res), textOf(res)
	}
	brief, _ := ask(`{"names":["plugin:issues/list"],"detail":"brief"}`)
	if c := brief.Capabilities[0]; c.Description != "Lists issues." || c.InputSchema != nil || c.OutputSchema != nil || !strings.HasPrefix(c.Call, "await issues_list(") {
		t.Errorf("brief: %+v", c)
	}
	detailed, text := ask(`{"names":["plugin:issues/list"]}`)
	if c := detailed.Capabilities[0]; !strings.Contains(c.Description, "Newest") || c.InputSchema == nil || c.OutputSchema != nil || c.Tags != nil || !strings.Contains(text, "arguments: {") {
		t.Errorf("detailed: %+v", c)
	}
	full, _ := ask(`{"names":["plugin:issues/list"],"detail":"full"}`)
	if c := full.Capabilities[0]; c.OutputSchema == nil || len(c.Tags) != 1 || len(c.Aliases) != 2 {
		t.Errorf("full: %+v", c)
	}
	// What doesn't fit is said, and the first is there with what fits.
	got, text := ask(`{"names":["plugin:big/b","plugin:big/a","plugin:issues/list"],"detail":"full"}`)
	if len(got.Capabilities) != 2 || got.Capabilities[0].Name != "plugin:big/b" || got.Capabilities[0].OutputSchema != nil ||
		!slices.Equal(got.Omitted, []string{"plugin:big/a"}) || !strings.Contains(text, "less detail") || !strings.Contains(text, "Omitted: plugin:big/a") || len(text) > 20<<10 {
		t.Errorf("%+v\n%.300s", got.Omitted, text)
	}
	if res := call(t, client, "get_capability_schemas", `{"names":["plugin:issues/list"],"detail":"all"}`); !res.IsError || !strings.Contains(textOf(res), "brief, detailed or full") {
		t.Error(textOf(res))
	}
	unknown := call(t, client, "get_capability_schemas", `{"names":["plugin:issues/lists"]}`)
	if got := structuredOf[schemasAnswer](t, unknown); !unknown.IsError || len(got.Unknown) != 1 || !slices.Contains(got.Unknown[0].Nearest, "plugin:issues/list") {
		t.Errorf("%+v", got)
	}
}

// TestLogsOfTheSnippet: what it prints is logged at level info, for a client that
// has asked for that level, and as progress for one that sent a token.
func TestLogsOfTheSnippet(t *testing.T) {
	o := testOptions(t)
	asked := make(chan bool, 10)
	o.Runner = runnerFunc(func(_ context.Context, req executor.Request) *executor.Result {
		asked <- req.OnOutput != nil
		if req.OnOutput != nil {
			req.OnOutput("stdout", "hello\n")
			req.OnOutput("stderr", "careful\n")
		}
		res := okResult("1")
		return &res
	})
	c := initialized(t, New(o))
	const run = `{"name":"execute_code","arguments":{"code":"x"}}`
	if logs, _ := c.request("tools/call", run); len(logs) != 0 || <-asked {
		t.Errorf("output is asked for though nobody wants it: %q", logs)
	}
	c.request("logging/setLevel", `{"level":"info"}`)
	logs, _ := c.request("tools/call", run)
	if len(logs) != 2 || logs[0] != `{"data":"hello\n","level":"info","logger":"execute_code.stdout"}` || !strings.Contains(logs[1], "careful") {
		t.Errorf("%q", logs)
	}
	c.request("logging/setLevel", `{"level":"error"}`)
	if logs, _ := c.request("tools/call", run); len(logs) != 0 {
		t.Errorf("logged below the level: %q", logs)
	}
	c.end()
}

func TestPackagesAreRefused(t *testing.T) {
	res := call(t, connect(t, testOptions(t), nil), "execute_code", `{"code":"x","packages":["numpy"]}`)
	if !res.IsError || !strings.Contains(textOf(res), "standard library") {
		t.Error(textOf(res))
	}
}
