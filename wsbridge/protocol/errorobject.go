package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

var errorMembers = []string{"code", "message", "data"}

// decodeError reads an error object, whose syntax was checked before. The error names a path in the envelope.
func decodeError(raw []byte) (*Error, error) {
	s := newScanner(raw)
	defer s.release()
	e := &Error{}
	if kind := s.peek(); kind != '{' {
		return e, fmt.Errorf("error must be an object, not %s", kindName(kind))
	}
	seen := map[string]bool{}
	err := s.object(func(name string) error {
		if !slices.Contains(errorMembers, name) {
			return errors.New(unknownMember("error", name, errorMembers))
		}
		if seen[name] {
			return fmt.Errorf("error: duplicate member %q", name)
		}
		seen[name] = true
		kind := s.peek()
		if name == "data" {
			if kind != '{' {
				return fmt.Errorf("error.data must be an object, not %s", kindName(kind))
			}
			return decodeErrorData(s, e)
		}
		value, err := s.value()
		if err != nil {
			return err
		}
		if name == "message" {
			if kind != '"' {
				return fmt.Errorf("error.message must be a string, not %s", kindName(kind))
			}
			e.Message = unquote(value)
			return nil
		}
		code, ok := parseInteger(value)
		if !ok || code < math.MinInt32 || code > math.MaxInt32 {
			return errors.New("error.code must be a 32-bit integer, written without fraction or exponent")
		}
		e.Code = int(code)
		return nil
	})
	if err != nil {
		return e, err
	}
	for _, name := range errorMembers[:2] {
		if !seen[name] {
			return e, fmt.Errorf("error.%s is missing", name)
		}
	}
	return e, nil
}

func decodeErrorData(s *scanner, e *Error) error {
	data := &ErrorData{}
	seen := map[string]bool{}
	err := s.object(func(name string) error {
		if seen[name] {
			return fmt.Errorf("error.data: duplicate member %q", shorten(name))
		}
		seen[name] = true
		kind := s.peek()
		value, err := s.value()
		if err != nil {
			return err
		}
		switch name {
		case "builtin", "type":
			if kind != '"' {
				return fmt.Errorf("error.data.%s must be a string, not %s", name, kindName(kind))
			}
			if name == "type" {
				data.Type = unquote(value)
			} else {
				data.Builtin = unquote(value)
			}
		default:
			if data.Extra == nil {
				data.Extra = map[string]json.RawMessage{}
			}
			data.Extra[name] = value
		}
		return nil
	})
	e.Data = data
	return err
}

// appendError writes an error object. The message is text for people: bytes that aren't UTF-8 are replaced, not refused.
func appendError(dst []byte, e *Error) ([]byte, error) {
	if e.Code < math.MinInt32 || e.Code > math.MaxInt32 {
		return nil, fmt.Errorf("error code %d isn't a 32-bit integer", e.Code)
	}
	dst = fmt.Appendf(dst, `{"code":%d,"message":`, e.Code)
	dst, _ = jsontext.AppendQuote(dst, e.Message)
	if e.Data == nil {
		return append(dst, '}'), nil
	}
	dst = append(dst, `,"data":{`...)
	first := true
	member := func(name string) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst, _ = jsontext.AppendQuote(dst, name)
		dst = append(dst, ':')
	}
	if e.Data.Builtin != "" {
		member("builtin")
		dst, _ = jsontext.AppendQuote(dst, e.Data.Builtin)
	}
	if e.Data.Type != "" {
		member("type")
		dst, _ = jsontext.AppendQuote(dst, e.Data.Type)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Data.Extra)) {
		if name == "builtin" || name == "type" || strings.ToValidUTF8(name, "") != name {
			return nil, fmt.Errorf("error data has an extra member with the reserved or broken name %q", name)
		}
		member(name)
		var err error
		if dst, err = appendRaw(dst, "error.data."+name, e.Data.Extra[name]); err != nil {
			return nil, err
		}
	}
	return append(dst, "}}"...), nil
}
