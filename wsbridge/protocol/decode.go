package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Validator is implemented by payloads with rules beyond their types. The decoder calls it last.
type Validator interface {
	Validate() error
}

// DecodeParams reads a params object strictly into v, a pointer to a struct. Unknown members, names in the wrong case,
// duplicate names, missing members (unless tagged omitempty), null and wrong types are refused; numbers for integer
// fields are written without fraction or exponent. json.RawMessage fields take their value verbatim, without looking into it.
//
// Missing params (nil) are read as {}. The error is an [*Error] with [CodeInvalidParams] that names the path.
func DecodeParams(raw json.RawMessage, v any) error {
	if raw == nil {
		raw = json.RawMessage("{}")
	}
	if err := decodePayload("params", raw, v); err != nil {
		return Errorf(CodeInvalidParams, "%v", err)
	}
	return nil
}

// DecodeResult reads a result object as [DecodeParams] reads params. The error is an [*Error] with
// [CodeInvalidRequest]: the peer answered, but not with what its method promises.
func DecodeResult(raw json.RawMessage, v any) error {
	if err := decodePayload("result", raw, v); err != nil {
		return Errorf(CodeInvalidRequest, "%v", err)
	}
	return nil
}

func decodePayload(root string, raw json.RawMessage, v any) error {
	ptr := reflect.ValueOf(v)
	if ptr.Kind() != reflect.Pointer || ptr.IsNil() || ptr.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("protocol: decode into %T, want a pointer to a struct", v))
	}
	s := newScanner(raw)
	defer s.release()
	if err := decodeValue(s, root, ptr.Elem()); err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return fmt.Errorf("%s: %w", root, err)
	}
	if validator, ok := v.(Validator); ok {
		if err := validator.Validate(); err != nil {
			return fmt.Errorf("%s.%w", root, err)
		}
	}
	return nil
}

// decodeValue reads the next value into dst. path is where it stands, for errors.
func decodeValue(s *scanner, path string, dst reflect.Value) error {
	if dst.Type() == rawType {
		raw, err := s.value()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		dst.SetBytes(raw)
		return nil
	}
	kind := s.peek()
	switch dst.Kind() {
	case reflect.Pointer:
		if kind == 'n' {
			dst.SetZero()
			return s.skip()
		}
		dst.Set(reflect.New(dst.Type().Elem()))
		return decodeValue(s, path, dst.Elem())
	case reflect.Struct:
		if kind != '{' {
			return wrongType(s, path, "an object")
		}
		return decodeStruct(s, path, dst)
	case reflect.Map:
		if kind != '{' {
			return wrongType(s, path, "an object")
		}
		return decodeMap(s, path, dst)
	case reflect.Slice:
		if kind != '[' {
			return wrongType(s, path, "an array")
		}
		dst.Set(reflect.MakeSlice(dst.Type(), 0, 0))
		return s.array(func(i int) error {
			element := reflect.New(dst.Type().Elem()).Elem()
			if err := decodeValue(s, path+"["+strconv.Itoa(i)+"]", element); err != nil {
				return err
			}
			dst.Set(reflect.Append(dst, element))
			return nil
		})
	default:
		return decodeScalar(s, path, kind, dst)
	}
}

func decodeStruct(s *scanner, path string, dst reflect.Value) error {
	st := fieldsOf(dst.Type())
	seen := make([]bool, len(st.fields))
	err := s.object(func(name string) error {
		i, known := st.index[name]
		if !known {
			return errors.New(unknownMember(path, name, st.names))
		}
		if seen[i] {
			return fmt.Errorf("%s: duplicate member %q", path, name)
		}
		seen[i] = true
		return decodeValue(s, path+"."+name, dst.Field(st.fields[i].index))
	})
	if err != nil {
		return err
	}
	for i, f := range st.fields {
		if !seen[i] && !f.optional {
			return fmt.Errorf("%s.%s is missing", path, f.name)
		}
	}
	return nil
}

// decodeMap reads an object whose names belong to the protocol's user but whose level belongs to the protocol.
func decodeMap(s *scanner, path string, dst reflect.Value) error {
	dst.Set(reflect.MakeMap(dst.Type()))
	return s.object(func(name string) error {
		key := reflect.ValueOf(name).Convert(dst.Type().Key())
		if dst.MapIndex(key).IsValid() {
			return fmt.Errorf("%s: duplicate member %q", path, shorten(name))
		}
		value := reflect.New(dst.Type().Elem()).Elem()
		if err := decodeValue(s, path+"."+shorten(name), value); err != nil {
			return err
		}
		dst.SetMapIndex(key, value)
		return nil
	})
}

func decodeScalar(s *scanner, path string, kind jsontext.Kind, dst reflect.Value) error {
	switch dst.Kind() {
	case reflect.String:
		if kind != '"' {
			return wrongType(s, path, "a string")
		}
	case reflect.Bool:
		if kind != 't' && kind != 'f' {
			return wrongType(s, path, "a boolean")
		}
	default:
		if kind != '0' {
			return wrongType(s, path, "a number")
		}
	}
	raw, err := s.value()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	switch dst.Kind() {
	case reflect.String:
		dst.SetString(unquote(raw))
	case reflect.Bool:
		dst.SetBool(kind == 't')
	case reflect.Float64:
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || math.IsInf(f, 0) {
			return fmt.Errorf("%s: the number is out of range", path)
		}
		dst.SetFloat(f)
	case reflect.Int, reflect.Int64:
		n, ok := parseInteger(raw)
		if !ok {
			return fmt.Errorf("%s: must be an integer, written without fraction or exponent", path)
		}
		dst.SetInt(n)
	case reflect.Uint64:
		n, ok := parseInteger(raw)
		if !ok || n < 0 {
			return fmt.Errorf("%s: must be an integer from 0, written without fraction or exponent", path)
		}
		dst.SetUint(uint64(n))
	default:
		panic(fmt.Sprintf("protocol: payload field %s has type %s, which the codec doesn't know", path, dst.Type()))
	}
	return nil
}

// wrongType words the refusal; a syntax error at this place is the better one.
func wrongType(s *scanner, path, want string) error {
	got := kindName(s.peek())
	if err := s.skip(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s: must be %s, not %s", path, want, got)
}
