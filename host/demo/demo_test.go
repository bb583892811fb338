package demo

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestPlugin(t *testing.T) {
	built := fstest.MapFS{"plugins/issues.wasm": {Data: []byte("module")}, "plugins/other.wasm": {Data: []byte("other")}}
	if got, err := module(built, "issues"); err != nil || string(got) != "module" {
		t.Errorf("%q, %v", got, err)
	}
	for _, c := range []struct {
		name, plugin string
		files        fstest.MapFS
		want         string
	}{
		{"unknown", "zebra", built, `there's no builtin plugin "zebra"; there are: issues`},
		{"a file that isn't offered", "other", built, `there's no builtin plugin "other"`},
		{"a path", "../plugins/issues", built, `there's no builtin plugin`},
		{"not built", "issues", fstest.MapFS{}, "run make plugins"},
	} {
		if _, err := module(c.files, c.plugin); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if len(Plugins()) != 1 {
		t.Errorf("%q", Plugins())
	}
}

func TestSnippets(t *testing.T) {
	s := Snippets()
	if len(s) != 2 || s[0].Filename != "1_fetch.py" || s[1].Filename != "2_aggregate.py" {
		t.Fatalf("%+v", s)
	}
	if !strings.Contains(s[0].Code, "save_result") || !strings.Contains(s[1].Code, `load_result(_["handle"])`) {
		t.Error("the snippets don't show the main job")
	}
}
