package main

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/toolplane/toolplane/config"
)

// TestCallOptions: the flags of plugin call add to what the configuration grants,
// and leave the configuration alone.
func TestCallOptions(t *testing.T) {
	a := newTestApp(t)
	configured := config.DefaultPlugin("x.wasm")
	configured.AllowedHosts = append(make([]string, 0, 8), "a.example")
	configured.Config = map[string]string{"k": "v"}
	p := configured
	o := callOptions{
		hosts: []string{"b.example"}, paths: []string{"ro:data=/data", filepath.Join(a.dir, "x") + "=/x"},
		config: []string{"k=w", "empty="}, timeout: 5 * time.Second, memory: 7,
	}
	if err := o.apply(&p); err != nil {
		t.Fatal(err)
	}
	want := config.DefaultPlugin("x.wasm")
	want.AllowedHosts = []string{"a.example", "b.example"}
	want.AllowedPaths = map[string]string{"ro:" + abs(t, "data"): "/data", filepath.Join(a.dir, "x"): "/x"}
	want.Config = map[string]string{"k": "w", "empty": ""}
	want.Timeout, want.MemoryMB = 5*time.Second, 7
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
	if configured.Config["k"] != "v" || len(configured.AllowedPaths) != 0 || len(configured.AllowedHosts[:2][1]) != 0 {
		t.Errorf("the configuration was changed: %+v", configured)
	}
}

func abs(t *testing.T, path string) string {
	t.Helper()
	out, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
