package search

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a query.
const (
	MaxTextBytes = 1000
	MaxTags      = 16
	MaxTagBytes  = 128
	MaxLimit     = 50
	DefaultLimit = 20
	MaxOffset    = 1_000_000
	// MaxWords is how many different words of a text are looked for; those after
	// them are left aside.
	MaxWords = 24
)

// Query says what to look for. Its zero value finds everything.
type Query struct {
	// Text is looked for as words. No character in it has a meaning of its own: the
	// operators of query languages are spaces. A text without any word, such as
	// "***", finds what an empty one finds.
	Text string
	// Tags must all be tags of a capability for it to be found; letter case doesn't
	// matter.
	Tags []string
	// Limit is how many hits to return at most, from 1 to MaxLimit. 0 means
	// DefaultLimit.
	Limit int
	// Offset is how many hits to leave out at the beginning.
	Offset int
}

// A QueryError says which part of a query is out of bounds, and the way out.
type QueryError struct {
	Param   string // text, tags, limit or offset
	Message string // without the parameter
}

func (e *QueryError) Error() string { return "search: " + e.Param + " " + e.Message }

// request is a query that was checked.
type request struct {
	text   string // trimmed
	wanted []wanted
	tags   []string // lower case
	limit  int
	offset int
}

// wanted is one word that is looked for.
type wanted struct {
	word
	stop bool
	// covers are the words of the query that a hit answers, a bit for each. Those
	// written together answer two, stop words none.
	covers uint32
}

func (q Query) check() (*request, error) {
	refuse := func(param, format string, a ...any) (*request, error) {
		return nil, &QueryError{param, fmt.Sprintf(format, a...)}
	}
	r := &request{limit: q.Limit, offset: q.Offset}
	if r.limit == 0 {
		r.limit = DefaultLimit
	}
	switch {
	case len(q.Text) > MaxTextBytes:
		return refuse("text", "has %d bytes, the limit is %d; a few words find more than a long text", len(q.Text), MaxTextBytes)
	case !utf8.ValidString(q.Text):
		return refuse("text", "isn't valid UTF-8")
	case r.limit < 1 || r.limit > MaxLimit:
		return refuse("limit", "is %d, it can be 1 to %d; page with offset", q.Limit, MaxLimit)
	case q.Offset < 0 || q.Offset > MaxOffset:
		return refuse("offset", "is %d, it can be 0 to %d", q.Offset, MaxOffset)
	case len(q.Tags) > MaxTags:
		return refuse("tags", "has %d of them, the limit is %d; each narrows the search", len(q.Tags), MaxTags)
	}
	for _, tag := range q.Tags {
		if tag == "" || len(tag) > MaxTagBytes || !utf8.ValidString(tag) {
			return refuse("tags", "has one that is empty, longer than %d bytes, or not UTF-8", MaxTagBytes)
		}
		r.tags = append(r.tags, strings.ToLower(tag))
	}
	r.text = strings.TrimSpace(q.Text)
	r.wanted = wantedWords(r.text)
	return r, nil
}

// wantedWords lists the words of a text, each once, and after them those that its
// neighbors make when they're written together (git hub, pull_request). A text of
// nothing but stop words means them.
func wantedWords(text string) []wanted {
	var plain []wanted
	var joins []wanted
	at := map[string]int{} // in plain
	previous, position := "", -1
	only := true
	for _, w := range words(text) {
		if w.joined {
			joins = append(joins, wanted{word: w})
			continue
		}
		i, known := at[w.raw]
		if !known {
			if len(plain) == MaxWords {
				break
			}
			i = len(plain)
			at[w.raw] = i
			stop := stopping[w.raw]
			only = only && stop
			plain = append(plain, wanted{word: w, stop: stop, covers: 1 << i})
		}
		if previous != "" && utf8.RuneCountInString(previous+w.raw) <= maxWordRunes {
			joins = append(joins, wanted{word: word{raw: previous + w.raw, stem: stem(previous + w.raw), joined: true}, covers: 1<<position | 1<<i})
		}
		previous, position = w.raw, i
	}
	for i := range plain {
		if only {
			plain[i].stop = false
		}
		if plain[i].stop {
			plain[i].covers = 0
		}
	}
	seen := map[string]bool{}
	for _, j := range joins {
		if _, known := at[j.raw]; !known && !seen[j.raw] {
			seen[j.raw] = true
			plain = append(plain, j)
		}
	}
	return plain
}
