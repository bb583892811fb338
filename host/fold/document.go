package fold

import (
	"encoding/json"
	"sync"
)

const (
	// grainBytes is how far apart the index remembers places, at first.
	grainBytes = 4 << 10

	// indexFromGrains is how many grains a text has at least that gets an index;
	// smaller ones are scanned, which takes a fraction of a millisecond.
	indexFromGrains = 16
)

// Document is the text of a value, with an index that makes repeated reads cheap.
//
// The first read of a text of 64 KiB or more scans it once and remembers where,
// about every 4 KiB, an item, a member or a character starts. A later read scans
// a few times 4 KiB at most, wherever it leads. The first time that an object of
// over 4 KiB is asked for a key, or for a range of keys, its keys are hashed.
//
// The index holds at most one place (of 20 bytes or fewer) for each 512 bytes
// of text, and 2⅛ bytes for each key of the objects asked, that is about 5% of the
// text, plus 2% for keys where a member takes 100 bytes. No text can make it
// take more than half of the text's own size.
//
// A Document is safe for concurrent use. There is nothing to close.
type Document struct {
	raw   []byte
	grain int
	once  sync.Once
	x     *index // nil for small texts
}

// NewDocument wraps text, which must have passed jsonvalue.Check and may not
// change any more. It takes no time: the index is built by the first read.
func NewDocument(text json.RawMessage) *Document { return &Document{raw: text, grain: grainBytes} }

// Bytes is the size of the text.
func (d *Document) Bytes() int { return len(d.raw) }

// IndexBytes is how much memory the index takes at the moment.
func (d *Document) IndexBytes() int {
	if x := d.index(); x != nil {
		return x.bytes()
	}
	return 0
}

// At returns the text of the value that the path leads to, of any size, sharing
// memory with the Document's text. The error is a *[Error].
func (d *Document) At(path string) (json.RawMessage, error) {
	v, _, err := d.find(path)
	if err != nil {
		return nil, err
	}
	return d.raw[v.start:v.end:v.end], nil
}

func (d *Document) index() *index {
	d.once.Do(func() {
		if len(d.raw) >= indexFromGrains*d.grain && uint64(len(d.raw)) < 1<<32 {
			d.x = buildIndex(d.raw, d.grain)
		}
	})
	return d.x
}

// value is a value's place in the text.
type value struct {
	start, end int
	node       *node // what the index knows of it, or nil
}

func (d *Document) kind(v value) byte {
	if v.start < v.end {
		return d.raw[v.start]
	}
	return 'n'
}

// valueAt is the value that starts at i.
func (d *Document) valueAt(i int) value {
	if x := d.index(); x != nil {
		if n := x.at(i); n != nil {
			return value{i, int(n.end), n}
		}
	}
	return value{i, skipValue(d.raw, i), nil}
}

// valueOf is the value of a child.
func (d *Document) valueOf(c child) value {
	v := value{start: c.start, end: c.end}
	if x := d.index(); x != nil && c.end-c.start >= x.grain {
		v.node = x.at(c.start)
	}
	return v
}

func (d *Document) root() value { return d.valueAt(skipSpace(d.raw, 0)) }

// child is an item of a list or a member of an object.
type child struct {
	nameStart, nameEnd int // the key with its quotes; equal in a list
	start, end         int // the value
}

// from is where the child starts, its key included.
func (c child) from() int {
	if c.nameEnd > c.nameStart {
		return c.nameStart
	}
	return c.start
}

// walker goes through the children of a list or object, and jumps over those that
// the index knows.
type walker struct {
	cursor
	ordinal int // of the next child
	x       *index
	next    int // the first node at or after pos
}

// walk returns a walker that stands before child number n, or at the end.
func (d *Document) walk(v value, n int) *walker {
	w := &walker{cursor: cursor{d.raw, v.start + 1, d.kind(v) == '{'}, x: d.index()}
	if v.node != nil {
		if m, ok := w.x.before(v.node, n); ok {
			w.pos, w.ordinal = int(m.offset), int(m.ordinal)
		}
	}
	if w.x != nil {
		w.next = w.x.firstFrom(w.pos)
	}
	for w.ordinal < n {
		if _, ok := w.step(); !ok {
			break
		}
	}
	return w
}

// step reads one child; ok is false at the end.
func (w *walker) step() (c child, ok bool) {
	if !w.more() {
		return child{}, false
	}
	if w.object {
		c.nameStart, c.nameEnd = w.key()
	}
	c.start, c.end = w.pos, w.skip(w.pos)
	if !w.after(c.end) {
		return child{}, false
	}
	w.ordinal++
	return c, true
}

// skip jumps over values that the index knows, and scans the others.
func (w *walker) skip(i int) int {
	if w.x == nil {
		return skipValue(w.text, i)
	}
	for w.next < len(w.x.nodes) && int(w.x.nodes[w.next].start) < i {
		w.next++ // a long key: no child
	}
	if w.next < len(w.x.nodes) && int(w.x.nodes[w.next].start) == i {
		end := int(w.x.nodes[w.next].end)
		w.next = w.x.firstFrom(end)
		return end
	}
	return skipValue(w.text, i)
}

// count is the number of items or members, members of equal keys included.
func (d *Document) count(v value) int {
	if v.node != nil {
		return int(v.node.count)
	}
	w := d.walk(v, 0)
	for {
		if _, ok := w.step(); !ok {
			return w.ordinal
		}
	}
}
