package fold

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolplane/toolplane/host/jsonvalue"
)

// checkFold holds a fold to its promises: valid and bounded texts, a preview that
// is a part of the value and a shape that fits all of it.
func checkFold(t testing.TB, text []byte, l Limits) {
	t.Helper()
	l = l.withDefaults()
	f, ok := foldText(text, l)
	if !ok {
		t.Fatalf("%.200q isn't folded", text)
	}
	for name, part := range map[string]struct {
		text []byte
		most int
	}{"preview": {f.Preview, l.PreviewBytes}, "shape": {f.Shape, l.ShapeBytes}} {
		if len(part.text) > part.most {
			t.Fatalf("the %s has %d bytes, over %d, of %.1000s", name, len(part.text), part.most, text)
		}
		if err := jsonvalue.Check(part.text); err != nil {
			t.Fatalf("the %s %s of %.1000s: %v", name, part.text, text, err)
		}
	}
	if s := f.Shown; s.Items > l.Items || s.Characters > l.Characters || s.Keys > l.Keys || s.Levels > l.Levels {
		t.Fatalf("shown %+v, limits %+v", s, l)
	}
	value := decode(t, text)
	if problem := fitsPreview(decode(t, f.Preview), value, f.Shown, 0); problem != "" {
		t.Fatalf("preview %s: %s\nof %.2000s", f.Preview, problem, text)
	}
	if problem := fitsShape(decode(t, f.Shape), []any{value}, l); problem != "" {
		t.Fatalf("shape %s: %s\nof %.2000s", f.Shape, problem, text)
	}
}

func fitsPreview(shown, value any, s Shown, level int) string {
	const tooDeep = "nested too deep"
	switch v := value.(type) {
	case []any:
		if shown == "[…]" && len(v) > 0 && level >= s.Levels {
			return ""
		}
		list, ok := shown.([]any)
		if !ok || len(list) != min(len(v), s.Items) {
			return fmt.Sprintf("%v stands for a list of %d", shown, len(v))
		}
		if level >= s.Levels && len(list) > 0 {
			return tooDeep
		}
		for i := range list {
			if problem := fitsPreview(list[i], v[i], s, level+1); problem != "" {
				return problem
			}
		}
	case *dict:
		if shown == "{…}" && len(v.keys) > 0 && level >= s.Levels {
			return ""
		}
		keys := slices.DeleteFunc(slices.Clone(v.keys), func(k string) bool { return utf8.RuneCountInString(k) > maxNameCharacters })
		keys = keys[:min(len(keys), s.Keys)]
		if shown == "{…}" && len(v.keys) > 0 && len(keys) == 0 {
			return ""
		}
		object, ok := shown.(*dict)
		if !ok || !slices.Equal(object.keys, keys) || object.repeated {
			return fmt.Sprintf("%v stands for an object with %q", shown, keys)
		}
		if level >= s.Levels && len(keys) > 0 {
			return tooDeep
		}
		for _, k := range keys {
			if problem := fitsPreview(object.values[k], v.values[k], s, level+1); problem != "" {
				return problem
			}
		}
	case string:
		want := v
		if r := []rune(v); len(r) > s.Characters {
			want = string(r[:s.Characters-1]) + "…"
		}
		if shown != want {
			return fmt.Sprintf("%q stands for %q", shown, v)
		}
	default:
		number := fmt.Sprint(v)
		if len(number) > maxNumberBytes {
			if cut, ok := shown.(string); !ok || !strings.HasPrefix(number, strings.TrimSuffix(cut, "…")) {
				return fmt.Sprintf("%v stands for a number of %d bytes", shown, len(number))
			}
		} else if shown != v {
			return fmt.Sprintf("%v stands for %v", shown, v)
		}
	}
	return ""
}

// fitsShape compares a shape with all the values that stand at its place.
func fitsShape(shown any, values []any, l Limits) string {
	s, ok := shown.(*dict)
	if !ok {
		return "not an object"
	}
	var types []string
	length, more := -1, 0
	var items []any
	byKey := map[string][]any{}
	repeated := false
	keys, _ := s.values["keys"].(*dict)
	for _, value := range values {
		switch v := value.(type) {
		case []any:
			types, length, items = append(types, "array"), max(length, len(v)), append(items, v...)
		case *dict:
			types, repeated = append(types, "object"), repeated || v.repeated
			unlisted := 0
			for _, k := range v.keys {
				if keys != nil && slices.Contains(keys.keys, k) {
					byKey[k] = append(byKey[k], v.values[k])
				} else {
					unlisted++
				}
			}
			more = max(more, unlisted)
		case string:
			types, length = append(types, "string"), max(length, utf8.RuneCountInString(v))
		case bool:
			types = append(types, "boolean")
		case nil:
			types = append(types, "null")
		default:
			name := "integer"
			if strings.ContainsAny(fmt.Sprint(v), ".eE") {
				name = "number"
			}
			types = append(types, name)
		}
	}
	told := strings.Split(fmt.Sprint(s.values["type"]), "|")
	slices.Sort(types)
	types = slices.Compact(types)
	slices.Sort(told)
	if !slices.Equal(types, told) {
		return fmt.Sprintf("type %q of %q", told, types)
	}
	if n, ok := s.values["length"]; ok && fmt.Sprint(n) != fmt.Sprint(length) {
		return fmt.Sprintf("length %v of %d", n, length)
	}
	// moreKeys adds what each object has beyond the list; where keys were left out
	// for space it counts those of all the objects.
	if n, ok := s.values["moreKeys"]; ok && len(values) == 1 && fmt.Sprint(n) != fmt.Sprint(more) {
		return fmt.Sprintf("moreKeys %v of %d", n, more)
	} else if !ok && keys != nil && more > 0 {
		return fmt.Sprintf("no moreKeys, but %d", more)
	}
	if repeated {
		return "" // the shape admits the values that don't count, too
	}
	if keys != nil {
		for _, k := range keys.keys {
			if problem := fitsShape(keys.values[k], byKey[k], l); problem != "" {
				return fmt.Sprintf("%s at %q", problem, k)
			}
		}
	}
	if inner, ok := s.values["items"]; ok {
		if problem := fitsShape(inner, items, l); problem != "" {
			return problem + " in items"
		}
	}
	return ""
}

func TestFoldAgainstNaiveDecode(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 9))
		var b strings.Builder
		randomText(r, &b, 2+r.IntN(5))
		l := Limits{}
		if r.IntN(2) == 0 {
			l = Limits{Items: 1 + r.IntN(9), Characters: 2 + r.IntN(50), Keys: 1 + r.IntN(60), Levels: 1 + r.IntN(9),
				PreviewBytes: 128 + r.IntN(9000), ShapeBytes: 128 + r.IntN(9000)}
		}
		checkFold(t, []byte(b.String()), l)
	}
}
