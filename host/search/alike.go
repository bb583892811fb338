package search

import (
	"cmp"
	"slices"
	"unicode"

	"github.com/toolplane/toolplane/host/capability"
)

// leastAlike is how much of their pairs of letters two names must share for one
// to be suggested for the other, from 0 to 1.
const leastAlike = 0.3

// alike lists the names that share most pairs of neighboring letters with a text
// (Dice's coefficient), either whole or with their tool alone. It's meant for what
// no word of the index answers, typos included.
func (s *snapshot) alike(text string) []string {
	wanted := pairs(nil, text)
	if len(wanted) == 0 {
		return nil
	}
	type candidate struct {
		name  string
		share float64
	}
	var found []candidate
	var buf []uint64
	like := func(spelling string) float64 {
		buf = pairs(buf, spelling)
		return dice(wanted, buf)
	}
	for _, e := range s.entries {
		name := e.Capability.Name
		share := like(name)
		if n, err := capability.ParseName(name); err == nil {
			share = max(share, like(n.Tool), like(n.Provider+n.Tool))
		}
		if share >= leastAlike {
			found = append(found, candidate{name, share})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.share, a.share) })
	var out []string
	for _, c := range found[:min(maxClosest, len(found))] {
		out = append(out, c.name)
	}
	return out
}

// pairs lists the pairs of neighboring letters and digits of a text in order,
// without what stands between them, in the memory of buf.
func pairs(buf []uint64, text string) []uint64 {
	out := buf[:0]
	var last rune
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		r = unicode.ToLower(r)
		if last != 0 {
			out = append(out, uint64(last)<<32|uint64(r))
		}
		last = r
	}
	slices.Sort(out)
	return out
}

// dice is the share of the pairs of two texts that they have in common.
func dice(a, b []uint64) float64 {
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			common++
			i++
			j++
		}
	}
	if len(a)+len(b) == 0 {
		return 0
	}
	return 2 * float64(common) / float64(len(a)+len(b))
}
