package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/jsonvalue"
	"github.com/toolplane/toolplane/host/result"
)

// Names of the store's capabilities. They are hidden: no list or search shows
// them, and snippets reach them as save_result and load_result.
const (
	SaveResult = "toolplane:results/save"
	LoadResult = "toolplane:results/load"
)

// How snippets call them, for descriptions and errors.
const (
	saveCall = "await save_result(value, label=None)"
	loadCall = "await load_result(handle)"
)

// ResultStoreError is the type of the errors of the result store.
const ResultStoreError = "ResultStoreError"

// storeVerb is a capability of the bridge's own.
type storeVerb struct {
	name, title, description string
	call                     string // how a snippet calls it
	input, output            string // schemas
	params                   []string
	required                 int // how many of params, from the first
	run                      func(*Bridge, Caller, map[string]json.RawMessage) (json.RawMessage, error)
}

var storeVerbs = []*storeVerb{
	{
		name:  SaveResult,
		title: "Save a value on the host",
		description: "Keeps a JSON value on the host, for a limited time and in this session only, and answers with a handle. " +
			"In a snippet: handle = " + saveCall,
		call: saveCall,
		input: fmt.Sprintf(`{"type":"object","properties":{"value":{"description":"any JSON value"},`+
			`"label":{"type":["string","null"],"description":"one line for people; at most %d bytes"}},`+
			`"required":["value"],"additionalProperties":false}`, result.MaxLabelBytes),
		output: `{"type":"object","properties":{"handle":{"type":"string"},"label":{"type":["string","null"]},` +
			`"bytes":{"type":"integer"},"expires_in_seconds":{"type":"integer"}},` +
			`"required":["handle","label","bytes","expires_in_seconds"]}`,
		params: []string{"value", "label"}, required: 1,
		run: (*Bridge).save,
	},
	{
		name:        LoadResult,
		title:       "Load a saved value",
		description: "Answers with the value that was saved under a handle. In a snippet: value = " + loadCall,
		call:        "await load_result(handle)",
		input: `{"type":"object","properties":{"handle":{"type":"string"}},` +
			`"required":["handle"],"additionalProperties":false}`,
		params: []string{"handle"}, required: 1,
		run: (*Bridge).load,
	},
}

func findStoreVerb(name string) *storeVerb {
	for _, s := range storeVerbs {
		if s.name == name {
			return s
		}
	}
	return nil
}

func (s *storeVerb) describe() capability.Capability {
	return capability.Capability{
		Name: s.name, Title: s.title, Description: s.description, Hidden: true,
		InputSchema: json.RawMessage(s.input), OutputSchema: json.RawMessage(s.output),
	}
}

// callStore runs a capability of the store. Its arguments are taken apart by hand
// and not by the schema's validator, which would decode megabytes to find out
// that any value will do.
func (b *Bridge) callStore(c Caller, s *storeVerb, args json.RawMessage) (json.RawMessage, error) {
	if b.results == nil {
		return nil, storeError("the result store is turned off on this host; return a small projection of the value instead, " +
			"or set enabled = true under [results] in toolplane.toml")
	}
	args = orEmpty(args)
	if err := jsonvalue.Check(args); err != nil {
		return nil, storeError("this can't be saved or looked up: %w", rooted(err, ""))
	}
	refuse := func(format string, a ...any) error {
		return capability.Errorf(capability.ValueError, capability.InvalidArgumentsError,
			"invalid arguments for %s: %s. Call it as: %s", s.name, fmt.Sprintf(format, a...), s.call)
	}
	members, err := jsonvalue.Members(args)
	if err != nil {
		return nil, refuse("expected an object of named arguments")
	}
	given := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		if _, twice := given[m.Name]; twice {
			return nil, refuse("the argument %q is given twice", m.Name)
		}
		given[m.Name] = m.Value
	}
	known := 0
	for i, name := range s.params {
		_, ok := given[name]
		if !ok && i < s.required {
			return nil, refuse("missing argument %s", name)
		}
		if ok {
			known++
		}
	}
	if known < len(given) {
		return nil, refuse("unknown argument; the arguments are %s", strings.Join(s.params, ", "))
	}
	return s.run(b, c, given)
}

func (b *Bridge) save(c Caller, given map[string]json.RawMessage) (json.RawMessage, error) {
	label := ""
	if raw, ok := given["label"]; ok && string(raw) != "null" {
		if raw[0] != '"' {
			return nil, capability.Errorf(capability.ValueError, capability.InvalidArgumentsError,
				"invalid arguments for %s: label: expected a string or null. Call it as: %s", SaveResult, saveCall)
		}
		if err := json.Unmarshal(raw, &label); err != nil {
			return nil, storeError("the label isn't text: %w", err)
		}
	}
	e, err := b.results.Save(owner(c), label, given["value"])
	if err != nil {
		return nil, storeFailure("save_result", err)
	}
	answer := struct {
		Handle           string  `json:"handle"`
		Label            *string `json:"label"`
		Bytes            int64   `json:"bytes"`
		ExpiresInSeconds int64   `json:"expires_in_seconds"`
	}{Handle: e.Handle, Bytes: e.Bytes, ExpiresInSeconds: int64(math.Round(e.Expires.Sub(e.Created).Seconds()))}
	if label != "" {
		answer.Label = &label
	}
	return json.Marshal(answer)
}

func (b *Bridge) load(c Caller, given map[string]json.RawMessage) (json.RawMessage, error) {
	raw := given["handle"]
	if raw[0] != '"' {
		return nil, capability.Errorf(capability.ValueError, capability.InvalidArgumentsError,
			"invalid arguments for %s: handle: expected a string. Call it as: %s", LoadResult, loadCall)
	}
	var handle string
	if err := json.Unmarshal(raw, &handle); err != nil {
		return nil, storeError("the handle isn't text: %w", err)
	}
	value, err := b.results.Load(owner(c), handle)
	if err != nil {
		return nil, storeFailure("load_result", err)
	}
	return value, nil
}

func owner(c Caller) result.Owner { return result.Owner{Scope: c.Scope, Subject: c.Subject} }

func storeError(format string, a ...any) *capability.Error {
	return capability.Errorf(capability.ValueError, ResultStoreError, format, a...)
}

// storeFailure puts the operation in front of what the store says.
func storeFailure(operation string, err error) error {
	var refusal *result.Error
	if errors.As(err, &refusal) {
		return storeError("%s: %w", operation, refusal)
	}
	return fmt.Errorf("%s: %w", operation, err)
}
