package fold

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/toolplane/toolplane/host/jsonvalue"
)

const (
	// HandlePrefix starts every handle of the result store.
	HandlePrefix = "res_"

	// DefaultMaxHandles is how many handles one call's arguments may name.
	DefaultMaxHandles = 32

	// DefaultMaxArgumentBytes is how large arguments may get.
	DefaultMaxArgumentBytes = 16 << 20
)

// HandleLimits bounds [ResolveHandles]. Zero fields mean the defaults.
type HandleLimits struct {
	MaxHandles int // in one call's arguments
	MaxBytes   int // of the arguments with the values in them
}

// ResolveHandles puts stored values into a call's arguments: an object that is
// exactly {"$result": "res_…"}, or that with a "path", is replaced by the text
// that load returns for the handle and the path ("" without one). Everything else
// stays as it is, byte for byte. Arguments without such an object are returned
// themselves.
//
// Left alone are an object with any further or repeated key, a handle or path that
// isn't a string, a handle without "res_" in front, the arguments as a whole, and
// whatever a loaded text contains: stored values aren't searched for handles.
//
// The error is an *[Error] that names the argument: with [CodeInvalidInput] for
// too many handles, [CodeSliceTooLarge] for values that are too large together, or
// the code of what load answered, if that is an *Error, and load's error as the
// cause. Loaded texts must have passed jsonvalue.Check; nesting adds up, so the
// result is to be checked again.
func ResolveHandles(arguments json.RawMessage, limits HandleLimits, load func(handle, path string) (json.RawMessage, error)) (json.RawMessage, error) {
	if limits.MaxHandles <= 0 {
		limits.MaxHandles = DefaultMaxHandles
	}
	if limits.MaxBytes <= 0 {
		limits.MaxBytes = DefaultMaxArgumentBytes
	}
	// Almost no call has any. An escape might spell the key.
	if !bytes.Contains(arguments, []byte(`$result`)) && !bytes.Contains(arguments, []byte(`\u`)) {
		return arguments, nil
	}
	r := &resolver{text: arguments, limits: limits, load: load, size: len(arguments)}
	if err := r.children(skipSpace(arguments, 0), 0); err != nil {
		return nil, err
	}
	if r.handles == 0 {
		return arguments, nil
	}
	return append(r.out, arguments[r.copied:]...), nil
}

type resolver struct {
	text   []byte
	limits HandleLimits
	load   func(handle, path string) (json.RawMessage, error)

	out     []byte
	copied  int // how much of text is in out
	size    int // of the arguments, with what was loaded so far
	handles int
	at      Path
	end     int // after the value that was walked last
}

// children looks for handles inside a list or object.
func (r *resolver) children(i, depth int) *Error {
	if i >= len(r.text) || r.text[i] != '[' && r.text[i] != '{' || depth > jsonvalue.MaxDepth {
		r.end = skipValue(r.text, i)
		return nil
	}
	c := cursor{text: r.text, pos: i + 1, object: r.text[i] == '{'}
	outer := r.at
	for n := 0; c.more(); n++ {
		start, end := 0, 0
		if c.object {
			start, end = c.key()
		}
		if c.pos < len(r.text) && r.text[c.pos] != '[' && r.text[c.pos] != '{' {
			c.after(skipValue(r.text, c.pos))
			continue
		}
		if c.object {
			r.at = outer.then(step{kind: nameStep, name: unquote(r.text[start:end])})
		} else {
			r.at = outer.then(step{kind: indexStep, index: n})
		}
		if handle, path, end, ok := r.reference(c.pos); ok {
			if err := r.splice(c.pos, end, handle, path); err != nil {
				return err
			}
			r.end = end
		} else if err := r.children(c.pos, depth+1); err != nil {
			return err
		}
		c.after(r.end)
	}
	r.at = outer
	r.end = c.closed()
	return nil
}

// reference reads {"$result": "res_…", "path": "…"}. It gives up at the first
// thing that doesn't fit, so that looking costs little.
func (r *resolver) reference(i int) (handle, path string, end int, ok bool) {
	if i >= len(r.text) || r.text[i] != '{' {
		return "", "", 0, false
	}
	var hasHandle, hasPath bool
	c := cursor{text: r.text, pos: i + 1, object: true}
	for c.more() {
		start, end := c.key()
		key := r.text[start:end]
		if c.pos >= len(r.text) || r.text[c.pos] != '"' {
			return "", "", 0, false
		}
		quoted := r.text[c.pos:skipString(r.text, c.pos)]
		switch {
		case !hasHandle && spells(key, "$result"):
			handle, hasHandle = unquote(quoted), true
		case !hasPath && spells(key, "path"):
			path, hasPath = unquote(quoted), true
		default:
			return "", "", 0, false
		}
		c.after(c.pos + len(quoted))
	}
	return handle, path, c.closed(), hasHandle && strings.HasPrefix(handle, HandlePrefix)
}

// splice puts what load returns in the place of text[from:to].
func (r *resolver) splice(from, to int, handle, path string) *Error {
	where := "arguments" + strings.TrimPrefix(r.at.brief(), "$")
	if r.handles++; r.handles > r.limits.MaxHandles {
		return invalid("%s: more than %d handles in one call; save what belongs together under one handle, "+
			"or call from code with load_result", where, r.limits.MaxHandles)
	}
	loaded, err := r.load(handle, path)
	if err != nil {
		refused := invalid("%s: %s", where, err)
		refused.Cause = err
		if code := codeOf(err); code != "" {
			refused.Code = code
		}
		return refused
	}
	loaded = bytes.TrimSpace(loaded)
	if len(loaded) == 0 {
		return invalid("%s: nothing is stored there; save the value again", where)
	}
	if r.size += len(loaded) - (to - from); r.size > r.limits.MaxBytes {
		return refuse(CodeSliceTooLarge, "%s: with this value of %s the arguments are over the limit of %s; "+
			"name a part of it with path, or save a smaller projection", where, size(len(loaded)), size(r.limits.MaxBytes))
	}
	r.out = append(r.out, r.text[r.copied:from]...)
	r.out = append(r.out, loaded...)
	r.copied = to
	return nil
}
