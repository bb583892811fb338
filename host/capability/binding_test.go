package capability_test

import (
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
)

func TestBindings(t *testing.T) {
	for name, tc := range map[string]struct {
		names             []string // the first is looked at
		flat, scope, tool string
		problem           []string // parts; none: no problem
		othersHaveNoFlat  bool
	}{
		"plain":            {names: []string{"plugin:issues/list"}, flat: "issues_list", scope: "issues", tool: "list"},
		"hyphen":           {names: []string{"plugin:git-hub/create-issue"}, flat: "git_hub_create_issue", scope: "git_hub", tool: "create_issue"},
		"dot and slash":    {names: []string{"mcp:a/b.c/d"}, flat: "a_b_c_d", scope: "a", tool: "b_c_d"},
		"space":            {names: []string{"mcp:a/search docs"}, flat: "a_search_docs", scope: "a", tool: "search_docs"},
		"program":          {names: []string{"cli:git"}, flat: "git"},
		"unicode":          {names: []string{"plugin:größe/日本"}, flat: "größe_日本", scope: "größe", tool: "日本"},
		"normal form":      {names: []string{"plugin:\ufb01le/re\u0301sume\u0301"}, flat: "file_résumé", scope: "file", tool: "résumé"},
		"combining first":  {names: []string{"plugin:a/\u0301x"}, flat: "a_\u0301x", problem: []string{"scoped alias left out: \u0301x isn't a Python identifier"}},
		"digit first":      {names: []string{"plugin:3d/render"}, problem: []string{"flat alias left out: 3d_render isn't a Python identifier", "scoped alias left out: 3d isn't"}},
		"digit first tool": {names: []string{"plugin:a/2fa"}, flat: "a_2fa", problem: []string{"scoped alias left out: 2fa isn't"}},
		"symbol":           {names: []string{"plugin:a/b+c"}, problem: []string{"a_b+c isn't a Python identifier", "b+c isn't"}},
		"emoji":            {names: []string{"plugin:a/😀"}, problem: []string{"isn't a Python identifier"}},
		"keyword scope":    {names: []string{"plugin:import/csv"}, flat: "import_csv", problem: []string{"scoped alias left out: import is a Python keyword"}},
		"keyword tool":     {names: []string{"plugin:csv/import"}, flat: "csv_import", problem: []string{"scoped alias left out: import is a Python keyword"}},
		"keyword program":  {names: []string{"cli:pass"}, problem: []string{"flat alias left out: pass is a Python keyword"}},
		"None":             {names: []string{"plugin:None/x"}, flat: "None_x", problem: []string{"None is a Python keyword"}},
		"soft keywords":    {names: []string{"plugin:match/case"}, flat: "match_case", scope: "match", tool: "case"},
		"soft, program":    {names: []string{"cli:case"}, flat: "case"},
		"type":             {names: []string{"cli:type"}, problem: []string{"type is a Python builtin"}},
		"builtin scope":    {names: []string{"plugin:list/all"}, flat: "list_all", problem: []string{"scoped alias left out: list is a Python builtin"}},
		"builtin tool":     {names: []string{"plugin:issues/print"}, flat: "issues_print", scope: "issues", tool: "print"},
		"builtin program":  {names: []string{"cli:sorted"}, problem: []string{"sorted is a Python builtin"}},
		"builtin, flat":    {names: []string{"plugin:aiter/x", "plugin:x/y"}, flat: "aiter_x", problem: []string{"aiter is a Python builtin"}},
		"own name":         {names: []string{"plugin:save/result"}, scope: "save", tool: "result", problem: []string{"flat alias left out: save_result is a name of Toolplane's own"}},
		"own scope":        {names: []string{"plugin:inputs/get"}, flat: "inputs_get", problem: []string{"inputs is a name of Toolplane's own"}},
		"own program":      {names: []string{"cli:_"}, problem: []string{"_ is a name of Toolplane's own"}},
		"dunder":           {names: []string{"plugin:__main/x__"}, problem: []string{"__main_x__ begins with two underscores", "__main begins"}},
		"dunder tool":      {names: []string{"plugin:a/__class__"}, flat: "a___class__", problem: []string{"scoped alias left out: __class__ begins with two underscores"}},

		"flat meets flat": {names: []string{"plugin:a/b_c", "plugin:a_b/c"}, scope: "a", tool: "b_c",
			problem: []string{"flat alias left out: a_b_c would be plugin:a/b_c, plugin:a_b/c alike"}, othersHaveNoFlat: true},
		"hyphen meets underscore": {names: []string{"plugin:a/b-c", "plugin:a/b_c"},
			problem: []string{"flat alias left out: a_b_c would be", "scoped alias left out: a.b_c would be"}, othersHaveNoFlat: true},
		"two kinds": {names: []string{"plugin:git/log", "mcp:git/log"},
			problem: []string{"git_log would be mcp:git/log, plugin:git/log alike", "scoped alias left out: git.log would be mcp:git/log, plugin:git/log alike"}, othersHaveNoFlat: true},
		"two kinds share a scope": {names: []string{"plugin:git/log", "mcp:git/blame"}, flat: "git_log", scope: "git", tool: "log"},
		"flat meets scope": {names: []string{"plugin:a/b", "plugin:a_b/c"}, scope: "a", tool: "b",
			problem: []string{"flat alias left out: a_b would be plugin:a/b, plugin:a_b (as a scope) alike"}},
		"scope meets program": {names: []string{"plugin:git/log", "cli:git"}, flat: "git_log",
			problem: []string{"scoped alias left out: git would be cli:git, plugin:git (as a scope) alike"}, othersHaveNoFlat: true},
	} {
		t.Run(name, func(t *testing.T) {
			var caps []capability.Capability
			for _, n := range tc.names {
				caps = append(caps, one(n, ""))
			}
			r := registry(t, caps...)
			b, ok := r.Binding(tc.names[0])
			if !ok {
				t.Fatal("no binding")
			}
			if b.Flat != tc.flat || b.Scope != tc.scope || b.Tool != tc.tool {
				t.Errorf("flat %q, scoped %q.%q; want %q, %q.%q", b.Flat, b.Scope, b.Tool, tc.flat, tc.scope, tc.tool)
			}
			if len(tc.problem) == 0 && b.Problem != "" {
				t.Errorf("problem %q", b.Problem)
			}
			for _, p := range tc.problem {
				if !strings.Contains(b.Problem, p) {
					t.Errorf("problem %q doesn't say %q", b.Problem, p)
				}
			}
			if tc.othersHaveNoFlat {
				for _, n := range tc.names[1:] {
					if other, _ := r.Binding(n); other.Flat != "" || other.Problem == "" {
						t.Errorf("%s has the alias %q", n, other.Flat)
					}
				}
			}
			if !strings.Contains(b.Call, "(") || b.Flat == "" && b.Scope == "" && !strings.Contains(b.Call, "call_tool(") {
				t.Errorf("call %q", b.Call)
			}
		})
	}
}

// Which aliases there are must not depend on who was loaded first.
func TestBindingsDoNotDependOnOrder(t *testing.T) {
	names := []string{"plugin:a/b_c", "plugin:a_b/c", "plugin:a/x", "mcp:a/x", "cli:a", "plugin:z/ok"}
	show := func(r *capability.Registry) string {
		var sb strings.Builder
		for _, b := range r.Bindings() {
			sb.WriteString(b.Name + " " + b.Call + " " + b.Problem + "\n")
		}
		return sb.String()
	}
	first := capability.NewRegistry()
	second := capability.NewRegistry()
	byID := map[string][]capability.Capability{}
	for _, n := range names {
		parsed, err := capability.ParseName(n)
		if err != nil {
			t.Fatal(err)
		}
		id := parsed.Kind + ":" + parsed.Provider
		byID[id] = append(byID[id], one(n, ""))
	}
	ids := []string{"plugin:a", "plugin:a_b", "mcp:a", "cli:a", "plugin:z"}
	for i := range ids {
		for r, id := range map[*capability.Registry]string{first: ids[i], second: ids[len(ids)-1-i]} {
			if err := r.Put(provider(id), byID[id]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a, b := show(first), show(second); a != b || strings.Count(a, "\n") != len(names) {
		t.Errorf("loaded forwards:\n%s\nand backwards:\n%s", a, b)
	}
}

func TestBindingParams(t *testing.T) {
	r := registry(t, one("plugin:a/b", `{"properties":{"z":{},"a":{},"m":{}},"required":["m"]}`), one("plugin:a/none", ""))
	b, _ := r.Binding("plugin:a/b")
	if got := strings.Join(b.Params, " "); got != "m z a" {
		t.Errorf("params %s, want required ones first and then the schema's order", got)
	}
	if b, _ := r.Binding("plugin:a/none"); b.Params == nil {
		t.Error("params are nil, which is null in JSON")
	}
}
