package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestFound: --config, TOOLPLANE_CONFIG, the current folder, the user's folder,
// in that order.
func TestFound(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	flag := write("flag.toml", "results.max_entries = 1")
	env := write("env.toml", "results.max_entries = 2")
	here := write("here/toolplane.toml", "results.max_entries = 3")
	user := write("user/toolplane/toolplane.toml", "results.max_entries = 4")
	empty := filepath.Join(dir, "empty")
	all := Source{File: flag, Env: env, Dir: filepath.Dir(here), UserDir: filepath.Join(dir, "user")}

	cases := []struct {
		name    string
		source  Source
		path    string
		origin  string
		entries int
		missed  []string
	}{
		{"flag", all, flag, "--config", 1, nil},
		{"variable", Source{Env: all.Env, Dir: all.Dir, UserDir: all.UserDir}, env, "TOOLPLANE_CONFIG", 2, nil},
		{"current folder", Source{Dir: all.Dir, UserDir: all.UserDir}, here, "the current folder", 3, nil},
		{"user's folder", Source{Dir: empty, UserDir: all.UserDir}, user, "the user's configuration folder", 4, []string{filepath.Join(empty, "toolplane.toml")}},
		{"nothing", Source{Dir: empty, UserDir: empty}, "", "built-in defaults", 64, []string{filepath.Join(empty, "toolplane.toml"), filepath.Join(empty, "toolplane", "toolplane.toml")}},
		{"no folders", Source{}, "", "built-in defaults", 64, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, f, err := Load(c.source)
			if err != nil {
				t.Fatal(err)
			}
			if f.Path != c.path || f.Origin != c.origin || got.Results.MaxEntries != c.entries || !reflect.DeepEqual(f.Missed, c.missed) {
				t.Errorf("found %+v with max_entries %d", f, got.Results.MaxEntries)
			}
		})
	}
}

// TestNotFound: a file that was asked for must be there, and a broken one that
// was only found isn't passed over.
func TestNotFound(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	if err := os.Mkdir(good, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(good, FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad")
	if err := os.MkdirAll(filepath.Join(bad, FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large.toml")
	if err := os.WriteFile(large, make([]byte, maxFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		source Source
		want   string
	}{
		{"flag", Source{File: filepath.Join(dir, "no.toml"), Dir: good}, "the file that --config names can't be read: open "},
		{"variable", Source{Env: filepath.Join(dir, "no.toml"), Dir: good}, "the file that TOOLPLANE_CONFIG names can't be read: open "},
		{"folder as file", Source{File: good}, good + " is a folder; name the file in it, such as " + filepath.Join(good, FileName)},
		{"broken before good", Source{Dir: bad, UserDir: good}, "the file in the current folder can't be read: "},
		{"too large", Source{File: large}, large + " is larger than a configuration file may be, 256 KiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := Load(c.source)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if c.source.File != "" && got == nil && err == nil {
				t.Error("neither configuration nor error")
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv(EnvVar, "some.toml")
	t.Setenv("XDG_CONFIG_HOME", "/nowhere")
	got := Environment("flag.toml")
	if got.File != "flag.toml" || got.Env != "some.toml" || got.Dir != "." || got.UserDir == "" {
		t.Errorf("%+v", got)
	}
}

func TestParsePlugin(t *testing.T) {
	dir := t.TempDir()
	for text, source := range map[string]string{
		"issues=builtin:issues": "builtin:issues",
		"a=./b.wasm":            filepath.Join(dir, "b.wasm"),
		"a=/c/d=e.wasm":         "/c/d=e.wasm",
	} {
		name, p, err := ParsePlugin(text, dir)
		want := DefaultPlugin(source)
		if err != nil || !reflect.DeepEqual(p, want) || !strings.HasPrefix(text, name+"=") {
			t.Errorf("%q: %q %+v %v", text, name, p, err)
		}
	}
	for text, want := range map[string]string{
		"x.wasm":        `"x.wasm" has no =: write NAME=SOURCE, such as issues=builtin:issues or mine=./mine.wasm`,
		"a b=x.wasm":    `"a b" can't be a plugin's name`,
		"a=":            `must name a .wasm file`,
		"a=builtin:":    `"builtin:" names no builtin plugin`,
		"a=oci://x/y:z": `this version loads plugins from files only`,
	} {
		if _, _, err := ParsePlugin(text, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestValidate(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	c.Server.Listen = "192.0.2.1:1"
	if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), "server.listen: other machines could reach") {
		t.Errorf("a remote address: %v", err)
	}
	c.Server.AllowRemote = true
	if err := c.Validate(); err != nil {
		t.Errorf("a permitted remote address: %v", err)
	}
}
