package fold

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"slices"
)

// keyTable finds a key of a large object without reading the others.
//
// The marks of the object's node cut its members into blocks. For each member
// the table keeps the number of its block and four bits of the key's hash, in a
// bucket chosen by the rest of the hash: a look-up scans the block of the key,
// and two or three others in the mean.
type keyTable struct {
	shift    uint     // blocks are grouped by 1<<shift, so that their number fits
	bits     uint     // 1<<bits buckets
	starts   []uint32 // of each bucket in entries, and their end
	entries  []uint16 // 4 bits of hash, 12 bits of block group
	repeated bool     // two keys are (or, with vanishing odds, may be) equal
}

const (
	groupBits  = 12
	groupMask  = 1<<groupBits - 1
	bucketBits = 5 // a bucket holds 16 to 32 keys in the mean
)

func (t *keyTable) bytes() int { return 4*len(t.starts) + 2*len(t.entries) + 64 }

func (x *index) hash(quoted []byte) uint64 {
	s := inside(quoted)
	if bytes.IndexByte(s, '\\') < 0 {
		return maphash.Bytes(x.seed, s)
	}
	return maphash.String(x.seed, unquote(quoted))
}

// keysOf returns the table of an object that has a node, and builds it when asked
// for the first time.
func (d *Document) keysOf(v value) *keyTable {
	x := d.x
	x.mu.Lock()
	defer x.mu.Unlock() // others that need a table wait; building takes a fraction of a parse
	t := x.keys[v.node.start]
	if t == nil {
		t = d.hashKeys(v)
		x.keys[v.node.start] = t
	}
	return t
}

func (d *Document) hashKeys(v value) *keyTable {
	x := d.x
	marks := x.marksOf(v.node)
	t := &keyTable{}
	for len(marks)>>t.shift > groupMask {
		t.shift++
	}
	// The upper 52 bits of each hash, and the group below them.
	hashes := make([]uint64, 0, v.node.count)
	block := 0
	for w := d.walk(v, 0); ; {
		c, ok := w.step()
		if !ok {
			break
		}
		for block < len(marks) && int(marks[block].offset) <= c.nameStart {
			block++
		}
		hashes = append(hashes, x.hash(d.raw[c.nameStart:c.nameEnd])&^groupMask|uint64(block>>t.shift))
	}
	slices.Sort(hashes)

	t.bits = uint(max(0, bits.Len(uint(len(hashes)))-bucketBits))
	t.starts = make([]uint32, 1<<t.bits+1)
	t.entries = make([]uint16, len(hashes))
	for i, h := range hashes {
		t.starts[t.bucket(h)+1]++
		t.entries[i] = uint16(h) // the group, and the four bits above it
		t.repeated = t.repeated || i > 0 && h>>groupBits == hashes[i-1]>>groupBits
	}
	for i := range t.starts[1:] {
		t.starts[i+1] += t.starts[i]
	}
	return t
}

func (t *keyTable) bucket(hash uint64) uint64 { return hash >> (64 - t.bits) }

// key finds a key of an object; of several that are equal, the last.
func (d *Document) key(v value, name string) (child, bool) {
	if v.node == nil {
		return d.lastOf(d.walk(v, 0), v.end, name)
	}
	x, t := d.x, d.keysOf(v)
	h := maphash.String(x.seed, name)
	var groups []int
	for _, e := range t.entries[t.starts[t.bucket(h)]:t.starts[t.bucket(h)+1]] {
		if e>>groupBits == uint16(h)>>groupBits {
			groups = append(groups, int(e&groupMask))
		}
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	marks := x.marksOf(v.node)
	for _, g := range slices.Backward(groups) {
		first, last := g<<t.shift, (g+1)<<t.shift // blocks; block n starts at mark n-1
		ordinal, end := 0, v.end
		if first > 0 {
			ordinal = int(marks[first-1].ordinal)
		}
		if last <= len(marks) {
			end = int(marks[last-1].offset)
		}
		if c, ok := d.lastOf(d.walk(v, ordinal), end, name); ok {
			return c, true
		}
	}
	return child{}, false
}

// lastOf is the last member before end with that key.
func (d *Document) lastOf(w *walker, end int, name string) (found child, ok bool) {
	for w.pos < end {
		c, more := w.step()
		if !more {
			break
		}
		if spells(d.raw[c.nameStart:c.nameEnd], name) {
			found, ok = c, true
		}
	}
	return found, ok
}

// members lists an object's members with each key once: in the place of the
// first, with the value of the last.
func (d *Document) members(v value) []child {
	var list []child
	seen := map[string]int{}
	for w := d.walk(v, 0); ; {
		c, ok := w.step()
		if !ok {
			return list
		}
		name := unquote(d.raw[c.nameStart:c.nameEnd])
		if i, again := seen[name]; again {
			list[i] = c
			continue
		}
		seen[name] = len(list)
		list = append(list, c)
	}
}
