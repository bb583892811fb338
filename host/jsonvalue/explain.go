package jsonvalue

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// explain finds the first fault of a text that Check refuses.
func explain(text []byte) *Error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	var at path
	for read := false; ; read = true {
		offset := dec.InputOffset()
		tok, err := dec.ReadToken()
		if err != nil {
			if errors.Is(err, io.EOF) && read && len(at) == 0 {
				// Unreachable as long as the fast passes and this walk agree.
				return &Error{Path: "value", Offset: offset, Problem: "isn't acceptable JSON"}
			}
			return &Error{Path: at.String(), Offset: faultOffset(err, offset), Problem: syntaxProblem(text, err, offset)}
		}
		if read && len(at) == 0 {
			return &Error{Path: "value", Offset: offset, Problem: "more text after the end of the value; send one JSON value"}
		}
		switch tok.Kind() {
		case '{', '[':
			at = append(at, step{array: tok.Kind() == '['})
			if len(at) > MaxDepth {
				return &Error{Path: at[:len(at)-1].String(), Offset: dec.InputOffset() - 1, Problem: fmt.Sprintf(
					"nests deeper than %d levels; flatten it, or save parts of it under handles of their own", MaxDepth)}
			}
			continue
		case '}', ']':
			at = at[:len(at)-1]
		case '0':
			literal := tok.String()
			if p := numberProblem([]byte(literal)); p != "" {
				return &Error{Path: at.String(), Offset: dec.InputOffset() - int64(len(literal)), Problem: p}
			}
		case '"':
			if n := len(at); n > 0 && !at[n-1].array && !at[n-1].named {
				at[n-1].name, at[n-1].named = tok.String(), true
				continue
			}
		}
		at.next()
	}
}

func faultOffset(err error, otherwise int64) int64 {
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return syn.ByteOffset
	}
	return otherwise
}

func syntaxProblem(text []byte, err error, offset int64) string {
	at := faultOffset(err, offset)
	rest := text[min(max(at, 0), int64(len(text))):]
	var syn *jsontext.SyntacticError
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return "empty text; send one JSON value"
	case bytes.HasPrefix(rest, []byte("\ufeff")):
		return "starts with a byte order mark; send UTF-8 without one"
	case isSurrogateEscape(rest):
		return "a string holds the lone surrogate " + string(rest[:6]) +
			", which is half a character; drop it, or write the whole pair"
	case len(rest) > 0 && !utf8.FullRune(rest), len(rest) > 0 && isInvalidRune(rest):
		return fmt.Sprintf("invalid UTF-8 (byte 0x%02x at offset %d)", rest[0], at)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the text ends in the middle of the value"
	case bytes.HasPrefix(rest, []byte("NaN")), bytes.HasPrefix(rest, []byte("Infinity")), bytes.HasPrefix(rest, []byte("-Infinity")):
		return "NaN and Infinity aren't JSON; use null or a string"
	case errors.As(err, &syn) && syn.Err != nil:
		return fmt.Sprintf("isn't JSON: %s at offset %d", strings.TrimPrefix(syn.Err.Error(), "jsontext: "), at)
	}
	return fmt.Sprintf("isn't JSON at offset %d: %s", at, err)
}

func isSurrogateEscape(b []byte) bool {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return err == nil && 0xd800 <= v && v <= 0xdfff
}

func isInvalidRune(b []byte) bool {
	r, n := utf8.DecodeRune(b)
	return r == utf8.RuneError && n <= 1
}
