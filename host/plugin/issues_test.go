package plugin

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/jsonvalue"
)

// TestIssuesGuest runs the demo's plugin, which is made with the SDK.
func TestIssuesGuest(t *testing.T) {
	p := open(t, newRuntime(t), Spec{Name: "issues"})
	if len(p.Problems()) > 0 {
		t.Errorf("problems %q", p.Problems())
	}
	var names []string
	for _, c := range p.Capabilities() {
		names = append(names, c.Name)
		if c.Title == "" || c.Description == "" || len(c.OutputSchema) == 0 || !strings.Contains(string(c.Annotations), "readOnlyHint") {
			t.Errorf("%s is described as %+v", c.Name, c)
		}
	}
	if got := strings.Join(names, " "); got != "plugin:issues/get plugin:issues/list plugin:issues/search" {
		t.Errorf("tools %s", got)
	}
	start := time.Now()
	text := mustCall(t, p, "list", `{"count":5000}`)
	if took := time.Since(start); len(text) < 1<<20 || took > 5*time.Second {
		t.Errorf("5,000 issues: %d bytes in %v", len(text), took)
	}
	if err := jsonvalue.Check([]byte(text)); err != nil {
		t.Error(err)
	}
	var page struct {
		Issues []struct {
			ID    json.Number
			Title string
		}
		Total int
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Issues) != 5000 || page.Total != 100_000 || page.Issues[0].ID != "9007199254740993" {
		t.Errorf("%d issues, total %d, %v", len(page.Issues), page.Total, err)
	}
	if one := mustCall(t, p, "get", `{"id":9007199254740993}`); !strings.HasPrefix(one, `{"id":9007199254740993,"number":1,`) {
		t.Errorf("got %s", one)
	}
	for _, tc := range []struct {
		tool, arguments string
		builtin         capability.Builtin
		message         string
	}{
		{"get", `{"id":10000000000000000000000000000000000000000}`, capability.LookupError, "there is no issue with the id or number 10000000000000000000000000000000000000000; numbers are from 1 to 100000"},
		{"list", `{"label":"nonesuch"}`, capability.ValueError, `there is no label "nonesuch"; the labels are bug,`},
	} {
		if _, err := call(t.Context(), p, tc.tool, tc.arguments); err == nil || err.Builtin != tc.builtin || err.Type != "PluginError" || !strings.HasPrefix(err.Message, tc.message) {
			t.Errorf("%s(%s): got %v", tc.tool, tc.arguments, err)
		}
	}
	if s := p.Stats(); s.Dropped > 0 {
		t.Errorf("an error of a tool cost an instance: %+v", s)
	}
}

// TestAllIssues moves the whole tracker, 65 MB, which takes other limits than the defaults.
func TestAllIssues(t *testing.T) {
	r := newRuntime(t)
	small := open(t, r, Spec{Name: "issues"})
	if _, err := call(t.Context(), small, "list", `{"count":100000}`); err == nil || err.Type != "PluginMemoryError" && !strings.Contains(err.Message, "max_output_bytes") {
		t.Errorf("by default: %v", err)
	}
	if n := len(mustCall(t, small, "list", `{"count":100000,"fields":["number","state"]}`)); n < 3_000_000 {
		t.Errorf("two fields of all issues take %d bytes", n)
	}
	large := open(t, r, Spec{Name: "large", Wasm: guest(t, "issues"), MemoryMB: 256, MaxOutputBytes: 100 << 20, Timeout: 2 * time.Minute})
	if n := len(mustCall(t, large, "list", `{"count":100000}`)); n < 50<<20 {
		t.Errorf("all issues take %d bytes", n)
	}
}
