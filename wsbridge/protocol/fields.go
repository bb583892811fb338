package protocol

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

var rawType = reflect.TypeFor[json.RawMessage]()

// structType is what the payload codec needs to know about a struct.
type structType struct {
	fields []field
	index  map[string]int
	names  []string
}

type field struct {
	name     string
	optional bool // omitempty: may be missing, and is left out when it is the zero value
	index    int
}

var structTypes sync.Map // reflect.Type → *structType

// fieldsOf reads the json tags of t. The payload codec knows "name" and "name,omitempty"; fields without a tag are not
// part of the message.
func fieldsOf(t reflect.Type) *structType {
	if known, ok := structTypes.Load(t); ok {
		return known.(*structType)
	}
	st := &structType{index: map[string]int{}}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		st.index[name] = len(st.fields)
		st.names = append(st.names, name)
		st.fields = append(st.fields, field{name: name, optional: options == "omitempty", index: i})
	}
	known, _ := structTypes.LoadOrStore(t, st)
	return known.(*structType)
}
