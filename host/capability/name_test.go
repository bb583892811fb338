package capability_test

import (
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
)

func TestParseName(t *testing.T) {
	for _, tc := range []struct {
		text string
		want capability.Name
	}{
		{"plugin:issues/list", capability.Name{Kind: "plugin", Provider: "issues", Tool: "list"}},
		{"cli:git", capability.Name{Kind: "cli", Provider: "git"}},
		{"mcp:git-hub/issues/create", capability.Name{Kind: "mcp", Provider: "git-hub", Tool: "issues/create"}},
		{"toolplane:results/save", capability.Name{Kind: "toolplane", Provider: "results", Tool: "save"}},
		{"mcp:a:b/c d", capability.Name{Kind: "mcp", Provider: "a:b", Tool: "c d"}},
		{"plugin:größe/日本", capability.Name{Kind: "plugin", Provider: "größe", Tool: "日本"}},
	} {
		got, err := capability.ParseName(tc.text)
		if err != nil || got != tc.want {
			t.Errorf("%s: got %+v, %v", tc.text, got, err)
		}
		if got.String() != tc.text {
			t.Errorf("%s: written as %s", tc.text, got)
		}
	}
	for text, says := range map[string]string{
		"":                                   "has no kind",
		"issues/list":                        "has no kind",
		":a/b":                               "lower-case",
		"Plugin:a/b":                         "lower-case",
		"plug-in:a/b":                        "lower-case",
		"plugin:":                            "has no provider",
		"plugin:/b":                          "has no provider",
		"plugin:a/":                          "has an empty tool",
		"plugin:a/b\n":                       "doesn't print",
		"plugin:a/ b":                        "doesn't print",
		"plugin: a/b":                        "doesn't print",
		"plugin:a\u202eb/c":                  "doesn't print",
		"plugin:a/\xff":                      "doesn't print",
		"plugin:" + strings.Repeat("x", 250): "257 bytes",
	} {
		_, err := capability.ParseName(text)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "want kind:provider/tool") {
			t.Errorf("%q: got %v, want it to say %q", text, err, says)
		}
	}
}
