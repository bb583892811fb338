package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// EnvVar names a configuration file, like --config.
const EnvVar = "TOOLPLANE_CONFIG"

// A Source says where to look for a file. The first of the fields that is set
// and, for the folders, holds a file wins; a file that File or Env names must
// be there.
type Source struct {
	File    string // the value of --config
	Env     string // the value of TOOLPLANE_CONFIG
	Dir     string // the current folder
	UserDir string // the user's configuration folder, where toolplane/toolplane.toml is looked for
}

// Environment returns the source that the command line uses: flag, variable,
// current folder, and the user's configuration folder where there is one.
func Environment(flag string) Source {
	s := Source{File: flag, Env: os.Getenv(EnvVar), Dir: "."}
	if dir, err := os.UserConfigDir(); err == nil {
		s.UserDir = dir
	}
	return s
}

// Origins of a configuration, in the order in which they are looked at.
const (
	OriginFlag     = "--config"
	OriginEnv      = EnvVar
	OriginDir      = "the current folder"
	OriginUserDir  = "the user's configuration folder"
	OriginDefaults = "built-in defaults"
)

// Found says which file a configuration came from.
type Found struct {
	// Path of the file as it was asked for, "" when there's none.
	Path string
	// Origin is one of the Origin constants.
	Origin string
	// Missed are the places that were looked at before, and held no file.
	Missed []string
	// Warnings are settings that work, but deserve a second look.
	Warnings Problems

	doc *document
}

// Line returns the line of a setting ("server", "listen"), 1 being the first, or
// 0 where the file doesn't set it.
func (f Found) Line(path ...string) int { return f.doc.line(path...) }

// Load finds and reads the configuration. Where there's no file, it returns
// [Default]. The error of a file that can't be used is [Problems], except where the
// file can't be read at all.
func Load(s Source) (*Config, Found, error) {
	f, data, err := find(s)
	if err != nil || f.Path == "" {
		return Default(), f, err
	}
	c, doc, err := decodeFile(f.Path, data)
	f.doc = doc
	if err != nil {
		return nil, f, err
	}
	for _, w := range c.warnings() {
		f.Warnings = append(f.Warnings, Problem{File: f.Path, Line: doc.line(w.path...), Key: strings.Join(w.path, "."), Text: w.text})
	}
	return c, f, nil
}

func decodeFile(path string, data []byte) (*Config, *document, error) {
	doc, err := parse(path, data)
	if err != nil {
		return nil, nil, err
	}
	d := &decoder{doc: doc}
	c := d.decode()
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, doc, fmt.Errorf("config: finding the folder of %s: %w", path, err)
	}
	c.resolve(dir)
	if len(d.problems) == 0 {
		for _, p := range c.conflicts() {
			d.problem(p.path, "%s", p.text)
		}
	}
	if err := d.problems.asError(); err != nil {
		return nil, doc, err
	}
	return c, doc, nil
}

func find(s Source) (Found, []byte, error) {
	for _, named := range []struct{ path, origin string }{{s.File, OriginFlag}, {s.Env, OriginEnv}} {
		if named.path == "" {
			continue
		}
		data, err := read(named.path)
		if err != nil {
			return Found{Origin: named.origin}, nil, fmt.Errorf("the file that %s names can't be read: %w", named.origin, err)
		}
		return Found{Path: named.path, Origin: named.origin}, data, nil
	}
	var f Found
	for _, place := range []struct{ dir, below, origin string }{{s.Dir, "", OriginDir}, {s.UserDir, "toolplane", OriginUserDir}} {
		if place.dir == "" {
			continue
		}
		path := filepath.Join(place.dir, place.below, FileName)
		data, err := read(path)
		if errors.Is(err, fs.ErrNotExist) {
			f.Missed = append(f.Missed, path)
			continue
		}
		f.Origin = place.origin
		if err != nil {
			return f, nil, fmt.Errorf("the file in %s can't be read: %w", place.origin, err)
		}
		f.Path = path
		return f, data, nil
	}
	f.Origin = OriginDefaults
	return f, nil, nil
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; name the file in it, such as %s", path, filepath.Join(path, FileName))
	}
	var buf bytes.Buffer
	n, err := io.Copy(&buf, io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if n > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than a configuration file may be, %s", path, Bytes(maxFileBytes))
	}
	return buf.Bytes(), nil
}
