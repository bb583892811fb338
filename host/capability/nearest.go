package capability

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// distance counts the edits between two names, unless they are more than limit
// allows for the shorter one of the two.
func distance(a, b string, limit func(runes int) int) (edits int, near bool) {
	la, lb := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	most := limit(min(la, lb))
	if la > MaxNameBytes || max(la, lb)-min(la, lb) > most {
		return 0, false
	}
	edits = levenshtein.ComputeDistance(a, b)
	return edits, edits <= most
}

// suggestible is generous: two letters that changed places are two edits, and a
// person or a model looks at what is suggested.
func suggestible(runes int) int {
	if runes < 4 {
		return 1
	}
	return max(2, runes/3)
}

// closest returns the one of names that word is most likely a misspelling of.
func closest(word string, names []string) string {
	best, least := "", -1
	for _, name := range names {
		if edits, near := distance(strings.ToLower(word), strings.ToLower(name), suggestible); near && (least < 0 || edits < least) {
			best, least = name, edits
		}
	}
	return best
}

// nearest ranks canonical names by how much one of their spellings looks like
// name: the canonical one, the aliases, the tool alone.
func nearest(name string, bindings []Binding, n int) []string {
	if n <= 0 || len(name) > 2*MaxNameBytes {
		return nil
	}
	type candidate struct {
		name string
		rank int
	}
	var found []candidate
	wanted := pythonName(strings.ToLower(name))
	for _, b := range bindings {
		best := -1
		consider := func(spelling string, extra int) {
			s := pythonName(strings.ToLower(spelling))
			rank := -1
			switch edits, near := distance(wanted, s, suggestible); {
			case near:
				rank = 2*edits + extra
			case len(wanted) >= 3 && strings.Contains(s, wanted):
				rank = 10 + extra // part of the name, such as the provider's
			}
			if rank >= 0 && (best < 0 || rank < best) {
				best = rank
			}
		}
		consider(b.Name, 0)
		if parsed, err := ParseName(b.Name); err == nil {
			a := aliasesOf(parsed)
			consider(a.flat, 0)
			if a.tool != "" {
				consider(a.tool, 3)
			}
		}
		if best >= 0 {
			found = append(found, candidate{b.Name, best})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, c := range found[:min(n, len(found))] {
		out = append(out, c.name)
	}
	return out
}
