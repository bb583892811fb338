package result

import (
	"unicode"
	"unicode/utf8"
)

// checkLabel refuses labels that would disturb whoever reads a list of them.
func checkLabel(label string) error {
	if len(label) > MaxLabelBytes {
		return refuse(CodeBadLabel, "the label has %d bytes, the limit is %d; "+
			"use a short label, and put the rest into the value", len(label), MaxLabelBytes)
	}
	if !utf8.ValidString(label) {
		return refuse(CodeBadLabel, "the label isn't valid UTF-8; use plain text")
	}
	for _, r := range label {
		// Cf holds the marks that turn or hide text; a joiner in an emoji or a word
		// (U+200C, U+200D) is harmless.
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' ||
			unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' {
			return refuse(CodeBadLabel, "the label holds the control character %U; use one line of plain text", r)
		}
	}
	return nil
}
