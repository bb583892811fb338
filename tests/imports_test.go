package tests

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/toolplane/toolplane/"

// importRule says what the files below a folder may import. The longest matching folder rules. Standard library packages
// are always allowed; test files (_test.go) may import anything.
type importRule struct {
	folder string
	own    []string // packages of this module, without the module path; a trailing /... allows what is below
	others []string // module paths of other projects
	why    string
}

var importRules = []importRule{
	{"config", nil, []string{"github.com/BurntSushi/toml", "github.com/adrg/xdg", "github.com/agnivade/levenshtein"},
		"the configuration is data: it knows nothing of the host that reads it"},
	{"host/jsonvalue", nil, []string{"github.com/go-json-experiment/json"},
		"a leaf that every store and provider can use"},
	{"host/capability", nil, []string{"github.com/santhosh-tekuri/jsonschema/v6", "github.com/agnivade/levenshtein", "golang.org/x/text"},
		"the vocabulary of providers, bridge and front ends knows none of them"},
	{"host/result", nil, nil, "a store keeps bytes; scopes and errors are mapped by the bridge"},
	{"host/plugin", []string{"host/capability", "host/jsonvalue"}, []string{"github.com/extism/go-sdk", "github.com/tetratelabs/wazero", "github.com/gobwas/glob", "golang.org/x/sync"},
		"a provider knows no wire and no dispatch"},
	{"host/bridge", []string{"host/capability", "host/fold", "host/jsonvalue", "host/result"}, nil,
		"the dispatch authority knows no provider; fold finds the handles among arguments"},
	{"host/executor", []string{"host/capability", "host/jsonvalue", "wsbridge", "wsbridge/protocol"}, []string{"github.com/chromedp/chromedp", "github.com/chromedp/cdproto", "golang.org/x/sys", "golang.org/x/sync"},
		"an executor runs code and hands calls to a Dispatcher; it knows neither bridge nor stores"},
	{"host/mcpserver", []string{"host/capability", "host/executor", "host/fold", "host/jsonvalue", "host/result", "host/search"}, []string{"github.com/modelcontextprotocol/go-sdk", "github.com/google/jsonschema-go"},
		"a front end asks for runs and calls through interfaces; it knows no provider, bridge or wire"},
	{"host/fold", []string{"host/jsonvalue"}, []string{"github.com/go-json-experiment/json"}, "previews and paths are pure functions of JSON text"},
	{"host/search", []string{"host/capability"}, []string{"github.com/blevesearch/bleve/v2", "github.com/blevesearch/bleve_index_api"}, "an index over the registry's capabilities"},
	{"host/token", nil, []string{"golang.org/x/sys"}, "a store of hashed secrets knows nobody who uses it"},
	{"host/join", []string{"host/token"}, []string{"golang.org/x/sys"}, "it passes messages on to a host and starts none"},
	{"host/demo", nil, nil, "embedded files only"},
	{"host", []string{"config", "web", "wsbridge", "wsbridge/protocol", "host/..."}, []string{"github.com/gorilla/mux", "golang.org/x/sync"},
		"package host wires the parts; nothing below it imports it"},
	{"wsbridge/protocol", nil, []string{"github.com/go-json-experiment/json"}, "wire types are shared with TypeScript and know no transport"},
	{"wsbridge/wsbridgetest", []string{"wsbridge", "wsbridge/protocol"}, nil, "a test pair with the real codec"},
	{"wsbridge", []string{"wsbridge/protocol"}, []string{"nhooyr.io/websocket"}, "the connection carries any method and knows no Toolplane package"},
	{"web", nil, nil, "embedded assets and the handler that serves them"},
	{"cmd", []string{"config", "host", "host/...", "web"}, []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys", "golang.org/x/term"},
		"commands turn flags into options"},
	{"tests", []string{"..."}, []string{"*"}, "tests see everything"},
}

// TestImports holds every non-test Go file of the module to the rule of its folder.
func TestImports(t *testing.T) {
	used := map[string]bool{}
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		rule := ruleFor(file)
		if rule == nil {
			t.Errorf("%s: no import rule covers this folder: add one to tests/imports_test.go", file)
			continue
		}
		used[rule.folder] = true
		for _, path := range importsOf(t, file) {
			if !rule.allows(path) {
				t.Errorf("%s imports %q, which %s may not: %s", file, path, rule.folder, rule.why)
			}
		}
	}
	for _, rule := range importRules {
		if !used[rule.folder] {
			t.Errorf("the rule for %s covers no file: remove it", rule.folder)
		}
	}
}

// TestWebSocketLibraryStaysInOneFile keeps the WebSocket library replaceable: nhooyr.io/websocket has moved once already.
func TestWebSocketLibraryStaysInOneFile(t *testing.T) {
	var found []string
	for _, file := range goFiles(t) {
		if slices.ContainsFunc(importsOf(t, file), func(p string) bool { return strings.Contains(p, "nhooyr.io/websocket") }) {
			found = append(found, file)
		}
	}
	if !slices.Equal(found, []string{"wsbridge/websocket.go"}) {
		t.Errorf("nhooyr.io/websocket is imported by %q, want only wsbridge/websocket.go", found)
	}
}

// TestWireKnowsNoMethod keeps wsbridge free of Toolplane's methods: they are strings of wsbridge/protocol and its callers.
func TestWireKnowsNoMethod(t *testing.T) {
	for _, file := range goFiles(t) {
		if filepath.Dir(file) != "wsbridge" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"session.hello", "tool.call", "run.output", "executor.run", "executor.status", "catalog.changed"} {
			if strings.Contains(string(text), strconv.Quote(method)) {
				t.Errorf("%s names the method %s: methods belong to the callers of wsbridge", file, method)
			}
		}
	}
}

// TestPackageNames refuses names that say nothing about what a package is for.
func TestPackageNames(t *testing.T) {
	for _, file := range goFiles(t) {
		for _, part := range strings.Split(filepath.ToSlash(filepath.Dir(file)), "/") {
			switch part {
			case "util", "utils", "common", "helper", "helpers", "misc", "shared":
				t.Errorf("%s: a package called %q says nothing about its job", file, part)
			}
		}
	}
}

func (r *importRule) allows(path string) bool {
	if own, ok := strings.CutPrefix(path, module); ok {
		return slices.ContainsFunc(r.own, func(p string) bool {
			prefix, tree := strings.CutSuffix(p, "...")
			return own == p || tree && strings.HasPrefix(own, prefix)
		})
	}
	if !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
		return true // standard library
	}
	return slices.ContainsFunc(r.others, func(p string) bool { return p == "*" || path == p || strings.HasPrefix(path, p+"/") })
}

func ruleFor(file string) *importRule {
	var best *importRule
	for i := range importRules {
		r := &importRules[i]
		if strings.HasPrefix(file, r.folder+"/") && (best == nil || len(r.folder) > len(best.folder)) {
			best = r
		}
	}
	return best
}

// goFiles lists the Go files of this module, by paths from its root. plugins/ is a module of its own.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(".."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path == "plugins" || name == "node_modules" || name == "testdata" || path != "." && strings.HasPrefix(name, ".") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found only %d Go files: is this the module's root?", len(files))
	}
	return files
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", file), nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}
