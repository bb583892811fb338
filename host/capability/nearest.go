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
// name: the canonical one, the flat alias, the tool alone.
func nearest(name string, entries []*entry, n int) []string {
	if n <= 0 || len(name) > 2*MaxNameBytes {
		return nil
	}
	type candidate struct {
		name string
		rank int
	}
	var found []candidate
	wanted := strings.ToLower(pythonName(name))
	_, bare, _ := strings.Cut(wanted, ":") // without the kind, which is easily mistaken
	for _, e := range entries {
		best := candidate{e.capability.Name, -1}
		consider := func(wanted, spelling string, extra int) {
			spelling = strings.ToLower(spelling)
			rank := -1
			switch edits, near := distance(wanted, spelling, suggestible); {
			case near:
				rank = 2*edits + extra
			case utf8.RuneCountInString(wanted) >= 3 && strings.Contains(spelling, wanted):
				rank = 20 + extra // part of the name, such as the provider's
			}
			if rank >= 0 && (best.rank < 0 || rank < best.rank) {
				best.rank = rank
			}
		}
		consider(wanted, pythonName(e.capability.Name), 0)
		consider(wanted, e.aliases.flat, 0)
		if e.aliases.tool != "" {
			consider(wanted, e.aliases.tool, 3)
		}
		if bare != "" {
			consider(bare, e.aliases.flat, 2)
		}
		if best.rank >= 0 {
			found = append(found, best)
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
