package fold

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// dict is an object as Python reads it: each key once, in the place of the first
// and with the value of the last.
type dict struct {
	keys     []string
	values   map[string]any
	repeated bool
}

// decode is the naive way to read a text: all of it, into Go values.
func decode(t testing.TB, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := decodeNext(dec)
	if err != nil {
		t.Fatalf("%.200q can't be decoded: %v", text, err)
	}
	if dec.More() {
		t.Fatalf("%.200q is more than one value", text)
	}
	return v
}

func decodeNext(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := decodeNext(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	case json.Delim('{'):
		d := &dict{values: map[string]any{}}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			name := key.(string)
			if _, ok := d.values[name]; ok {
				d.repeated = true
			} else {
				d.keys = append(d.keys, name)
			}
			if d.values[name], err = decodeNext(dec); err != nil {
				return nil, err
			}
		}
		_, err = dec.Token()
		return d, err
	}
	return tok, nil
}

func (d *dict) only(keys []string) *dict {
	part := &dict{values: map[string]any{}}
	for _, k := range keys {
		part.keys = append(part.keys, k)
		part.values[k] = d.values[k]
	}
	return part
}

func same(a, b any) bool {
	x, isDict := a.(*dict)
	if !isDict {
		if l, ok := a.([]any); ok {
			m, ok := b.([]any)
			if !ok || len(l) != len(m) {
				return false
			}
			for i := range l {
				if !same(l[i], m[i]) {
					return false
				}
			}
			return true
		}
		return reflect.DeepEqual(a, b)
	}
	y, ok := b.(*dict)
	if !ok || len(x.keys) != len(y.keys) {
		return false
	}
	for i, k := range x.keys {
		if y.keys[i] != k || !same(x.values[k], y.values[k]) {
			return false
		}
	}
	return true
}

// naive is what a query is to answer, computed on the decoded value without
// regard to sizes; code is that of the error, or "".
type naive struct {
	value any
	total int // -1: not told
	from  int
	next  int // -1: none
	code  string
}

func naiveQuery(root any, o QueryOptions) naive {
	refused := func(code string) naive { return naive{code: code} }
	if o.Offset != nil && (*o.Offset < 0 || o.Page != nil) || o.Limit != nil && *o.Limit < 1 || o.Page != nil && *o.Page < 1 {
		return refused(CodeInvalidInput)
	}
	path, err := ParsePath(o.Path)
	if err != nil {
		return refused(CodeInvalidInput)
	}
	v, ok := naiveFollow(root, path)
	if !ok {
		return refused(CodePathNotFound)
	}
	d, isDict := v.(*dict)
	list, isList := v.([]any)
	text, isText := v.(string)
	ranged := o.Offset != nil || o.Limit != nil || o.Page != nil
	if len(o.Fields) > 0 {
		switch {
		case isDict && ranged, !isDict && !isList:
			return refused(CodeInvalidInput)
		case isDict:
			part := naiveFields(d, o.Fields)
			if len(part.keys) == 0 {
				return refused(CodePathNotFound)
			}
			return naive{value: part, total: -1, next: -1}
		}
	}
	var size, total int
	switch {
	case isList:
		size, total = DefaultPageItems, len(list)
	case !ranged:
		return naive{value: v, total: -1, next: -1}
	case isDict:
		size, total = DefaultPageItems, len(d.keys)
	case isText:
		size, total = DefaultPageCharacters, len([]rune(text))
	default:
		return refused(CodeInvalidInput)
	}
	from, to := 0, total
	if o.Limit != nil {
		size = *o.Limit
	}
	if o.Offset != nil {
		from = *o.Offset
	}
	if o.Page != nil {
		for range *o.Page - 1 {
			from += size
			if from >= total {
				return refused(CodeInvalidInput)
			}
		}
	}
	if from > total {
		return refused(CodeInvalidInput)
	}
	if (o.Page != nil || o.Limit != nil) && total-from > size {
		to = from + size
	}
	n := naive{total: total, from: from, next: -1}
	if to < total {
		n.next = to
	}
	switch {
	case isDict:
		n.value = d.only(d.keys[from:to])
	case isText:
		n.value = string([]rune(text)[from:to])
	case len(o.Fields) == 0:
		n.value = list[from:to]
	default:
		picked, found, objects := []any{}, false, false
		for _, item := range list[from:to] {
			if item == nil {
				picked = append(picked, nil)
				continue
			}
			d, ok := item.(*dict)
			if !ok {
				return refused(CodeInvalidInput)
			}
			part := naiveFields(d, o.Fields)
			picked, found, objects = append(picked, part), found || len(part.keys) > 0, true
		}
		for _, item := range list[:min(len(list), sampleItems)] {
			if d, ok := item.(*dict); ok {
				found = found || len(naiveFields(d, o.Fields).keys) > 0
			}
		}
		if objects && !found {
			return refused(CodePathNotFound)
		}
		n.value = picked
	}
	return n
}

func naiveFollow(v any, path Path) (any, bool) {
	for _, s := range path.steps {
		switch at := v.(type) {
		case *dict:
			next, ok := at.values[s.name]
			if !ok || s.kind == indexStep {
				return nil, false
			}
			v = next
		case []any:
			i := s.index
			if s.kind == tokenStep {
				n, err := strconv.Atoi(s.name)
				if err != nil || strconv.Itoa(n) != s.name || n < 0 {
					return nil, false
				}
				i = n
			}
			if i < 0 {
				i += len(at)
			}
			if s.kind == nameStep || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func naiveFields(d *dict, fields []string) *dict {
	part := &dict{values: map[string]any{}}
	for _, f := range fields {
		v, ok := d.values[f]
		if !ok {
			if path, err := ParsePath(f); err == nil && len(path.steps) > 0 {
				v, ok = naiveFollow(d, path)
			}
		}
		if _, again := part.values[f]; ok && !again {
			part.keys = append(part.keys, f)
			part.values[f] = v
		}
	}
	return part
}

// checkQuery compares a query with the naive one.
func checkQuery(t testing.TB, doc *Document, root any, o QueryOptions) {
	t.Helper()
	o.MaxBytes = 1 << 30
	want := naiveQuery(root, o)
	got, err := Query(doc, o)
	if code := codeOf(err); code != want.code {
		t.Fatalf("%s: error %q (%v), want %q\nin %.2000s", describeQuery(o), code, err, want.code, doc.raw)
	}
	if err != nil {
		if len(err.Error()) > 1200 {
			t.Fatalf("%s: a message of %d bytes: %s", describeQuery(o), len(err.Error()), err)
		}
		return
	}
	if v := decode(t, got.Value); !same(v, want.value) {
		t.Fatalf("%s: %s, want %#v\nin %.2000s", describeQuery(o), got.Value, want.value, doc.raw)
	}
	num := func(p *int) int {
		if p == nil {
			return -1
		}
		return *p
	}
	wantFrom := want.from
	if want.total < 0 {
		wantFrom = -1
	}
	if num(got.Total) != want.total || num(got.Offset) != wantFrom || num(got.NextOffset) != want.next {
		t.Fatalf("%s: total, offset, next %d %d %d, want %d %d %d", describeQuery(o),
			num(got.Total), num(got.Offset), num(got.NextOffset), want.total, wantFrom, want.next)
	}
	// The path of the answer leads to the same place, and is its own canonical form.
	again, err := Query(doc, QueryOptions{Path: got.Path, Offset: o.Offset, Limit: o.Limit, Page: o.Page, Fields: o.Fields, MaxBytes: o.MaxBytes})
	if err != nil || !bytes.Equal(again.Value, got.Value) || again.Path != got.Path {
		t.Fatalf("%s: the path %s answers %s, %v", describeQuery(o), got.Path, again.Value, err)
	}
	checkLimit(t, doc, o, got)
}

// checkLimit repeats a query under a limit that it just misses.
func checkLimit(t testing.TB, doc *Document, o QueryOptions, whole Answer) {
	t.Helper()
	o.MaxBytes = len(whole.Value)
	if again, err := Query(doc, o); err != nil || !bytes.Equal(again.Value, whole.Value) {
		t.Fatalf("%s: at a limit of %d bytes: %v", describeQuery(o), o.MaxBytes, err)
	}
	if o.MaxBytes--; o.MaxBytes < 2 {
		return
	}
	_, err := Query(doc, o)
	if codeOf(err) != CodeSliceTooLarge {
		t.Fatalf("%s: one byte over the limit: %v", describeQuery(o), err)
	}
	var fit int
	_, advice, ok := strings.Cut(err.Error(), "limit=")
	if !ok {
		return
	}
	if _, scanErr := fmt.Sscanf(advice, "%d", &fit); scanErr != nil {
		t.Fatal(scanErr)
	}
	o.Page, o.Offset, o.Limit = nil, whole.Offset, &fit
	if _, err := Query(doc, o); fit < 1 || err != nil {
		t.Fatalf("%s: the advised limit is refused: %v", describeQuery(o), err)
	}
	fit++
	if _, err := Query(doc, o); codeOf(err) != CodeSliceTooLarge && whole.Total != nil && *whole.Offset+fit <= *whole.Total {
		t.Fatalf("%s: the advised limit could have been larger", describeQuery(o))
	}
}

func describeQuery(o QueryOptions) string {
	s := fmt.Sprintf("path %q fields %q", o.Path, o.Fields)
	for name, p := range map[string]*int{"offset": o.Offset, "limit": o.Limit, "page": o.Page} {
		if p != nil {
			s += fmt.Sprintf(" %s %d", name, *p)
		}
	}
	return s
}

// TestQueryAgainstNaiveDecode asks many random questions of random values, with
// and without an index, and of the index at several grains.
func TestQueryAgainstNaiveDecode(t *testing.T) {
	const values, questions = 300, 30
	indexed := 0
	for seed := range uint64(values) {
		r := rand.New(rand.NewPCG(seed, 4))
		var b strings.Builder
		randomText(r, &b, 2+r.IntN(4))
		text := []byte(b.String())
		root := decode(t, text)
		for _, grain := range []int{8, 16, 64, grainBytes} {
			doc := &Document{raw: text, grain: grain}
			if doc.index() != nil {
				indexed++
			}
			for range questions {
				checkQuery(t, doc, root, randomOptions(r, root))
			}
		}
	}
	if indexed < values/2 {
		t.Errorf("only %d of the documents had an index", indexed)
	}
}
