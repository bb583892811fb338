package fold

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	hintKeys      = 5    // named in a message
	hintScanned   = 2000 // keys looked at for the nearest
	hintNameRunes = 30
)

// missing says how far a path leads, and what is there.
func (d *Document) missing(v value, at Path, s step) *Error {
	where := at.brief()
	asked := s.brief()
	switch d.kind(v) {
	case '{':
		return refuse(CodePathNotFound, "%s is an object without %s; %s", where, asked, d.keyHint(v, s))
	case '[':
		n := d.count(v)
		switch {
		case n == 0:
			return refuse(CodePathNotFound, "%s is an empty list, so it has no %s; read %s itself", where, asked, where)
		case s.kind == nameStep:
			return refuse(CodePathNotFound, "%s is a list of %s, which have numbers, not names: go on with %s to %s, "+
				"or read %s with limit, and with fields to pick keys of its items",
				where, many(n, "item"), at.then(step{kind: indexStep}).brief(), at.then(step{kind: indexStep, index: n - 1}).brief(), where)
		}
		return refuse(CodePathNotFound, "%s is a list of %s, so it has no %s; indexes go from 0 to %d, and [-1] is the last",
			where, many(n, "item"), asked, n-1)
	}
	return refuse(CodePathNotFound, "%s is %s, so there is no %s inside it; read %s itself", where, d.describe(v), asked, where)
}

// describe names the type of a value: a list of 3 items.
func (d *Document) describe(v value) string {
	switch d.kind(v) {
	case '{':
		return "an object with " + many(d.count(v), "key")
	case '[':
		return "a list of " + many(d.count(v), "item")
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// brief writes a step for a message.
func (s step) brief() string {
	switch {
	case s.kind == indexStep:
		return "[" + strconv.Itoa(s.index) + "]"
	case s.kind == tokenStep && isIndex(s.name):
		return "[" + shorten(s.name, hintNameRunes) + "]"
	}
	return string(appendQuoted(nil, shorten(s.name, hintNameRunes)))
}

// keyHint lists the keys of an object that come closest to what was asked for, or
// else the first ones.
func (d *Document) keyHint(v value, s step) string {
	asked := shorten(s.name, hintNameRunes)
	hint := ""
	if s.kind == indexStep {
		asked = strconv.Itoa(s.index)
		hint = `an object's keys are written ["like this"]: `
	}
	tolerance := utf8.RuneCountInString(asked)/3 + 1
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	w := d.walk(v, 0)
	for w.ordinal < hintScanned {
		c, ok := w.step()
		if !ok {
			break
		}
		name := shorten(unquote(d.raw[c.nameStart:c.nameEnd]), hintNameRunes)
		n := tolerance
		if len(asked) < 2 || !strings.Contains(strings.ToLower(name), strings.ToLower(asked)) {
			n = distance(asked, name)
		}
		if n <= tolerance {
			near = append(near, candidate{name, n})
		}
	}
	if len(near) == 0 {
		return hint + d.firstKeys(v)
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	var names []string
	for _, c := range near {
		if len(names) < hintKeys && !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return hint + listKeys("the nearest key", names, d.count(v))
}

// firstKeys lists the first keys of an object.
func (d *Document) firstKeys(v value) string {
	var names []string
	w := d.walk(v, 0)
	for len(names) < 2*hintKeys {
		c, ok := w.step()
		if !ok {
			break
		}
		if name := shorten(unquote(d.raw[c.nameStart:c.nameEnd]), hintNameRunes); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "it is empty"
	}
	return listKeys("the first key", names, d.count(v))
}

func listKeys(label string, names []string, total int) string {
	var sb strings.Builder
	sb.WriteString(label)
	if len(names) == 1 {
		sb.WriteString(" is ")
	} else {
		sb.WriteString("s are ")
	}
	for i, name := range names {
		if i > 0 {
			sb.WriteString(", ")
		}
		sb.Write(appendQuoted(nil, name))
	}
	if total > len(names) {
		sb.WriteString(" (of " + strconv.Itoa(total) + ")")
	}
	return sb.String()
}

// distance is the number of edits between two short names, without regard to case.
func distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
