package capability

import (
	"sort"
	"strings"
)

// Binding is how one capability appears in a snippet.
type Binding struct {
	Name   string   `json:"name"`            // canonical; call_tool(Name, …) always works
	Flat   string   `json:"flat,omitempty"`  // issues_list, or "" when left out
	Scope  string   `json:"scope,omitempty"` // issues of issues.list, or "" when left out
	Tool   string   `json:"tool,omitempty"`  // list of issues.list, or "" when left out
	Params []string `json:"params"`          // argument names, required ones first; never nil
	Call   string   `json:"call"`            // how to call it, with types and defaults

	// Problem says why an alias was left out, for config check and the schema.
	Problem string `json:"-"`
}

// aliases are what a name would be called in Python, before anything is left out.
type aliases struct{ flat, scope, tool string }

func aliasesOf(n Name) aliases {
	provider := pythonName(n.Provider)
	if n.Tool == "" {
		return aliases{flat: provider}
	}
	tool := pythonName(n.Tool)
	return aliases{flat: provider + "_" + tool, scope: provider, tool: tool}
}

// problems says why each alias can't stand, looked at alone.
func (a aliases) problems() (flat, scoped string) {
	if p := globalProblem(a.flat); p != "" {
		flat = a.flat + " " + p
	}
	if a.tool == "" {
		return flat, ""
	}
	if p := globalProblem(a.scope); p != "" {
		scoped = a.scope + " " + p
	} else if p := attributeProblem(a.tool); p != "" {
		scoped = a.tool + " " + p
	}
	return flat, scoped
}

// bind works out the aliases of a whole catalog. Of names that collide none
// gets the alias, so that it doesn't depend on who was loaded first.
func bind(entries []*entry) []Binding {
	globals := map[string][]string{} // global name -> who would define it
	dotted := map[string][]string{}
	scopes := map[string]bool{}
	for _, e := range entries {
		a := e.aliases
		globals[a.flat] = append(globals[a.flat], e.capability.Name)
		if a.tool != "" {
			dotted[a.scope+"."+a.tool] = append(dotted[a.scope+"."+a.tool], e.capability.Name)
			if !scopes[a.scope] {
				scopes[a.scope] = true
				globals[a.scope] = append(globals[a.scope], e.provider.ID()+" (as a scope)")
			}
		}
	}

	out := make([]Binding, len(entries))
	for i, e := range entries {
		a := e.aliases
		flat, scoped := a.problems()
		if flat == "" {
			flat = collision(a.flat, globals[a.flat])
		}
		if scoped == "" && a.tool != "" {
			if scoped = collision(a.scope, globals[a.scope]); scoped == "" {
				scoped = collision(a.scope+"."+a.tool, dotted[a.scope+"."+a.tool])
			}
		}
		b := Binding{Name: e.capability.Name, Flat: a.flat, Scope: a.scope, Tool: a.tool}
		var problems []string
		if flat != "" {
			b.Flat = ""
			problems = append(problems, "flat alias left out: "+flat)
		}
		if scoped != "" {
			b.Scope, b.Tool = "", ""
			problems = append(problems, "scoped alias left out: "+scoped)
		}
		b.Problem = strings.Join(problems, "; ")
		b.Params = make([]string, len(e.params))
		for j, p := range e.params {
			b.Params[j] = p.name
		}
		b.Call = callShape(b.Name, b.callee(), e.params)
		out[i] = b
	}
	return out
}

// collision says who else wants the name, or "".
func collision(name string, wanted []string) string {
	if len(wanted) < 2 {
		return ""
	}
	sort.Strings(wanted)
	const shown = 4
	list := strings.Join(wanted[:min(shown, len(wanted))], ", ")
	if len(wanted) > shown {
		list += ", …"
	}
	return name + " would be " + list + " alike"
}

// callee is the shortest alias that there is, or "".
func (b Binding) callee() string {
	switch {
	case b.Flat != "":
		return b.Flat
	case b.Scope != "":
		return b.Scope + "." + b.Tool
	}
	return ""
}

// CallShape shows how a snippet calls the capability, with types and defaults:
//
//	await issues_list(count=<integer=100>, state=<string?>)
//
// Required arguments come first; one that can be left out has its default after
// an equals sign, or a question mark. The shape takes the capability alone; where
// its alias may collide with others, use the [Binding.Call] of its registry.
func (c Capability) CallShape() string {
	callee := ""
	if n, err := ParseName(c.Name); err == nil {
		a := aliasesOf(n)
		b := Binding{Flat: a.flat, Scope: a.scope, Tool: a.tool}
		flat, scoped := a.problems()
		if flat != "" {
			b.Flat = ""
		}
		if scoped != "" {
			b.Scope, b.Tool = "", ""
		}
		callee = b.callee()
	}
	return callShape(c.Name, callee, parameters(c.InputSchema))
}
