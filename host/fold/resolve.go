package fold

import (
	"errors"
	"strconv"
)

// find resolves a path, and writes it anew with the indexes that it came to.
func (d *Document) find(text string) (value, Path, *Error) {
	path, err := ParsePath(text)
	if err != nil {
		var at *PathError
		errors.As(err, &at)
		return value{}, Path{}, &Error{Code: CodeInvalidInput, Message: shorten(at.Error(), maxMessageRunes), Cause: at}
	}
	return d.follow(d.root(), Path{}, path)
}

// follow resolves a path from v, which is at prefix.
func (d *Document) follow(v value, prefix, path Path) (value, Path, *Error) {
	if v.start == v.end {
		return value{}, Path{}, refuse(CodePathNotFound, "the stored text is empty; save the value again")
	}
	for _, s := range path.steps {
		next, taken, ok := d.enter(v, s)
		if !ok {
			return value{}, Path{}, d.missing(v, prefix, s)
		}
		v, prefix = next, prefix.then(taken)
	}
	return v, prefix, nil
}

// enter takes one step.
func (d *Document) enter(v value, s step) (value, step, bool) {
	switch {
	case d.kind(v) == '{' && s.kind != indexStep:
		if c, ok := d.key(v, s.name); ok {
			return d.valueOf(c), step{kind: nameStep, name: s.name}, true
		}
	case d.kind(v) == '[' && s.kind != nameStep:
		i, ok := d.position(v, s)
		if !ok {
			break
		}
		if c, ok := d.walk(v, i).step(); ok {
			return d.valueOf(c), step{kind: indexStep, index: i}, true
		}
	}
	return value{}, step{}, false
}

// position turns the index of a step into one from the start of the list.
func (d *Document) position(v value, s step) (int, bool) {
	if s.kind == tokenStep {
		i, err := strconv.Atoi(s.name)
		return i, err == nil && isIndex(s.name)
	}
	if s.index < 0 {
		i := d.count(v) + s.index
		return i, i >= 0
	}
	return s.index, true
}
