// Package web serves the browser side: the page in which a headless browser runs Python, its sandboxed frame and pyodide. The files are built
// by `make web` from web/runtime and embedded in the binary; nothing comes from a CDN.
package web

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// The folder holds only a .gitignore until `make web`, so that the module compiles on a clean clone.
//
//go:embed all:dist
var dist embed.FS

// ErrNotBuilt is why nothing can be served: the binary was built without the browser runtime.
var ErrNotBuilt = errors.New("the browser runtime isn't built into this binary: run `make web`, then build again")

// manifest is what web/build.mjs wrote beside the files.
type manifest struct {
	Pyodide  string            `json:"pyodide"`   // version
	FrameCSP string            `json:"frame_csp"` // content security policy of frame.html, with the hash of its script
	Files    map[string]string `json:"files"`     // path below dist/executor → SHA-256 in hex
}

var embedded = sync.OnceValues(func() (*manifest, error) { return readManifest(executorFS()) })

func executorFS() fs.FS {
	sub, err := fs.Sub(dist, "dist/executor")
	if err != nil {
		panic(err) // only a malformed constant path
	}
	return sub
}

func readManifest(files fs.FS) (*manifest, error) {
	text, err := fs.ReadFile(files, "manifest.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotBuilt
	}
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	m := new(manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("web: manifest.json: %w", err)
	}
	return m, nil
}

// Built returns nil when the browser runtime is embedded in this binary, and otherwise an error that says how to build it,
// usually [ErrNotBuilt].
func Built() error {
	_, err := embedded()
	return err
}

// Version returns the version of the embedded pyodide, or "" when the runtime isn't built in.
func Version() (pyodide string) {
	m, err := embedded()
	if err != nil {
		return ""
	}
	return m.Pyodide
}
