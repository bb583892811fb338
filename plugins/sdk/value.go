package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Appender is a value that appends its own JSON text, for answers where encoding/json's reflection takes too long.
type Appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// appendValue appends a value's JSON text.
func appendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case Appender:
		return v.AppendJSON(dst)
	case json.RawMessage:
		if len(v) == 0 {
			return append(dst, "null"...), nil
		}
		return append(dst, v...), nil // the host checks it
	}
	w := bytes.NewBuffer(dst)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, fmt.Errorf("the answer can't be written as JSON: %w", err)
	}
	return bytes.TrimSuffix(w.Bytes(), []byte("\n")), nil
}

// quote returns s as a JSON string.
func quote(s string) []byte {
	b, err := appendValue(nil, s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return b
}

// decodeArguments fills in defaults and decodes the arguments over them. in points to the handler's input.
func decodeArguments(arguments []byte, in any) error {
	if raw, ok := in.(*json.RawMessage); ok {
		*raw = arguments
		return nil
	}
	v := reflect.ValueOf(in).Elem()
	if err := setDefaults(v); err != nil {
		return err
	}
	if !onToolplane() { // which has validated them against the schema
		if err := checkRequired(arguments, v.Type()); err != nil {
			return err
		}
	}
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	err := dec.Decode(in)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more text after the arguments")
		}
	}
	return argumentError(err)
}

// argumentError puts an error of encoding/json into a caller's words.
func argumentError(err error) error {
	if err == nil {
		return nil
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		return ValueError("argument %s: %s doesn't fit, it takes %s", mismatch.Field, mismatch.Value, kindName(mismatch.Type))
	}
	return ValueError("the arguments can't be read: %s", strings.TrimPrefix(err.Error(), "json: "))
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("an integer of %d bits", t.Bits())
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	}
	return "an object"
}

// setDefaults sets each field that has a default to it, also in structs within.
func setDefaults(v reflect.Value) error {
	if v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		rules, err := fieldRules(field)
		if err != nil {
			return err
		}
		if text, ok := rules.value("default"); ok {
			if err := json.Unmarshal(text, v.Field(i).Addr().Interface()); err != nil {
				return fmt.Errorf("the default of %s: %w", field.Name, err)
			}
		} else if err := setDefaults(v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func checkRequired(arguments []byte, t reflect.Type) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return argumentError(err)
	}
	fields, err := jsonFields(t)
	if err != nil {
		return err
	}
	for _, f := range fields {
		if _, ok := given[f.name]; !ok && f.required {
			return ValueError("argument %s is missing", f.name)
		}
	}
	return nil
}
