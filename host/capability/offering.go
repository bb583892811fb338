package capability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds on what a provider may offer. They are far above what a person would
// write, and keep one provider from filling the host.
const (
	MaxCapabilities     = 4096 // of one provider
	MaxSchemaBytes      = 128 << 10
	MaxDescriptionBytes = 64 << 10
	MaxTitleBytes       = 1 << 10
	MaxTags             = 64
	MaxTagBytes         = 128
	maxSchemaDepth      = 256
)

// Problem is something about one capability that its provider should mend.
type Problem struct {
	Name    string // of the capability, as its provider gave it
	Message string // what is wrong, without the name
	LeftOut bool   // it isn't registered; otherwise it works, with less checking
}

func (p Problem) String() string { return clip(p.Name, MaxNameBytes) + ": " + p.Message }

// ProblemsError says what Put left out. Everything else was registered.
type ProblemsError struct {
	Provider string
	Problems []Problem // all with LeftOut
}

func (e *ProblemsError) Error() string {
	const shown = 3
	var list []string
	for i, p := range e.Problems {
		if i == shown {
			list = append(list, fmt.Sprintf("and %d more", len(e.Problems)-i))
			break
		}
		list = append(list, p.String())
	}
	return fmt.Sprintf("%s: left out %d of its capabilities: %s", e.Provider, len(e.Problems), strings.Join(list, "; "))
}

// offering is what one provider offers, after it was looked through.
type offering struct {
	entries  []*entry
	problems []Problem
}

// entry is a capability with what its registry works out once.
type entry struct {
	capability Capability
	provider   Provider
	aliases    aliases
	params     []parameter
	schema     *jsonschema.Schema
}

func (o *offering) err(id string) error {
	var out []Problem
	for _, p := range o.problems {
		if p.LeftOut {
			out = append(out, p)
		}
	}
	if out == nil {
		return nil
	}
	return &ProblemsError{id, out}
}

func admit(p Provider, id string, caps []Capability) *offering {
	o := &offering{}
	seen := map[string]bool{}
	for i, c := range caps {
		if i == MaxCapabilities {
			o.problems = append(o.problems, Problem{c.Name, fmt.Sprintf(
				"%s offers %d capabilities, the limit is %d; this one and those after it are left out", id, len(caps), MaxCapabilities), true})
			break
		}
		e, warnings, err := admitOne(p, id, c)
		if err == nil && seen[c.Name] {
			err = errors.New("its name is given twice")
		}
		if err != nil {
			o.problems = append(o.problems, Problem{c.Name, err.Error(), true})
			continue
		}
		seen[c.Name] = true
		o.entries = append(o.entries, e)
		for _, w := range warnings {
			o.problems = append(o.problems, Problem{c.Name, w, false})
		}
	}
	return o
}

func admitOne(p Provider, id string, c Capability) (e *entry, warnings []string, err error) {
	name, err := ParseName(c.Name)
	if err != nil {
		return nil, nil, err
	}
	if c.Name != id && !strings.HasPrefix(c.Name, id+"/") {
		return nil, nil, fmt.Errorf("its name must begin with its provider's, %s/", id)
	}
	if err := checkText(c); err != nil {
		return nil, nil, err
	}
	schema, warnings, err := compileInput(c.InputSchema)
	if err != nil {
		return nil, nil, fmt.Errorf("its input schema %w", err)
	}
	if len(c.OutputSchema) > 0 {
		if _, _, err := compile(c.OutputSchema); err != nil {
			return nil, nil, fmt.Errorf("its output schema %w", err)
		}
	}
	c.InputSchema = bytes.Clone(c.InputSchema)
	c.OutputSchema = bytes.Clone(c.OutputSchema)
	c.Annotations = bytes.Clone(c.Annotations)
	c.Tags = slices.Clone(c.Tags)
	return &entry{c, p, aliasesOf(name), parameters(c.InputSchema), schema}, warnings, nil
}

func checkText(c Capability) error {
	switch {
	case len(c.Title) > MaxTitleBytes:
		return fmt.Errorf("its title has %d bytes, the limit is %d", len(c.Title), MaxTitleBytes)
	case len(c.Description) > MaxDescriptionBytes:
		return fmt.Errorf("its description has %d bytes, the limit is %d", len(c.Description), MaxDescriptionBytes)
	case !utf8.ValidString(c.Title) || !utf8.ValidString(c.Description):
		return errors.New("its title or description isn't valid UTF-8")
	case len(c.Tags) > MaxTags:
		return fmt.Errorf("it has %d tags, the limit is %d", len(c.Tags), MaxTags)
	case len(c.Annotations) > MaxSchemaBytes:
		return fmt.Errorf("its annotations have %d bytes, the limit is %d", len(c.Annotations), MaxSchemaBytes)
	case len(c.Annotations) > 0 && !json.Valid(c.Annotations):
		return errors.New("its annotations aren't JSON")
	}
	for _, tag := range c.Tags {
		if len(tag) > MaxTagBytes || !printable(tag) || tag == "" {
			return fmt.Errorf("its tag %s is empty, longer than %d bytes, or holds a character that doesn't print",
				quote(clip(tag, 40)), MaxTagBytes)
		}
	}
	return nil
}
