package fold

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The scanners below rely on text that jsonvalue.Check accepted: brackets and
// quotes are all that has to be looked at. Whatever the text, they stay inside
// it and come to an end.

// skipSpace returns the index of the first byte from i on that isn't white space.
func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at text[i].
func skipString(text []byte, i int) int {
	open := i
	i++
	for i <= len(text) {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		quote := i + n
		i = quote + 1
		escapes := 0
		for quote-1-escapes > open && text[quote-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
	return len(text)
}

// skipValue returns the index after the value that starts at text[i], or i where
// no value starts.
func skipValue(text []byte, i int) int {
	if i >= len(text) {
		return i
	}
	switch text[i] {
	case '"':
		return skipString(text, i)
	case '{', '[':
	default:
		return skipScalar(text, i)
	}
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = skipString(text, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// cursor goes through the children of a list or object.
type cursor struct {
	text   []byte
	pos    int // of the next child, or of what closes the container
	object bool
}

// more tells whether there is another child, and moves to it.
func (c *cursor) more() bool {
	c.pos = skipSpace(c.text, c.pos)
	return c.pos < len(c.text) && c.text[c.pos] != ']' && c.text[c.pos] != '}' && (!c.object || c.text[c.pos] == '"')
}

// key reads a member's key, and moves to its value.
func (c *cursor) key() (start, end int) {
	start, end = c.pos, skipString(c.text, c.pos)
	c.pos = skipSpace(c.text, end)
	if c.pos < len(c.text) && c.text[c.pos] == ':' {
		c.pos = skipSpace(c.text, c.pos+1)
	}
	return start, end
}

// after moves to behind the child's value, which ends at end. It is false where
// there was no value.
func (c *cursor) after(end int) bool {
	if end <= c.pos {
		c.pos = len(c.text) // only in a text that isn't JSON
		return false
	}
	c.pos = skipSpace(c.text, end)
	if c.pos < len(c.text) && c.text[c.pos] == ',' {
		c.pos = skipSpace(c.text, c.pos+1)
	}
	return true
}

// closed is the index after the container, when there are no more children.
func (c *cursor) closed() int { return min(c.pos+1, len(c.text)) }

// skipScalar returns the index after the number or literal at text[i].
func skipScalar(text []byte, i int) int {
	for i < len(text) {
		switch text[i] {
		case ',', ':', '"', '[', ']', '{', '}', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}

// charAt returns how many bytes the character at s[i] takes, s being what stands
// between two quotes.
func charAt(s []byte, i int) int {
	c := s[i]
	switch {
	case c == '\\' && i+1 < len(s) && s[i+1] == 'u':
		// A pair is one character. Check has refused lone halves.
		if i+12 <= len(s) && s[i+2]|0x20 == 'd' && s[i+3] >= '8' && s[i+6] == '\\' {
			return 12
		}
		return min(6, len(s)-i)
	case c == '\\':
		return min(2, len(s)-i)
	case c < utf8.RuneSelf:
		return 1
	}
	_, n := utf8.DecodeRune(s[i:])
	return n
}

// countChars counts the characters of s, what stands between two quotes.
func countChars(s []byte) int {
	n := 0
	for {
		escape := bytes.IndexByte(s, '\\')
		if escape < 0 {
			return n + utf8.RuneCount(s)
		}
		n += utf8.RuneCount(s[:escape]) + 1
		s = s[escape+charAt(s, escape):]
	}
}

// skipChars returns the index after n characters from s[i] on, or the end.
func skipChars(s []byte, i, n int) int {
	for ; n > 0 && i < len(s); n-- {
		i += charAt(s, i)
	}
	return i
}

// inside returns what stands between the quotes of a string.
func inside(quoted []byte) []byte {
	if len(quoted) < 2 {
		return nil
	}
	return quoted[1 : len(quoted)-1]
}

// unquote decodes a string.
func unquote(quoted []byte) string {
	s := inside(quoted)
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s)
	}
	decoded, _ := jsontext.AppendUnquote(nil, quoted) // can't fail on checked text
	return string(decoded)
}

// spells tells whether the string decodes to name.
func spells(quoted []byte, name string) bool {
	s := inside(quoted)
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s) == name
	}
	return len(s) >= len(name) && unquote(quoted) == name
}

func appendQuoted(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // an error only says that invalid UTF-8 was replaced
	return dst
}
