package search

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/toolplane/toolplane/host/capability"
)

// Hit is a capability, how to call it, and how well it fits: scores are
// comparable within one search only, and 0 where everything is listed.
type Hit = capability.Hit

// Page is a part of what a search found.
type Page struct {
	Hits []Hit // best first, equal ones by name; what they hold is shared and must not be changed
	// Total is how many there are on all pages.
	Total int
	// NextOffset is the offset of the next page, 0 if there is none.
	NextOffset int
	// Known is how many capabilities there are, whatever was looked for.
	Known int
	// Closest are names, at most 3, that come closest when nothing was found: those
	// that have the words but not the tags, or else those that are spelled alike.
	Closest []string
	// Tags are those in use, at most 20, the most used first, when nothing was found
	// that has the wanted ones.
	Tags []string
}

const (
	maxClosest = 3
	maxTags    = 20
)

// scored is an entry with its score.
type scored struct {
	entry int
	score float64
}

func (s *snapshot) search(ctx context.Context, r *request) (Page, error) {
	page := Page{Known: len(s.entries), Hits: []Hit{}}
	if err := ctx.Err(); err != nil {
		return page, err
	}
	ranked, err := s.rank(ctx, r)
	if err != nil {
		return page, err
	}
	tagged := ranked
	if len(r.tags) > 0 {
		tagged = slices.DeleteFunc(slices.Clone(ranked), func(x scored) bool { return !s.has(x.entry, r.tags) })
	}
	page.Total = len(tagged)
	for _, x := range tagged[min(r.offset, len(tagged)):min(r.offset+r.limit, len(tagged))] {
		hit := s.entries[x.entry]
		hit.Score = x.score
		page.Hits = append(page.Hits, hit)
	}
	if r.offset+r.limit < len(tagged) {
		page.NextOffset = r.offset + r.limit
	}
	if len(tagged) == 0 {
		for _, x := range ranked[:min(maxClosest, len(ranked))] {
			page.Closest = append(page.Closest, s.entries[x.entry].Capability.Name)
		}
		if len(page.Closest) == 0 {
			page.Closest = s.alike(r.text)
		}
		if len(r.tags) > 0 {
			page.Tags = s.usedTags()
		}
	}
	return page, nil
}

// rank scores the entries for the words of a request; without words it lists all.
func (s *snapshot) rank(ctx context.Context, r *request) ([]scored, error) {
	if len(r.wanted) == 0 {
		all := make([]scored, len(s.entries))
		for i := range all {
			all[i].entry = i
		}
		return all, nil
	}
	if s.reader == nil {
		return nil, nil
	}
	total := make([]float64, len(s.entries))
	answered := make([]uint32, len(s.entries))
	var answerable uint32
	for _, w := range r.wanted {
		scores, err := s.match(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		for i, score := range scores {
			if score == 0 {
				continue
			}
			if w.stop {
				score *= 0.1
			}
			total[i] += score
			answered[i] |= w.covers
			answerable |= w.covers
		}
	}
	first := 2 * max(slices.Max(total), 1)
	for _, i := range s.aliases[strings.ToLower(r.text)] {
		// The whole text is a name: that one comes first, whatever the words say.
		total[i] = first
		answered[i] |= answerable | 1
	}
	out := make([]scored, 0, len(total))
	for i, score := range total {
		if answered[i] == 0 {
			continue // nothing, or stop words alone
		}
		// One that has every word comes before one that has a single word often.
		share := float64(bits.OnesCount32(answered[i])) / float64(max(1, bits.OnesCount32(answerable)))
		out = append(out, scored{i, score * share * share})
	}
	slices.SortFunc(out, func(a, b scored) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return a.entry - b.entry // by name
	})
	return out, nil
}

func (s *snapshot) has(entry int, tags []string) bool {
	for _, t := range tags {
		if !s.tags[entry][t] {
			return false
		}
	}
	return true
}

func (s *snapshot) usedTags() []string {
	count := map[string]int{}
	for _, tags := range s.tags {
		for t := range tags {
			count[t]++
		}
	}
	all := make([]string, 0, len(count))
	for t := range count {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b string) int {
		if c := count[b] - count[a]; c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return all[:min(maxTags, len(all))]
}
