package capability

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxShownValue is how many runes of a given value an error repeats.
const maxShownValue = 60

// violation is one way in which a value doesn't fit a schema.
type violation struct {
	at   []string // where, as the validator says it
	path string   // the same for a reader: filter.labels[2], "" for the whole
	text string
	typ  *kind.Type // set when only the type is wrong
}

func (v violation) String() string {
	if v.path == "" {
		return v.text
	}
	return v.path + ": " + v.text
}

// violations flattens the validator's tree into what a caller can act on, what
// is missing or too much first. The root is the value that was validated; nil
// where it isn't at hand.
func violations(err *jsonschema.ValidationError, root any) []violation {
	out := flatten(err, root)
	// The validator walks Go maps, so its order is another one each time.
	slices.SortStableFunc(out, func(a, b violation) int {
		if c := len(a.at) - len(b.at); c != 0 {
			return c
		}
		return strings.Compare(a.String(), b.String())
	})
	return slices.CompactFunc(out, func(a, b violation) bool { return a.String() == b.String() })
}

func flatten(err *jsonschema.ValidationError, root any) []violation {
	at := err.InstanceLocation
	path, given, known := locate(root, at)
	v := violation{at: at, path: path}
	got := ""
	if known {
		got = ", got " + describe(given)
	}
	say := func(format string, a ...any) []violation {
		v.text = fmt.Sprintf(format, a...)
		return []violation{v}
	}

	switch k := err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		return flattenAll(err.Causes, root)
	case *kind.AnyOf:
		return alternatives(v, got, err.Causes, root)
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return alternatives(v, got, err.Causes, root)
		}
		return say("fits several of its alternative forms, and must fit exactly one%s", got)
	case *kind.Type:
		if !known {
			got = ", got " + k.Got
		}
		v.typ = k
		return say("expected %s%s", strings.Join(k.Want, " or "), got)
	case *kind.Required:
		var out []violation
		for _, name := range k.Missing {
			out = append(out, violation{at: at, path: path, text: "missing " + noun(at) + " " + showName(name)})
		}
		return out
	case *kind.AdditionalProperties:
		var out []violation
		for _, name := range k.Properties {
			out = append(out, violation{at: at, path: path, text: "unknown " + noun(at) + " " + showName(name)})
		}
		return out
	case *kind.FalseSchema:
		if n := len(at); n > 0 {
			v.at, v.path = at[:n-1], ""
			v.path, _, _ = locate(root, v.at)
			return say("%s %s isn't allowed here", noun(v.at), showName(at[n-1]))
		}
		return say("nothing is allowed here")
	case *kind.Enum:
		return say("expected %s%s%s", oneOf(k.Want), got, similar(given, k.Want))
	case *kind.Const:
		return say("expected %s%s", show(k.Want), got)
	case *kind.Minimum:
		return say("expected at least %s%s", number(k.Want), got)
	case *kind.Maximum:
		return say("expected at most %s%s", number(k.Want), got)
	case *kind.ExclusiveMinimum:
		return say("expected more than %s%s", number(k.Want), got)
	case *kind.ExclusiveMaximum:
		return say("expected less than %s%s", number(k.Want), got)
	case *kind.MultipleOf:
		return say("expected a multiple of %s%s", number(k.Want), got)
	case *kind.MinLength:
		return say("expected at least %s, got %d", count(k.Want, "character"), k.Got)
	case *kind.MaxLength:
		return say("expected at most %s, got %d", count(k.Want, "character"), k.Got)
	case *kind.MinItems:
		return say("expected at least %s, got %d", count(k.Want, "item"), k.Got)
	case *kind.MaxItems:
		return say("expected at most %s, got %d", count(k.Want, "item"), k.Got)
	case *kind.MinProperties:
		return say("expected at least %s, got %d", count(k.Want, "member"), k.Got)
	case *kind.MaxProperties:
		return say("expected at most %s, got %d", count(k.Want, "member"), k.Got)
	case *kind.Pattern:
		return say("expected a match of the pattern %s, got %s", clip(k.Want, 120), show(k.Got))
	case *kind.Format:
		return say("expected the format %s%s", k.Want, got)
	case *kind.UniqueItems:
		return say("items %d and %d are equal, and all must differ", k.Duplicates[0], k.Duplicates[1])
	case *kind.AdditionalItems:
		return say("the last %s too many", count(k.Count, "item"))
	case *kind.DependentRequired:
		return say("%s needs %s beside it", showName(k.Prop), strings.Join(k.Missing, ", "))
	case *kind.Dependency:
		return say("%s needs %s beside it", showName(k.Prop), strings.Join(k.Missing, ", "))
	case *kind.PropertyNames:
		return say("the name %s isn't allowed", show(k.Property))
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		return say("doesn't hold the items that its schema asks for%s", got)
	case *kind.Not:
		return say("has a form that its schema excludes%s", got)
	}
	return say("doesn't fit its schema (%s)%s", strings.Join(err.ErrorKind.KeywordPath(), "."), got)
}

func flattenAll(errs []*jsonschema.ValidationError, root any) []violation {
	var out []violation
	for _, e := range errs {
		out = append(out, flatten(e, root)...)
	}
	return out
}

// alternatives sums up why none of several forms fits. A form of another type
// than the value wasn't meant; if one is left then, its reasons are the reasons.
func alternatives(v violation, got string, branches []*jsonschema.ValidationError, root any) []violation {
	var wants []string
	var meant [][]violation
	for _, b := range branches {
		found := flatten(b, root)
		if len(found) == 1 && found[0].typ != nil && len(found[0].at) == len(v.at) {
			wants = append(wants, found[0].typ.Want...)
			continue
		}
		meant = append(meant, found)
	}
	switch len(meant) {
	case 0:
		slices.Sort(wants)
		v.typ = &kind.Type{Want: slices.Compact(wants)}
		v.text = "expected " + strings.Join(v.typ.Want, " or ") + got
		return []violation{v}
	case 1:
		return meant[0]
	}
	const shown = 3
	var reasons []string
	for i, found := range meant {
		if i == shown {
			reasons = append(reasons, "…")
			break
		}
		if len(found) > 0 {
			reasons = append(reasons, found[0].String())
		}
	}
	v.text = fmt.Sprintf("fits none of %d alternative forms (%s)", len(branches), strings.Join(reasons, " | "))
	return []violation{v}
}

// locate follows a location and writes it as a path. known is false where the
// value isn't at hand.
func locate(root any, at []string) (path string, given any, known bool) {
	var sb strings.Builder
	known = root != nil
	for _, step := range at {
		switch v := root.(type) {
		case []any:
			i, err := strconv.Atoi(step)
			sb.WriteString("[" + step + "]")
			if err != nil || i < 0 || i >= len(v) {
				root, known = nil, false
				continue
			}
			root = v[i]
			continue
		case map[string]any:
			item, ok := v[step]
			root, known = item, known && ok
		default:
			root, known = nil, false
		}
		switch {
		case !isIdentifier(step):
			sb.WriteString("[" + quote(clip(step, maxShownValue)) + "]")
		case sb.Len() > 0:
			sb.WriteString("." + clip(step, maxShownValue))
		default:
			sb.WriteString(clip(step, maxShownValue))
		}
	}
	return sb.String(), root, known
}

// noun is what the members of an object are called at a location.
func noun(at []string) string {
	if len(at) == 0 {
		return "argument"
	}
	return "member"
}

func showName(name string) string {
	if isIdentifier(name) {
		return clip(name, maxShownValue)
	}
	return quote(clip(name, maxShownValue))
}

// describe names a value's type and, where it is short, the value.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return fmt.Sprintf("an object of %s", count(len(v), "member"))
	case []any:
		return fmt.Sprintf("an array of %s", count(len(v), "item"))
	case string:
		return "the string " + show(v)
	case bool:
		return "the boolean " + show(v)
	}
	return show(v)
}

// show writes a value, shortened.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return quote(clip(v, maxShownValue))
	case json.Number:
		return clip(v.String(), maxShownValue)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clip(string(raw), maxShownValue)
}

func oneOf(want []any) string {
	if len(want) == 1 {
		return show(want[0])
	}
	const shown = 12
	var list []string
	for i, w := range want {
		if i == shown {
			list = append(list, fmt.Sprintf("… (%d in all)", len(want)))
			break
		}
		list = append(list, show(w))
	}
	return "one of " + strings.Join(list, ", ")
}

// similar proposes the allowed string that looks most like the given one.
func similar(given any, want []any) string {
	s, ok := given.(string)
	if !ok {
		return ""
	}
	var names []string
	for _, w := range want {
		if name, ok := w.(string); ok {
			names = append(names, name)
		}
	}
	if best := closest(s, names); best != "" {
		return "; did you mean " + show(best) + "?"
	}
	return ""
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// number writes an exact fraction as the decimal that a schema most likely held.
func number(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String(), maxShownValue)
	}
	return strings.TrimRight(r.FloatString(20), "0")
}
