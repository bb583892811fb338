package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestLargeAnswersStayOnTheHost: a real agent's session over stdio, with a real
// browser. A large value comes folded; its handle opens in result_query, in
// load_result of a snippet, among the arguments of a call from Python, and as a
// resource.
func TestLargeAnswersStayOnTheHost(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), binary, "serve", "mcp", "--standalone", "--plugin", "issues=builtin:issues")
	cmd.Env = append(os.Environ(), "TOOLPLANE_CONFIG=")
	cmd.Dir = t.TempDir()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	call := func(name string, args map[string]any) *mcp.CallToolResult {
		t.Helper()
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		if res.IsError {
			t.Fatalf("%s %v: %v", name, args, res.Content[0].(*mcp.TextContent).Text)
		}
		return res
	}
	value := func(code string) string {
		t.Helper()
		raw, err := json.Marshal(call("execute_code", map[string]any{"code": code}).StructuredContent.(map[string]any)["value"])
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	res := call("execute_code", map[string]any{"code": "return await issues.list(count=3000)"})
	raw, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	folded, _ := res.StructuredContent.(map[string]any)["folded"].(map[string]any)
	if folded == nil || len(raw) > 6<<10 {
		t.Fatalf("%d bytes: %.300s", len(raw), raw)
	}
	handle := fmt.Sprint(folded["handle"])
	if bytes := folded["bytes"].(float64); bytes < 1<<20 {
		t.Errorf("the answer has %v bytes, which proves little", bytes)
	}
	slice := call("result_query", map[string]any{"handle": handle, "path": "$.issues", "offset": 2999, "fields": []string{"id", "author.login"}})
	text := slice.Content[0].(*mcp.TextContent).Text
	if !strings.HasPrefix(text, `[{"id":`) || !strings.Contains(text, "from offset 2999 of 3000") {
		t.Errorf("result_query: %s", text)
	}
	if got := value(fmt.Sprintf("return len((await load_result(%q))['issues'])", handle)); got != "3000" {
		t.Errorf("load_result has %s issues", got)
	}
	if got := value(fmt.Sprintf("return (await issues.get(id={'$result': %q, 'path': '$.issues[7].id'}))['number'] == (await load_result(%q))['issues'][7]['number']", handle, handle)); got != "true" {
		t.Errorf("a handle among arguments leads elsewhere: %s", got)
	}
	saved := value("return await save_result({'deep': [1, 2, {'x': 2**70}]})")
	if got := call("result_query", map[string]any{"handle": strings.Trim(saved, `"`), "path": "/deep/2/x"}).Content[0].(*mcp.TextContent).Text; got != "1180591620717411303424" {
		t.Errorf("a saved value by result_query: %s", got)
	}
	if got := value(`
try:
    await issues.get(id={"$result": "res_AAAAAAAAAAAAAAAAAAAAAAAAAA"})
except ValueError as e:
    return [type(e).__name__, "res_" in str(e)]`); got != `["ResultStoreError",false]` {
		t.Errorf("a handle that isn't there: %s", got)
	}
	read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "toolplane://results/" + handle})
	if err != nil || float64(len(read.Contents[0].Text)) != folded["bytes"] {
		t.Errorf("the resource: %v", err)
	}
}
