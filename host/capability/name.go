package capability

import (
	"fmt"
	"strings"
)

// Name is a canonical name taken apart.
type Name struct{ Kind, Provider, Tool string }

// ParseName takes a canonical name apart.
func ParseName(s string) (Name, error) {
	kind, rest, ok := strings.Cut(s, ":")
	if !ok {
		return Name{}, fmt.Errorf("capability name %q: want kind:provider/tool", s)
	}
	provider, tool, _ := strings.Cut(rest, "/")
	return Name{kind, provider, tool}, nil
}

func (n Name) String() string {
	if n.Tool == "" {
		return n.Kind + ":" + n.Provider
	}
	return n.Kind + ":" + n.Provider + "/" + n.Tool
}
