package fold

import "slices"

// list answers a range of a list, or a whole one.
func (q *query) list() *Error {
	from, to, err := q.span(q.d.count(q.v), DefaultPageItems, "item")
	if err != nil {
		return err
	}
	return q.stretch("[]", from, to, "item")
}

// object answers a range of an object's members.
func (q *query) object() *Error {
	if q.v.node != nil && !q.d.keysOf(q.v).repeated {
		from, to, err := q.span(q.d.count(q.v), DefaultPageItems, "key")
		if err != nil {
			return err
		}
		return q.stretch("{}", from, to, "key")
	}
	// Small, or with keys that are there twice.
	members := q.d.members(q.v)
	from, to, err := q.span(len(members), DefaultPageItems, "key")
	if err != nil {
		return err
	}
	out := []byte{'{'}
	for i, c := range members[from:to] {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, q.d.raw[c.nameStart:c.nameEnd]...)
		out = append(out, ':')
		out = append(out, q.d.raw[c.start:c.end]...)
		if len(out) >= q.o.MaxBytes {
			return q.sliceTooLarge(from, to, i, "key")
		}
	}
	out = append(out, '}')
	q.answer.Value = out
	return nil
}

// stretch answers children from to to, which are one run of the text.
func (q *query) stretch(brackets string, from, to int, noun string) *Error {
	out := []byte(brackets)
	if from < to {
		w := q.d.walk(q.v, from)
		first, ok := w.step()
		if !ok {
			return invalid("%s can't be read", q.path.brief()) // only in a text that isn't JSON
		}
		start, end := first.from(), first.end
		if to-from > 1 {
			if last, ok := q.d.walk(q.v, to-1).step(); ok {
				end = last.end
			}
		}
		if end-start > q.o.MaxBytes-len(brackets) {
			return q.sliceTooLarge(from, to, q.fitting(first, w, start), noun)
		}
		out = slices.Concat(out[:1], q.d.raw[start:end], out[1:])
	}
	q.answer.Value = out
	return nil
}

// fitting counts how many children from first on fit the limit.
func (q *query) fitting(first child, w *walker, start int) int {
	n := 0
	for c, ok := first, true; ok && c.end-start <= q.o.MaxBytes-len("[]"); c, ok = w.step() {
		n++
	}
	return n
}

// text answers a range of a string's characters.
func (q *query) text() *Error {
	v := q.v
	s := inside(q.d.raw[v.start:v.end])
	var total int
	if v.node != nil {
		total = int(v.node.count)
	} else {
		total = countChars(s)
	}
	from, to, err := q.span(total, DefaultPageCharacters, "character")
	if err != nil {
		return err
	}
	start := q.charOffset(s, from)
	end := q.charOffset(s, to)
	if end-start > q.o.MaxBytes-len(`""`) {
		// The characters that fit, by walking as far as the limit goes.
		n := 0
		for i := start; ; n++ {
			if i += charAt(s, i); i-start > q.o.MaxBytes-len(`""`) {
				break
			}
		}
		return q.sliceTooLarge(from, to, n, "character")
	}
	q.answer.Value = slices.Concat([]byte{'"'}, s[start:end], []byte{'"'})
	return nil
}

// charOffset is where character number n of the string starts, or its end.
func (q *query) charOffset(s []byte, n int) int {
	at, counted := 0, 0
	if q.v.node != nil {
		if m, ok := q.d.x.before(q.v.node, n); ok {
			at, counted = int(m.offset)-q.v.start-1, int(m.ordinal)
		}
	}
	at = skipChars(s, at, n-counted)
	return at
}

// sliceTooLarge refuses a range of which only the first fit things fit.
func (q *query) sliceTooLarge(from, to, fit int, noun string) *Error {
	where, limit := q.path.brief(), size(q.o.MaxBytes)
	if fit > 0 {
		return refuse(CodeSliceTooLarge, "%s of %s from offset %d are over the limit of %s for one answer; "+
			"limit=%d fits from there%s", many(to-from, noun), where, from, limit, fit, q.narrower(noun))
	}
	inner := ""
	if noun == "item" {
		inner = " with the path " + q.path.then(step{kind: indexStep, index: from}).brief()
	} else if c, ok := q.d.walk(q.v, from).step(); ok && c.nameEnd > c.nameStart {
		key := unquote(q.d.raw[c.nameStart:c.nameEnd])
		inner = " with the path " + q.path.then(step{kind: nameStep, name: key}).brief()
	}
	return refuse(CodeSliceTooLarge, "the %s of %s at offset %d alone is over the limit of %s for one answer; "+
		"go into it%s%s", noun, where, from, limit, inner, q.narrower(noun))
}

func (q *query) narrower(noun string) string {
	const inCode = "load_result in code reads any size"
	if noun == "item" && len(q.o.Fields) == 0 {
		return "; fields picks keys of its items, and " + inCode
	}
	return "; " + inCode
}

// wholeTooLarge refuses an object or a scalar that was asked for as a whole.
func (q *query) wholeTooLarge() *Error {
	where, bytes, limit := q.path.brief(), size(q.v.end-q.v.start), size(q.o.MaxBytes)
	switch q.d.kind(q.v) {
	case '{':
		return refuse(CodeSliceTooLarge, "%s has %s, over the limit of %s for one answer; go on to one of its keys, "+
			"name some in fields, or read a range of them with offset and limit: %s", where, bytes, limit, q.d.firstKeys(q.v))
	case '"':
		s := inside(q.d.raw[q.v.start:q.v.end])
		fit := 0
		for i := 0; i < len(s) && i+charAt(s, i) <= q.o.MaxBytes-len(`""`); fit++ {
			i += charAt(s, i)
		}
		if fit == 0 {
			break // a limit of a few bytes
		}
		return refuse(CodeSliceTooLarge, "%s has %s, over the limit of %s for one answer; limit=%d reads the first characters of it, "+
			"and load_result in code reads any size", where, bytes, limit, fit)
	}
	return refuse(CodeSliceTooLarge, "%s has %s, over the limit of %s for one answer; read it in code with load_result", where, bytes, limit)
}
