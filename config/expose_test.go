package config

import (
	"strings"
	"testing"
)

func TestExposePatterns(t *testing.T) {
	for _, pattern := range []string{
		"plugin:orders/*", "plugin:orders/list", "plugin:orders/get_?", "plugin:ord*/list", "cli:git", "tag:lookup", "tag:über uns",
		"plugin:orders/list as find_orders", "plugin:conformance/* as *", "plugin:a/* as a-*",
	} {
		if err := checkExpose(pattern); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	for pattern, says := range map[string]string{
		"*": "everything", "**": "everything", "?": "everything", "": "everything", "*:*": "everything", "*/*": "everything", "plugin:*": "everything", "plugin:*/*": "everything", "tag:*": "everything",
		"* as x": "everything", "orders": "isn't a pattern", "orders/*": "isn't a pattern", "pl*:orders/list": "isn't a pattern", " plugin:a/b": "isn't a pattern", "PLUGIN:a/b": "isn't a pattern",
		"plugin:a/b as ": "tool's name", "plugin:a/b as a b": "tool's name", "plugin:a/* as **": "tool's name", "plugin:a/b as é": "tool's name",
		"plugin:a/b as " + strings.Repeat("x", 65): "tool's name", "plugin:a/" + strings.Repeat("x", 300): "limit is 256",
	} {
		if err := checkExpose(pattern); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", pattern, err, says)
		}
	}
}

func TestFoldWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"results.enabled = false":                                         "fold.enabled",
		"results.enabled = false\nfold.enabled = false":                   "",
		"fold.threshold_bytes = '1 MiB'\nfold.max_total_bytes = '64 KiB'": "fold.max_total_bytes",
		"fold.threshold_bytes = '1 KiB'\nmcp.inline_capabilities = 0":     "",
	} {
		_, f, _, err := loadText(t, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var keys []string
		for _, w := range f.Warnings {
			keys = append(keys, w.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: warnings about %q, want %q", text, got, want)
		}
	}
	if _, _, _, err := loadText(t, "fold.threshold_bytes = 1000"); err == nil || !strings.Contains(err.Error(), "1 KiB") {
		t.Errorf("a threshold below 1 KiB: %v", err)
	}
	if _, _, _, err := loadText(t, "mcp.expose = ['*']"); err == nil || !strings.Contains(err.Error(), "everything") {
		t.Errorf("a bare *: %v", err)
	}
}
