package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

// ParsePlugin reads NAME=SOURCE, as given to --plugin. A relative path is
// relative to dir. The plugin gets the defaults, which is to say no permission.
func ParsePlugin(text, dir string) (name string, p Plugin, err error) {
	const form = `write NAME=SOURCE, such as issues=builtin:issues or mine=./mine.wasm`
	name, source, ok := strings.Cut(text, "=")
	if !ok {
		return "", Plugin{}, fmt.Errorf("%q has no =: %s", text, form)
	}
	if !pluginName.MatchString(name) {
		return "", Plugin{}, fmt.Errorf("%q can't be a plugin's name (a letter, then up to 63 letters, digits, _ or -): %s", name, form)
	}
	if err := checkSource(source); err != nil {
		return "", Plugin{}, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", Plugin{}, fmt.Errorf("finding the folder of %s: %w", source, err)
	}
	p = DefaultPlugin(source)
	p.resolve(abs)
	return name, p, nil
}
