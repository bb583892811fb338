package protocol

import (
	"fmt"
	"strings"
)

var envelopeMembers = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// maxShownName bounds how much of a peer's text an error repeats.
const maxShownName = 64

// unknownMember words the refusal of a member, with the known name that was probably meant.
func unknownMember(path, name string, known []string) string {
	if path != "" {
		path += ": "
	}
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return fmt.Sprintf("%sunknown member %q, names are case-sensitive: write %q", path, shorten(name), k)
		}
	}
	return fmt.Sprintf("%sunknown member %q, known are %s", path, shorten(name), strings.Join(known, ", "))
}

// shorten cuts long text at a character boundary.
func shorten(s string) string {
	if len(s) <= maxShownName {
		return s
	}
	return strings.ToValidUTF8(s[:maxShownName], "") + "…"
}
