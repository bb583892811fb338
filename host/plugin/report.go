package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolplane/toolplane/host/capability"
)

// Shape is how a module describes its tools, told by its exports.
type Shape string

// The shapes. Only ShapeMCP can be opened.
const (
	ShapeMCP      Shape = "mcp"       // exports describe and call (the servlet convention)
	ShapeHyperMCP Shape = "hyper-mcp" // exports list_tools and call_tool (hyper-mcp v2)
	ShapePlain    Shape = "plain"     // neither: plain Extism exports
)

// Report is what Inspect found out about a module.
type Report struct {
	Bytes    int                     `json:"bytes"`
	SHA256   string                  `json:"sha256"`
	Shape    Shape                   `json:"shape"`
	Exports  []Function              `json:"exports"`
	Imports  []Function              `json:"imports"`
	Memory   Memory                  `json:"memory"`
	Asks     []Ask                   `json:"asks"`
	Tools    []capability.Capability `json:"tools"`    // Name is the tool's own, without a plugin's
	Problems []string                `json:"problems"` // why it, or a tool of it, can't be used
}

// Function is an exported or imported function.
type Function struct {
	Module  string   `json:"module,omitempty"` // of an import
	Name    string   `json:"name"`
	Params  []string `json:"params"`
	Results []string `json:"results"`
}

// String shows the function as module.name(i32, i64) -> i64.
func (f Function) String() string {
	s := f.Name
	if f.Module != "" {
		s = f.Module + "." + s
	}
	s += "(" + strings.Join(f.Params, ", ") + ")"
	if len(f.Results) > 0 {
		s += " -> " + strings.Join(f.Results, ", ")
	}
	return s
}

// Memory is what the module declares about its linear memory, in bytes.
type Memory struct {
	Min int64 `json:"min_bytes"`
	Max int64 `json:"max_bytes,omitempty"` // 0: none declared
}

// Ask is something that a module can make use of, judged by its imports, and the configuration that grants it.
type Ask struct {
	What  string `json:"what"`            // such as "HTTP requests"
	Why   string `json:"why"`             // the imports that tell
	Grant string `json:"grant,omitempty"` // the configuration line; empty when nothing has to be granted
}

const (
	extismNamespace = "extism:host/env"
	wasiNamespace   = "wasi_snapshot_preview1"
	// servletNamespace is where early servlets import config_get from.
	servletNamespace = "extism:host/user"
)

// Inspect reports what a module offers and asks for. To list its tools it runs the module's `describe`, with nothing
// granted. The error is for bytes that aren't a readable module; whatever else is wrong stands in Report.Problems.
func (r *Runtime) Inspect(ctx context.Context, wasm []byte) (Report, error) {
	m, err := parseModule(wasm)
	if err != nil {
		return Report{}, fmt.Errorf("inspecting the plugin: %w", err)
	}
	digest := sha256.Sum256(wasm)
	rep := Report{
		Bytes: len(wasm), SHA256: hex.EncodeToString(digest[:]), Shape: m.shape(),
		Exports: []Function{}, Imports: []Function{}, Asks: m.asks(),
		Memory: Memory{Min: int64(m.memory.minPages * wasmPage)},
		Tools:  []capability.Capability{}, Problems: []string{},
	}
	if m.memory.hasMax {
		rep.Memory.Max = int64(m.memory.maxPages * wasmPage)
	}
	for _, e := range m.exports {
		if e.kind == kindFunc {
			rep.Exports = append(rep.Exports, m.funcType(e.index).function("", e.name))
		}
	}
	for _, imp := range m.imports {
		if imp.kind == kindFunc {
			rep.Imports = append(rep.Imports, m.typeAt(imp.typ).function(imp.module, imp.name))
		}
	}
	p, err := r.Open(ctx, Spec{Name: "inspected", Wasm: wasm, MaxConcurrent: 1})
	if err != nil {
		rep.Problems = append(rep.Problems, strings.TrimPrefix(err.Error(), "plugin inspected: "))
		return rep, nil
	}
	for _, c := range p.Capabilities() {
		c.Name = strings.TrimPrefix(c.Name, p.ID()+"/")
		rep.Tools = append(rep.Tools, c)
	}
	rep.Problems = append(rep.Problems, p.Problems()...)
	return rep, p.Close(ctx)
}

func (t funcType) function(module, name string) Function {
	names := func(types []byte) []string {
		out := make([]string, 0, len(types))
		for _, v := range types {
			out = append(out, valueTypeName(v))
		}
		return out
	}
	return Function{Module: module, Name: name, Params: names(t.params), Results: names(t.results)}
}

func (m *module) exports2(a, b string) bool {
	_, okA := m.exportedFunc(a)
	_, okB := m.exportedFunc(b)
	return okA && okB
}

func (m *module) shape() Shape {
	switch {
	case m.exports2("describe", "call"):
		return ShapeMCP
	case m.exports2("list_tools", "call_tool"):
		return ShapeHyperMCP
	}
	return ShapePlain
}

// extismFunctions are what go-sdk 1.7.1 offers in extism:host/env.
var extismFunctions = strings.Fields(`alloc free length length_unsafe load_u8 load_u64 store_u8 store_u64
	input_load_u8 input_load_u64 input_set input_length input_offset output_set output_length output_offset
	error_set error_get reset memory_bytes config_get var_get var_set http_request http_status_code http_headers
	get_log_level log_trace log_debug log_info log_warn log_error`)

// unknownImports lists what the module needs and no host function offers. WASI is checked when it is instantiated.
func (m *module) unknownImports() []string {
	var unknown []string
	for _, imp := range m.imports {
		name := imp.module + "." + imp.name
		switch {
		case imp.kind != kindFunc:
			unknown = append(unknown, name+" (not a function)")
		case imp.module == wasiNamespace,
			imp.module == extismNamespace && slices.Contains(extismFunctions, imp.name),
			imp.module == servletNamespace && imp.name == "config_get":
		default:
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// runnable refuses, in words for a person, a module that can't work here.
func runnable(m *module, spec Spec) error {
	if unknown := m.unknownImports(); len(unknown) > 0 {
		if len(unknown) > 8 {
			unknown = append(unknown[:8], fmt.Sprintf("and %d more", len(unknown)-8))
		}
		return fmt.Errorf("it needs functions that this host doesn't offer: %s", clip(strings.Join(unknown, ", "), 1000))
	}
	// The kernel's memory comes out of the same budget.
	if need := m.memory.minPages*wasmPage + kernelMinBytes; need > uint64(spec.MemoryMB)<<20 {
		return fmt.Errorf("it needs %d MiB of memory to start, more than it may use: raise `memory_mb` in [plugins.%s] above %d", need>>20, spec.Name, need>>20)
	}
	switch m.shape() {
	case ShapeMCP:
		return nil
	case ShapeHyperMCP:
		return errors.New("it exports list_tools and call_tool (hyper-mcp v2), which this version can't run: use a build that exports describe and call")
	}
	return errors.New("it doesn't export the functions describe and call, by which a plugin offers its tools (in Go, import github.com/toolplane/toolplane/plugins/sdk)")
}

// asks tells from its imports what a module can make use of.
func (m *module) asks() []Ask {
	uses := func(module string, prefixes ...string) string {
		var names []string
		for _, imp := range m.imports {
			if imp.module == module && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(imp.name, p) }) {
				names = append(names, imp.name)
			}
		}
		return strings.Join(names, ", ")
	}
	asks := []Ask{}
	add := func(what, why, grant string) {
		if why != "" {
			asks = append(asks, Ask{What: what, Why: "imports " + why, Grant: grant})
		}
	}
	add("HTTP requests", uses(extismNamespace, "http_request"), `allowed_hosts = ["…"]`)
	add("settings", uses(extismNamespace, "config_get"), `config = { … }`)
	add("settings, as early servlets read them", uses(servletNamespace, "config_get"), `config = { … }`)
	add("Extism variables, kept between calls of an instance", uses(extismNamespace, "var_"), "")
	add("files", uses(wasiNamespace, "path_"), `allowed_paths = { "ro:./folder" = "/data" }`)
	add("environment variables (Go programs always import these)", uses(wasiNamespace, "environ_"), `env = { … }`)
	if unknown := m.unknownImports(); len(unknown) > 0 {
		asks = append(asks, Ask{What: "functions that this host doesn't offer", Why: "imports " + clip(strings.Join(unknown, ", "), 1000)})
	}
	return asks
}
