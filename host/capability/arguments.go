package capability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxShownProblems is how many of several problems an error lists.
const maxShownProblems = 3

// InvalidArgumentsError is the type of the errors that refuse arguments.
const InvalidArgumentsError = "InvalidArgumentsError"

// validate checks arguments, an object's JSON text, against the input schema.
// call makes the shape that an error shows. The error is an *Error.
func (e *entry) validate(args json.RawMessage, call func() string) (err error) {
	refuse := func(why string) error {
		return Errorf(ValueError, InvalidArgumentsError, "invalid arguments for %s: %s. Call it as: %s", e.capability.Name, why, call())
	}
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	value, err := decode(args)
	if err != nil {
		return refuse("they aren't JSON: " + err.Error())
	}
	if _, ok := value.(map[string]any); !ok {
		return refuse("expected an object of named arguments, got " + describe(value))
	}
	// The schema comes from outside, and so do the arguments. A fault of the
	// library must cost this call, not the process.
	defer func() {
		if p := recover(); p != nil {
			err = Errorf(RuntimeError, "InternalError",
				"the arguments of %s couldn't be checked against its schema; this is a fault of the host", e.capability.Name)
		}
	}()
	err = e.schema.Validate(value)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return refuse(err.Error())
	}
	found := violations(invalid, value)
	var texts []string
	for i, v := range found {
		if i == maxShownProblems {
			texts = append(texts, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		texts = append(texts, v.String()+e.suggest(v))
	}
	return refuse(strings.Join(texts, "; "))
}

// suggest proposes the argument that an unknown one looks like.
func (e *entry) suggest(v violation) string {
	name, ok := strings.CutPrefix(v.text, "unknown argument ")
	if !ok || len(v.at) > 0 {
		return ""
	}
	names := make([]string, len(e.params))
	for i, p := range e.params {
		names[i] = p.name
	}
	if best := closest(name, names); best != "" {
		return " (did you mean " + showName(best) + "?)"
	}
	return ""
}
