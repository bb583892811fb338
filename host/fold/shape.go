package fold

import (
	"bytes"
	"strconv"
)

// shape describes the values that stand at one place; those of all the items of a
// list share one.
type shape struct {
	types   typeSet
	length  int  // the largest, of lists and strings
	counted bool // length is known
	keys    []keyedShape
	byName  map[string]int32 // places in keys, when there are many
	next    int              // where the next key is expected, as records repeat
	more    int              // keys that aren't listed, the largest number
	items   int32            // 0: none
}

type keyedShape struct {
	name  string
	shape int32
}

type typeSet uint8

const (
	isObject typeSet = 1 << iota
	isArray
	isString
	isInteger
	isNumber
	isBoolean
	isNull
)

var typeNames = [...]string{"object", "array", "string", "integer", "number", "boolean", "null"}

// typeOf is the type of a scalar.
func typeOf(text []byte) typeSet {
	switch text[0] {
	case '"':
		return isString
	case 't', 'f':
		return isBoolean
	case 'n':
		return isNull
	}
	if bytes.ContainsAny(text, ".eE") {
		return isNumber
	}
	return isInteger
}

func (f *folder) addShape(level int) int32 {
	if f.shapesAt[level] == nodesPerLevel {
		return none
	}
	f.shapesAt[level]++
	f.shapes = append(f.shapes, shape{})
	return int32(len(f.shapes) - 1)
}

// itemShape is the shape of the items of a list with shape s, or none.
func (f *folder) itemShape(s int32, level int) int32 {
	if f.shapes[s].items == 0 {
		f.shapes[s].items = f.addShape(level)
	}
	return f.shapes[s].items
}

// keyShape is the shape of a key of an object with shape s, or none when the key
// isn't listed.
func (f *folder) keyShape(s int32, name []byte, level int) int32 {
	at := &f.shapes[s]
	if i, ok := at.find(name); ok {
		at.next = i + 1
		return at.keys[i].shape
	}
	if len(at.keys) == f.l.Keys || !showable(name) {
		return none
	}
	n := f.addShape(level)
	if n == none {
		return none
	}
	at = &f.shapes[s] // which addShape may have moved
	if at.byName != nil || len(at.keys) >= 8 {
		if at.byName == nil {
			at.byName = map[string]int32{}
			for i, k := range at.keys {
				at.byName[k.name] = int32(i)
			}
		}
		at.byName[string(name)] = int32(len(at.keys))
	}
	at.keys = append(at.keys, keyedShape{string(name), n})
	at.next = len(at.keys)
	return n
}

func (s *shape) find(name []byte) (int, bool) {
	if s.next >= len(s.keys) {
		s.next = 0
	}
	if s.next < len(s.keys) && s.keys[s.next].name == string(name) {
		return s.next, true
	}
	if s.byName != nil {
		i, ok := s.byName[string(name)]
		return int(i), ok
	}
	for i := range s.keys {
		if s.keys[i].name == string(name) {
			return i, true
		}
	}
	return 0, false
}

func (s *shape) sized(n int) {
	s.length, s.counted = max(s.length, n), true
}

// tighterShapes are the limits under which a shape is tried, best first.
var tighterShapes = []struct{ keys, levels int }{
	{maxKeys, maxLevels}, {50, 8}, {50, 6}, {50, 5}, {40, 4}, {25, 4}, {50, 3}, {25, 3}, {15, 3},
	{50, 2}, {25, 2}, {15, 2}, {8, 2}, {50, 1}, {25, 1}, {10, 1}, {4, 1}, {1, 1}, {0, 0},
}

// shape writes the shape, with as many keys and levels as fit. The last limits
// always do: all the types and two numbers take fewer than 128 bytes.
func (f *folder) shape() []byte {
	buf := make([]byte, 0, f.l.ShapeBytes)
	for _, l := range tighterShapes {
		if out, ok := f.appendShape(buf, 0, 0, l.keys, l.levels); ok {
			return out
		}
	}
	return []byte(`{}`)
}

func (f *folder) appendShape(dst []byte, n int32, level, keys, levels int) (out []byte, ok bool) {
	s := &f.shapes[n]
	dst = append(dst, `{"type":"`...)
	between := false
	for i, name := range typeNames {
		if s.types&(1<<i) != 0 {
			if between {
				dst = append(dst, '|')
			}
			dst = append(dst, name...)
			between = true
		}
	}
	dst = append(dst, '"')
	if s.counted {
		dst = strconv.AppendInt(append(dst, `,"length":`...), int64(s.length), 10)
	}
	shown := len(s.keys)
	if level >= levels {
		shown = 0
	}
	shown = min(shown, keys)
	if shown > 0 {
		dst = append(dst, `,"keys":{`...)
		for i, k := range s.keys[:shown] {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, k.name), ':')
			if dst, ok = f.appendShape(dst, k.shape, level+1, keys, levels); !ok {
				return dst, false
			}
		}
		dst = append(dst, '}')
	}
	if more := s.more + len(s.keys) - shown; more > 0 {
		dst = strconv.AppendInt(append(dst, `,"moreKeys":`...), int64(more), 10)
	}
	if s.items > 0 && level < levels {
		dst = append(dst, `,"items":`...)
		if dst, ok = f.appendShape(dst, s.items, level+1, keys, levels); !ok {
			return dst, false
		}
	}
	dst = append(dst, '}')
	return dst, len(dst) <= f.l.ShapeBytes
}
