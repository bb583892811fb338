package fold

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sort"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/toolplane/toolplane/host/jsonvalue"
)

// index remembers places in a text: a node for each list, object and string that
// takes a grain or more, and in it a mark about every grain. Values without a
// node are smaller than a grain, so that scanning over one is cheap.
//
// Containers nest, so a text of many brackets could have far more nodes than
// grains. The number of nodes and marks is therefore capped, and the text is
// scanned again with a coarser grain where the cap is hit.
type index struct {
	grain int
	nodes []node // by start
	marks []mark // by node

	seed maphash.Seed
	mu   sync.Mutex
	keys map[uint32]*keyTable // by the start of the object
}

type node struct {
	start, end uint32
	count      uint32 // of children; of characters in a string
	firstMark  uint32
	markCount  uint32
}

// mark says where child (or character) number ordinal starts.
type mark struct{ ordinal, offset uint32 }

// entriesPerGrain is how many nodes and marks there may be for each grain of text.
const entriesPerGrain = 8

func buildIndex(text []byte, finest int) *index {
	for grain := finest; ; grain *= 4 {
		x := &index{grain: grain, seed: maphash.MakeSeed(), keys: map[uint32]*keyTable{}}
		if x.build(text, len(text)/finest*entriesPerGrain) {
			slices.SortFunc(x.nodes, func(a, b node) int { return int(int64(a.start) - int64(b.start)) })
			x.nodes, x.marks = exactly(x.nodes), exactly(x.marks)
			return x
		}
	}
}

// exactly copies s into memory of just its size.
func exactly[T any](s []T) []T { return append(make([]T, 0, len(s)), s...) }

// frame is a container that build stands in.
type frame struct {
	start, last int // last: where the last mark is
	count       int
	marks       []mark
}

// build scans the text; false means that there are more than limit entries.
func (x *index) build(text []byte, limit int) bool {
	var stack []frame
	depth := 0     // frames in use; those above keep their memory for the next container
	pending := 0   // marks in frames
	fresh := false // a child may start here
	for i := 0; i < len(text); {
		c := text[i]
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ':' {
			i++
			continue
		}
		if fresh && c != ']' && c != '}' {
			fresh = false
			f := &stack[depth-1]
			if i-f.last >= x.grain {
				f.marks = append(f.marks, mark{uint32(f.count), uint32(i)})
				f.last = i
				pending++
			}
			f.count++
		}
		switch c {
		case '"':
			end := skipString(text, i)
			if end-i >= x.grain {
				x.addString(text, i, end)
			}
			i = end
		case '{', '[':
			if depth == jsonvalue.MaxDepth {
				return true // only in a text that Check refuses
			}
			if depth == len(stack) {
				stack = append(stack, frame{})
			}
			stack[depth] = frame{start: i, last: i, marks: stack[depth].marks[:0]}
			depth++
			fresh = true
			i++
		case '}', ']':
			i++
			fresh = false
			if depth == 0 {
				return true // only in a text that isn't JSON
			}
			depth--
			f := &stack[depth]
			pending -= len(f.marks)
			if i-f.start >= x.grain {
				x.add(f.start, i, f.count, f.marks)
			}
		case ',':
			fresh = depth > 0
			i++
		default:
			i = max(skipScalar(text, i), i+1)
		}
		// The grain can't outgrow the text, so this comes to an end.
		if len(x.nodes)+len(x.marks)+pending > limit && x.grain < len(text) {
			return false
		}
	}
	return true
}

func (x *index) add(start, end, count int, marks []mark) {
	x.nodes = append(x.nodes, node{uint32(start), uint32(end), uint32(count), uint32(len(x.marks)), uint32(len(marks))})
	x.marks = append(x.marks, marks...)
}

func (x *index) addString(text []byte, start, end int) {
	s := text[:max(end-1, start+1)]
	first, chars, last := len(x.marks), 0, start+1
	for i := last; i < len(s); {
		stop := max(i, min(last+x.grain, len(s)))
		if escape := bytes.IndexByte(s[i:stop], '\\'); escape >= 0 {
			chars += utf8.RuneCount(s[i:i+escape]) + 1
			i += escape
			i += charAt(s, i)
		} else {
			for stop < len(s) && s[stop]&0xc0 == 0x80 {
				stop++ // to the end of the character
			}
			chars += utf8.RuneCount(s[i:stop])
			i = stop
		}
		if i-last >= x.grain && i < len(s) {
			x.marks = append(x.marks, mark{uint32(chars), uint32(i)})
			last = i
		}
	}
	x.nodes = append(x.nodes, node{uint32(start), uint32(end), uint32(chars), uint32(first), uint32(len(x.marks) - first)})
}

// bytes is the memory that the index takes.
func (x *index) bytes() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := len(x.nodes)*int(unsafe.Sizeof(node{})) + len(x.marks)*int(unsafe.Sizeof(mark{}))
	for _, t := range x.keys {
		n += t.bytes()
	}
	return n
}

// firstFrom is the number of the first node that starts at i or later.
func (x *index) firstFrom(i int) int {
	return sort.Search(len(x.nodes), func(n int) bool { return int(x.nodes[n].start) >= i })
}

// at is the node that starts at i, or nil.
func (x *index) at(i int) *node {
	if n := x.firstFrom(i); n < len(x.nodes) && int(x.nodes[n].start) == i {
		return &x.nodes[n]
	}
	return nil
}

func (x *index) marksOf(n *node) []mark {
	return x.marks[n.firstMark : n.firstMark+n.markCount]
}

// before is the last mark at or before child (or character) number i.
func (x *index) before(n *node, i int) (mark, bool) {
	marks := x.marksOf(n)
	after := sort.Search(len(marks), func(m int) bool { return int(marks[m].ordinal) > i })
	if after == 0 {
		return mark{}, false
	}
	return marks[after-1], true
}
