package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host/bridge"
)

// TestExposedPluginEndToEnd: a real plugin's tool, called over MCP without code:
// its answer folds, is read in slices, and is passed to another call by its handle.
func TestExposedPluginEndToEnd(t *testing.T) {
	m := startMCP(t, func(c *config.Config) {
		c.MCP.Expose = []string{"plugin:issues/*", "plugin:issues/get as read_issue", "plugin:nothing/*"}
		c.Plugins["issues"] = config.DefaultPlugin("builtin:issues")
	})
	m.WaitPlugins(t.Context()) // compiling takes longer than a listing waits
	session := m.connect(t, testSecret)
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	for _, want := range []string{"issues_list", "issues_search", "read_issue", "execute_code", "result_query"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s isn't listed: %q", want, names)
		}
	}
	if got := m.Unmatched(t.Context()); !slices.Equal(got, []string{"plugin:nothing/*"}) {
		t.Errorf("unmatched: %q", got)
	}
	call := func(s *mcp.ClientSession, name, args string) *mcp.CallToolResult {
		t.Helper()
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return res
	}
	text := func(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

	res := call(session, "issues_list", `{"count":2000}`)
	meta, _ := res.Meta["toolplane/result-handle"].(map[string]any)
	raw, _ := json.Marshal(res)
	if res.IsError || meta == nil || len(raw) > 6<<10 {
		t.Fatalf("%d bytes: %.500s", len(raw), raw)
	}
	handle := fmt.Sprint(meta["handle"])
	id := text(call(session, "result_query", fmt.Sprintf(`{"handle":%q,"path":"$.issues[1999].id"}`, handle)))
	if len(id) < 16 {
		t.Errorf("the id is %s", id)
	}
	// The id is taken out of the folded answer by the host.
	got := text(call(session, "read_issue", fmt.Sprintf(`{"id":{"$result":%q,"path":"$.issues[1999].id"}}`, handle)))
	if !strings.Contains(got, id) {
		t.Errorf("read_issue: %.300s", got)
	}
	// The handle opens in load_result of the same scope, and in no other session.
	other := m.connect(t, testSecret)
	for name, args := range map[string]string{
		"result_query": fmt.Sprintf(`{"handle":%q}`, handle),
		"read_issue":   fmt.Sprintf(`{"id":{"$result":%q,"path":"$.issues[0].id"}}`, handle),
	} {
		if res := call(other, name, args); !res.IsError || strings.Contains(text(res), handle) {
			t.Errorf("another session's %s: %.300s", name, text(res))
		}
	}
	if _, err := m.bridge.Answer(context.Background(), bridge.Caller{Scope: "elsewhere"}, bridge.Request{Name: bridge.LoadResult, Arguments: json.RawMessage(`{"handle":"` + handle + `"}`)}); err == nil {
		t.Error("another scope loads it")
	}
	if res := call(session, "issues_list", `{"count":"many"}`); !res.IsError || !strings.Contains(text(res), "InvalidArgumentsError") {
		t.Errorf("bad arguments: %s", text(res))
	}
	if hits := text(call(session, "search_capabilities", `{"query":"isues lists"}`)); !strings.HasPrefix(hits, "await issues_list(") {
		t.Errorf("search: %s", hits)
	}
}
