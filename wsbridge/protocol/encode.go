package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// EncodeRequest makes the frame of a request. params is a JSON object that is embedded verbatim; nil leaves it out.
func EncodeRequest(id int64, method string, params json.RawMessage) ([]byte, error) {
	if id < 1 || id > MaxID {
		return nil, fmt.Errorf("request id %d is out of range 1 to %d", id, int64(MaxID))
	}
	return encodeCall(id, method, params)
}

// EncodeNotification makes the frame of a notification, as [EncodeRequest] does for requests.
func EncodeNotification(method string, params json.RawMessage) ([]byte, error) {
	return encodeCall(0, method, params)
}

// EncodeResult makes the frame that answers request id. result is one JSON value that is embedded verbatim; nil means null.
func EncodeResult(id int64, result json.RawMessage) ([]byte, error) {
	if result == nil {
		result = json.RawMessage("null")
	}
	if _, err := checkValue(result); err != nil {
		return nil, fmt.Errorf("result isn't JSON: %w", err)
	}
	frame := make([]byte, 0, len(result)+64)
	frame = appendHead(frame, id)
	frame = append(frame, `,"result":`...)
	frame = append(frame, result...)
	return append(frame, '}'), nil
}

// EncodeError makes the frame that refuses request id; id 0 is written as null.
func EncodeError(id int64, e *Error) ([]byte, error) {
	frame := make([]byte, 0, len(e.Message)+192)
	frame = appendHead(frame, id)
	if id == 0 {
		frame = append(frame, `,"id":null`...)
	}
	frame = append(frame, `,"error":`...)
	frame, err := appendError(frame, e)
	if err != nil {
		return nil, err
	}
	return append(frame, '}'), nil
}

func encodeCall(id int64, method string, params json.RawMessage) ([]byte, error) {
	if len(method) == 0 || len(method) > MaxMethodBytes {
		return nil, fmt.Errorf("method name has %d bytes, allowed are 1 to %d", len(method), MaxMethodBytes)
	}
	frame := make([]byte, 0, len(params)+len(method)+64)
	frame = appendHead(frame, id)
	frame = append(frame, `,"method":`...)
	frame, err := jsontext.AppendQuote(frame, method)
	if err != nil {
		return nil, fmt.Errorf("method name isn't valid UTF-8")
	}
	if params != nil {
		kind, err := checkValue(params)
		if err != nil {
			return nil, fmt.Errorf("params isn't JSON: %w", err)
		}
		if kind != '{' {
			return nil, fmt.Errorf("params must be an object, not %s", kindName(kind))
		}
		frame = append(frame, `,"params":`...)
		frame = append(frame, params...)
	}
	return append(frame, '}'), nil
}

// appendHead opens the envelope. The id comes first, so that a receiver can tell which request a broken frame belongs to.
func appendHead(frame []byte, id int64) []byte {
	frame = append(frame, `{"jsonrpc":"2.0"`...)
	if id != 0 {
		frame = append(frame, `,"id":`...)
		frame = strconv.AppendInt(frame, id, 10)
	}
	return frame
}

// EncodePayload encodes a params or result struct. json.RawMessage fields must hold one JSON value and are embedded
// verbatim (nil is null); omitempty fields are left out when zero. Map entries are sorted by name.
func EncodePayload(v any) (json.RawMessage, error) {
	value := reflect.ValueOf(v)
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	if value.Kind() != reflect.Struct {
		panic(fmt.Sprintf("protocol: encode %T, want a struct", v))
	}
	return appendPayload(nil, value.Type().Name(), value)
}

func appendPayload(dst []byte, path string, v reflect.Value) ([]byte, error) {
	if v.Type() == rawType {
		return appendRaw(dst, path, v.Bytes())
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		return appendPayload(dst, path, v.Elem())
	case reflect.Struct:
		return appendStruct(dst, path, v)
	case reflect.Map:
		return appendMap(dst, path, v)
	case reflect.Slice:
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendPayload(dst, path+"["+strconv.Itoa(i)+"]", v.Index(i)); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case reflect.String:
		return appendString(dst, path, v.String())
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case reflect.Uint64:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%s: JSON has no %v", path, f)
		}
		return strconv.AppendFloat(dst, v.Float(), 'g', -1, 64), nil
	default:
		panic(fmt.Sprintf("protocol: payload field %s has type %s, which the codec doesn't know", path, v.Type()))
	}
}

func appendRaw(dst []byte, path string, raw []byte) ([]byte, error) {
	if raw == nil {
		return append(dst, "null"...), nil
	}
	if _, err := checkValue(raw); err != nil {
		return nil, fmt.Errorf("%s isn't JSON: %w", path, err)
	}
	return append(dst, raw...), nil
}

func appendStruct(dst []byte, path string, v reflect.Value) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for _, f := range fieldsOf(v.Type()).fields {
		value := v.Field(f.index)
		if f.optional && value.IsZero() {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, '"')
		dst = append(dst, f.name...)
		dst = append(dst, `":`...)
		var err error
		if dst, err = appendPayload(dst, path+"."+f.name, value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendMap(dst []byte, path string, v reflect.Value) ([]byte, error) {
	names := make([]string, 0, v.Len())
	for _, key := range v.MapKeys() {
		names = append(names, key.String())
	}
	slices.Sort(names)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendString(dst, path, name); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = appendPayload(dst, path+"."+shorten(name), v.MapIndex(reflect.ValueOf(name))); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendString(dst []byte, path, s string) ([]byte, error) {
	dst, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		return nil, errors.New(path + ": the text isn't valid UTF-8")
	}
	return dst, nil
}
