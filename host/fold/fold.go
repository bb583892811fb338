package fold

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"slices"
)

// Folded stands for a value that is too large to be sent as it is.
type Folded struct {
	// Preview is a JSON value: the first items, characters and keys of the value,
	// as far as [Limits] go. A string that was cut ends with "…", within the limit.
	// Lists and objects nested too deep are the strings "[…]" and "{…}", but empty
	// ones stay. A key of more than 100 characters isn't shown (an object of such
	// keys only is "{…}"), and a number of more than 100 is shown as a cut string.
	Preview json.RawMessage `json:"preview"`

	// Shape describes the whole value: {"type", "length"?, "keys"?, "moreKeys"?,
	// "items"?} at every level. The type is one of object, array, string, integer,
	// number, boolean and null, or several of these joined by "|". The length is
	// that of an array in items, or of a string in characters. Keys has the shape
	// of each key, moreKeys the number of keys that aren't listed, and items one
	// shape that fits all the items of the array. Where one shape describes several
	// values, length and moreKeys are the largest of them, and a key that only
	// some of them have is listed like the others.
	Shape json.RawMessage `json:"shape"`

	// Bytes is the size of the value's text.
	Bytes int `json:"bytes"`

	// Shown says how much the preview shows of each list, string and object.
	Shown Shown `json:"shown"`
}

// Fold makes the preview and the shape of a text that is over the threshold; ok
// is false for other texts, which go as they are.
//
// Both are made in one pass over the text, in the order of the text, and are
// bounded by PreviewBytes and ShapeBytes whatever the text (2.5 KiB and 1.5 KiB,
// unless configured). While it works, Fold keeps at most a few MiB, and 8 bytes
// for each key that an object has on top of those shown.
func Fold(text json.RawMessage, limits Limits) (folded Folded, ok bool) {
	l := limits.withDefaults()
	if len(text) <= l.ThresholdBytes {
		return Folded{}, false
	}
	return foldText(text, l)
}

func foldText(text json.RawMessage, l Limits) (folded Folded, ok bool) {
	f := &folder{text: text, l: l, pieces: make([]piece, 1, 64), shapes: make([]shape, 1, 64), seed: maphash.MakeSeed()}
	start := skipSpace(text, 0)
	if end := f.value(start, 0, 0, 0); end == start {
		return Folded{}, false // not JSON
	}
	folded = Folded{Bytes: len(text)}
	folded.Preview, folded.Shown = f.preview()
	folded.Shape = f.shape()
	return folded, true
}

// nodesPerLevel bounds how many values of one level are kept for the preview, and
// how many are described by the shape: more than could ever be written in full.
const nodesPerLevel = 2560

// none is the number of a piece or shape that isn't there.
const none = -1

// folder walks the text once. What the preview may show is kept as pieces, what
// the shape describes as shapes; both are numbered, and the root is number 0.
type folder struct {
	text   []byte
	l      Limits
	pieces []piece
	shapes []shape

	piecesAt, shapesAt [maxLevels + 1]int // how many there are of each level
	seed               maphash.Seed
	hashes             []uint64 // of the keys that aren't listed, of all objects around
}

// piece is a value that the preview may show.
type piece struct {
	start, end         int // of a scalar
	nameStart, nameEnd int // of its key
	first, last, next  int32
	kind               byte // the first byte
	cut                bool // a list or object whose content isn't kept
}

// value walks over the value at text[i], whose piece and shape are given, and
// returns the index after it. Recursion ends where neither is wanted, at level
// l.Levels at the latest.
func (f *folder) value(i, level int, p, s int32) int {
	if p == none && s == none || i >= len(f.text) {
		return skipValue(f.text, i)
	}
	kind := f.text[i]
	if p != none {
		f.pieces[p].kind = kind
	}
	switch kind {
	case '[':
		return f.list(i, level, p, s)
	case '{':
		return f.object(i, level, p, s)
	}
	end := skipValue(f.text, i)
	if end == i {
		return i // only in a text that isn't JSON
	}
	if p != none {
		f.pieces[p].start, f.pieces[p].end = i, end
	}
	if s != none {
		f.shapes[s].types |= typeOf(f.text[i:end])
		if kind == '"' {
			f.shapes[s].sized(countChars(inside(f.text[i:end])))
		}
	}
	return end
}

func (f *folder) list(i, level int, p, s int32) int {
	deep := level >= f.l.Levels
	n := 0
	c := cursor{text: f.text, pos: i + 1}
	for c.more() {
		child, items := int32(none), int32(none)
		if p != none && !deep && n < f.l.Items {
			child = f.addPiece(p, level+1)
		}
		if s != none && !deep {
			items = f.itemShape(s, level+1)
		}
		c.after(f.value(c.pos, level+1, child, items))
		n++
	}
	if p != none && deep {
		f.pieces[p].cut = n > 0
	}
	if s != none {
		f.shapes[s].types |= isArray
		f.shapes[s].sized(n)
	}
	return c.closed()
}

func (f *folder) object(i, level int, p, s int32) int {
	deep := level >= f.l.Levels
	var shown map[string]int32 // the pieces of this object by key
	if p != none && !deep {
		shown = map[string]int32{}
	}
	base := len(f.hashes)
	members, unlisted := 0, 0
	c := cursor{text: f.text, pos: i + 1, object: true}
	for c.more() {
		nameStart, nameEnd := c.key()
		name := inside(f.text[nameStart:nameEnd])
		if bytes.IndexByte(name, '\\') >= 0 {
			name = []byte(unquote(f.text[nameStart:nameEnd]))
		}
		child, key := int32(none), int32(none)
		if p != none && !deep {
			var again bool
			if child, again = shown[string(name)]; again {
				f.pieces[child] = piece{next: f.pieces[child].next} // the last value counts
			} else if child = none; len(shown) < f.l.Keys && showable(name) {
				if child = f.addPiece(p, level+1); child != none {
					shown[string(name)] = child
				}
			}
			if child != none {
				f.pieces[child].nameStart, f.pieces[child].nameEnd = nameStart, nameEnd
			}
		}
		if s != none && !deep {
			key = f.keyShape(s, name, level+1)
		}
		if s != none && key == none {
			f.hashes = append(f.hashes, maphash.Bytes(f.seed, name))
			unlisted++
		}
		c.after(f.value(c.pos, level+1, child, key))
		members++
	}
	if p != none && f.pieces[p].first == 0 {
		f.pieces[p].cut = members > 0 // too deep, or the keys are too long
	}
	if unlisted > 1 {
		slices.Sort(f.hashes[base:])
		unlisted = len(slices.Compact(f.hashes[base:]))
	}
	f.hashes = f.hashes[:base]
	if s != none {
		f.shapes[s].types |= isObject
		f.shapes[s].more = max(f.shapes[s].more, unlisted)
	}
	return c.closed()
}

// showable tells whether a key is short enough for preview and shape.
func showable(name []byte) bool {
	return len(name) <= maxNameCharacters ||
		len(name) <= maxNameCharacters*4 && len([]rune(string(name))) <= maxNameCharacters
}

// addPiece gives a piece one more child, or none where the level is full: then
// the whole piece counts as cut.
func (f *folder) addPiece(parent int32, level int) int32 {
	if f.piecesAt[level] == nodesPerLevel {
		f.pieces[parent].cut = true
		return none
	}
	f.piecesAt[level]++
	n := int32(len(f.pieces))
	f.pieces = append(f.pieces, piece{})
	if last := f.pieces[parent].last; last > 0 {
		f.pieces[last].next = n
	} else {
		f.pieces[parent].first = n
	}
	f.pieces[parent].last = n
	return n
}
