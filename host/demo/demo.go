// Package demo holds what the binary carries to show itself: a plugin, and two
// snippets that do the main job with it.
//
// It imports the standard library only.
package demo

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed all:plugins
var plugins embed.FS

//go:embed snippets/*.py
var snippets embed.FS

// Plugin returns the module of a plugin that the binary carries, such as
// "issues".
func Plugin(name string) ([]byte, error) {
	return module(plugins, name)
}

// builtin are the plugins that a complete build carries.
var builtin = []string{"issues"}

func module(files fs.FS, name string) ([]byte, error) {
	if !slices.Contains(builtin, name) {
		return nil, fmt.Errorf("there's no builtin plugin %q; there are: %s", name, strings.Join(builtin, ", "))
	}
	wasm, err := fs.ReadFile(files, "plugins/"+name+".wasm")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("this binary was built without the builtin plugin %s: run make plugins, and build it again", name)
	}
	return wasm, err
}

// Plugins lists the builtin plugins.
func Plugins() []string { return slices.Clone(builtin) }

// A Snippet is one Python file of the demonstration.
type Snippet struct {
	Filename, Code string
}

// Snippets returns the two snippets in the order in which they run.
func Snippets() []Snippet {
	var out []Snippet
	for _, name := range []string{"1_fetch.py", "2_aggregate.py"} {
		code, err := snippets.ReadFile("snippets/" + name)
		if err != nil {
			panic("demo: the binary lacks " + name) // embedded at build time
		}
		out = append(out, Snippet{name, string(code)})
	}
	return out
}
