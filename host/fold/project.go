package fold

import "bytes"

// field is a key to keep.
type field struct {
	name string // as asked for, and as answered
	path *Path  // where name can also be read as a path
}

func (q *query) fields() []field {
	fields := make([]field, 0, len(q.o.Fields))
	seen := map[string]bool{}
	for _, name := range q.o.Fields {
		if seen[name] {
			continue
		}
		seen[name] = true
		f := field{name: name}
		if path, err := ParsePath(name); err == nil && len(path.steps) > 0 && path.steps[0].kind != indexStep {
			f.path = &path
		}
		fields = append(fields, f)
	}
	return fields
}

// project answers the fields of an object, or of each object of a list.
func (q *query) project(kind byte) *Error {
	fields := q.fields()
	switch {
	case kind == '{' && q.o.ranged():
		return invalid("%s is an object: pick keys with fields, or a range of keys with offset and limit, not both", q.path.brief())
	case kind == '{':
		out, found := q.pick(nil, q.v, fields)
		if !found {
			return q.noField(q.v, q.path)
		}
		if len(out) > q.o.MaxBytes {
			return refuse(CodeSliceTooLarge, "these fields of %s have %s, over the limit of %s for one answer; ask for fewer, "+
				"or read each with its own path, offset and limit", q.path.brief(), size(len(out)), size(q.o.MaxBytes))
		}
		q.answer.Value = out
		return nil
	case kind != '[':
		return invalid("%s is %s; fields picks keys of an object, or of the objects in a list", q.path.brief(), q.d.describe(q.v))
	}
	from, to, err := q.span(q.d.count(q.v), DefaultPageItems, "item")
	if err != nil {
		return err
	}
	return q.projectItems(fields, from, to)
}

func (q *query) projectItems(fields []field, from, to int) *Error {
	out := []byte{'['}
	found := false
	var without *value // the first object that has none of the fields
	var at Path        // where that is
	large, fit := false, 0
	w := q.d.walk(q.v, from)
	for i := from; i < to; i++ {
		c, ok := w.step()
		if !ok {
			break
		}
		if i > from {
			out = append(out, ',')
		}
		item := q.d.valueOf(c)
		switch q.d.kind(item) {
		case 'n':
			out = append(out, "null"...)
		case '{':
			var some bool
			out, some = q.pick(out, item, fields)
			found = found || some
			if !some && without == nil {
				without, at = &item, q.path.then(step{kind: indexStep, index: i})
			}
		default:
			return invalid("%s is %s; fields picks keys of objects: leave fields out, or choose a range of objects",
				q.path.then(step{kind: indexStep, index: i}).brief(), q.d.describe(item))
		}
		if large = len(out) >= q.o.MaxBytes; large {
			fit = i - from
			break
		}
	}
	switch {
	case !found && without != nil && !q.anywhere(fields):
		return q.noField(*without, at)
	case large:
		return q.sliceTooLarge(from, to, fit, "item")
	}
	out = append(out, ']')
	q.answer.Value = out
	return nil
}

// sampleItems is how many items are looked at to tell a field that is merely rare
// from one that isn't there, so that the answer doesn't depend on the page.
const sampleItems = 1000

// anywhere tells whether one of the first objects of the list has a field.
func (q *query) anywhere(fields []field) bool {
	for w := q.d.walk(q.v, 0); w.ordinal < sampleItems; {
		c, ok := w.step()
		if !ok {
			return false
		}
		item := q.d.valueOf(c)
		if q.d.kind(item) != '{' {
			continue
		}
		if _, found := q.pick(nil, item, fields); found {
			return true
		}
	}
	return false
}

// pick appends an object of the fields that item has.
func (q *query) pick(out []byte, item value, fields []field) ([]byte, bool) {
	out = append(out, '{')
	found := false
	for i, c := range q.keys(item, fields) {
		var at value
		switch f := fields[i]; {
		case c.literal.end > 0:
			at = value{start: c.literal.start, end: c.literal.end}
		case c.head.end > 0:
			var ok bool
			if at, ok = q.reach(q.d.valueOf(c.head), f.path.steps[1:]); !ok {
				continue
			}
		default:
			continue
		}
		if found {
			out = append(out, ',')
		}
		found = true
		out = append(appendQuoted(out, fields[i].name), ':')
		out = append(out, q.d.raw[at.start:at.end]...)
	}
	return append(out, '}'), found
}

// match is what an object has of a field: the key itself, or the first key of the
// path. What isn't there is zero.
type match struct{ literal, head child }

// keys finds the fields' keys in an object: in a small one by going through it
// once.
func (q *query) keys(item value, fields []field) []match {
	matches := make([]match, len(fields))
	if item.node != nil {
		for i, f := range fields {
			matches[i].literal, _ = q.d.key(item, f.name)
			if f.path != nil {
				matches[i].head, _ = q.d.key(item, f.path.steps[0].name)
			}
		}
		return matches
	}
	for w := q.d.walk(item, 0); ; {
		c, ok := w.step()
		if !ok {
			return matches
		}
		name := inside(q.d.raw[c.nameStart:c.nameEnd])
		if bytes.IndexByte(name, '\\') >= 0 {
			name = []byte(unquote(q.d.raw[c.nameStart:c.nameEnd]))
		}
		for i, f := range fields {
			if string(name) == f.name {
				matches[i].literal = c
			}
			if f.path != nil && string(name) == f.path.steps[0].name {
				matches[i].head = c
			}
		}
	}
}

// reach follows steps that may lead nowhere.
func (q *query) reach(v value, steps []step) (value, bool) {
	for _, s := range steps {
		var ok bool
		if v, _, ok = q.d.enter(v, s); !ok {
			return value{}, false
		}
	}
	return v, true
}

// noField refuses fields that no object has; one that is merely absent here and
// there is left out without a word.
func (q *query) noField(object value, at Path) *Error {
	name := q.o.Fields[0]
	if path, err := ParsePath(name); err == nil && len(path.steps) > 1 {
		if _, _, refused := q.d.follow(object, at, path); refused != nil {
			return refused
		}
	}
	return refuse(CodePathNotFound, "%s has none of the fields asked for, such as %s; %s",
		at.brief(), appendQuoted(nil, shorten(name, hintNameRunes)), q.d.keyHint(object, step{kind: nameStep, name: name}))
}
