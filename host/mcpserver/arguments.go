package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// arguments are a tool's arguments, each as its JSON text, so that numbers keep
// every digit.
type arguments map[string]json.RawMessage

func parseArguments(raw json.RawMessage) (arguments, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return arguments{}, nil
	}
	var a arguments
	if raw[0] != '{' || json.Unmarshal(raw, &a) != nil {
		return nil, fmt.Errorf("the arguments must be a JSON object")
	}
	return a, nil
}

// only refuses arguments that the tool doesn't have: a misspelled option that is
// passed over would be a silent surprise.
func (a arguments) only(names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if !slices.Contains(names, name) {
			if len(names) == 0 {
				return fmt.Errorf("unknown argument %q; this tool takes none", name)
			}
			return fmt.Errorf("unknown argument %q; there are: %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// has reports whether an argument is there and isn't null.
func (a arguments) has(name string) bool {
	raw, ok := a[name]
	return ok && string(raw) != "null"
}

// get decodes one argument into a pointer, if it's there and isn't null. want
// describes what it must be.
func (a arguments) get(name string, into any, want string) error {
	if !a.has(name) {
		return nil
	}
	if err := json.Unmarshal(a[name], into); err != nil {
		return fmt.Errorf("%s must be %s", name, want)
	}
	return nil
}
