package capability

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// Hit is one result of a search.
type Hit struct {
	Capability Capability
	Call       string  // how to call it, as in its Binding
	Score      float64 // larger is better; comparable within one search only
}

// Bounds on a query; what is beyond them is ignored.
const (
	maxQueryBytes = 1000
	maxQueryWords = 16
)

// Search ranks capabilities by how well their names, titles, tags, arguments and
// descriptions fit a query. Words match whole, by their beginning, or with a
// typo. An empty query lists everything by name, with score 0. A limit of zero or
// less means all.
func (r *Registry) Search(query string, limit int) []Hit {
	c := r.current.Load()
	v := c.view()
	if limit <= 0 || limit > len(v.entries) {
		limit = len(v.entries)
	}
	if strings.TrimSpace(query) == "" {
		hits := make([]Hit, limit)
		for i := range hits {
			hits[i] = Hit{Capability: v.entries[i].capability, Call: v.bindings[i].Call}
		}
		return hits
	}
	ranked := c.index().rank(query)
	hits := make([]Hit, 0, min(limit, len(ranked)))
	for _, s := range ranked[:min(limit, len(ranked))] {
		hits = append(hits, Hit{v.entries[s.doc].capability, v.bindings[s.doc].Call, s.score})
	}
	return hits
}

// Weights of where a word stands, and of how it matches.
const (
	inName        = 5.0
	inTitle       = 3.0
	inTags        = 3.0
	inArguments   = 2.0
	inDescription = 1.0

	asWhole  = 1.0
	asPrefix = 0.6
	asTypo   = 0.4
)

// index is a small inverted index: for each word, how much it weighs in which
// capability.
type index struct {
	size  int
	words map[string]map[int]float64
}

func newIndex(entries []*entry) *index {
	x := &index{size: len(entries), words: map[string]map[int]float64{}}
	for i, e := range entries {
		c := e.capability
		x.add(i, inName, c.Name)
		x.add(i, inTitle, c.Title)
		x.add(i, inTags, c.Tags...)
		for _, p := range e.params {
			x.add(i, inArguments, p.name)
		}
		x.add(i, inDescription, c.Description)
	}
	return x
}

// add counts each word once a field, at the weight of its best field.
func (x *index) add(doc int, weight float64, texts ...string) {
	for _, text := range texts {
		for _, w := range words(text) {
			if x.words[w] == nil {
				x.words[w] = map[int]float64{}
			}
			x.words[w][doc] = max(x.words[w][doc], weight)
		}
	}
}

type scored struct {
	doc   int
	score float64
}

func (x *index) rank(query string) []scored {
	wanted := words(clip(query, maxQueryBytes))
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	wanted = wanted[:min(len(wanted), maxQueryWords)]

	total := map[int]float64{}
	matched := map[int]int{}
	for _, want := range wanted {
		best := map[int]float64{}
		for word, docs := range x.words {
			how := likeness(want, word)
			if how == 0 {
				continue
			}
			// A word that few capabilities have says more.
			rarity := math.Log(1 + float64(x.size)/float64(len(docs)))
			for doc, weight := range docs {
				best[doc] = max(best[doc], how*weight*rarity)
			}
		}
		for doc, score := range best {
			total[doc] += score
			matched[doc]++
		}
	}
	out := make([]scored, 0, len(total))
	for doc, score := range total {
		// One that has every word comes before one that has a single word often.
		share := float64(matched[doc]) / float64(len(wanted))
		out = append(out, scored{doc, score * share * share})
	}
	slices.SortFunc(out, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return a.doc - b.doc // by name
	})
	return out
}

// likeness is how well a word answers a wanted one, from 0 to 1.
func likeness(want, word string) float64 {
	switch {
	case want == word:
		return asWhole
	case len(want) >= 3 && strings.HasPrefix(word, want):
		return asPrefix
	case len(want) >= 4:
		if edits, near := distance(want, word, func(runes int) int { return min(runes/4, 2) }); near {
			return asTypo / float64(edits)
		}
	}
	return 0
}

// words splits a text, and the compounds of names in it (createIssue,
// pull-request), into lower-case words without a plural s.
func words(text string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, singular(strings.ToLower(string(word))))
			word = word[:0]
		}
	}
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			flush()
			continue
		}
		if n := len(word); unicode.IsUpper(r) && n > 0 && unicode.IsLower(word[n-1]) {
			flush()
		}
		word = append(word, r)
	}
	flush()
	return out
}

// singular cuts the s off words that are long enough to have one.
func singular(w string) string {
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		return w[:len(w)-1]
	}
	return w
}
