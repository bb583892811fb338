package plugin

import "github.com/toolplane/toolplane/host/capability"

// Shape is how a module describes its tools, told by its exports.
type Shape string

// The shapes.
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
	Tools    []capability.Capability `json:"tools"`
	Problems []string                `json:"problems"`
}

// Function is an exported or imported function.
type Function struct {
	Module  string   `json:"module,omitempty"` // of an import
	Name    string   `json:"name"`
	Params  []string `json:"params"`
	Results []string `json:"results"`
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
