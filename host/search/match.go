package search

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// How well a term of the dictionary answers a wanted word.
const (
	asWritten = 1.0
	asStem    = 0.92
	// A beginning counts for more the more of the word it is.
	asPrefixLeast = 0.3
	asPrefixMost  = 0.7
	asOneEdit     = 0.5
	asTwoEdits    = 0.3

	// maxTerms bounds the terms that one word may stand for.
	maxTerms = 128
)

// term is a word of the dictionary, with how well it answers.
type term struct {
	text     string
	likeness float64
}

// edits is how many typos a word of so many letters is allowed. Two letters that
// changed places are one. Long words have none: nobody types them, and their
// automata are the dearest part of a search.
func edits(runes int) int {
	switch {
	case runes < 4 || runes > 24:
		return 0
	case runes < 6:
		return 1
	}
	return 2
}

// terms looks a wanted word up in the dictionary. Typos are considered only for
// a word that no capability uses: one that is used isn't a typo.
func (s *snapshot) terms(ctx context.Context, w wanted) ([]term, error) {
	var out []term
	at := map[string]int{}
	add := func(text string, likeness float64) {
		if i, known := at[text]; known {
			out[i].likeness = max(out[i].likeness, likeness)
		} else if len(out) < maxTerms {
			at[text] = len(out)
			out = append(out, term{text, likeness})
		}
	}
	dictionary, err := s.reader.FieldDictContains(vocabulary)
	if err != nil {
		return nil, err
	}
	for i, text := range []string{w.raw, w.stem} {
		known, err := dictionary.Contains([]byte(text))
		if err != nil {
			return nil, err
		}
		if known {
			add(text, []float64{asWritten, asStem}[i])
		}
	}
	if w.stop || w.joined {
		return out, nil
	}
	exact := len(out) > 0
	begin := w.stem
	if utf8.RuneCountInString(begin) < 3 {
		begin = w.raw
	}
	if utf8.RuneCountInString(begin) >= 2 {
		dict, err := s.reader.FieldDictPrefix(vocabulary, []byte(begin))
		if err != nil {
			return nil, err
		}
		for e, err := dict.Next(); e != nil || err != nil; e, err = dict.Next() {
			if err != nil {
				return nil, err
			}
			share := float64(len(begin)) / float64(len(e.Term))
			add(strings.Clone(e.Term), asPrefixLeast+(asPrefixMost-asPrefixLeast)*share)
		}
		if err := dict.Close(); err != nil {
			return nil, err
		}
	}
	if exact {
		return out, ctx.Err()
	}
	// Of serching both are tried: as it's written, and without its ending.
	for _, text := range slices.Compact([]string{w.raw, w.stem}) {
		most := edits(utf8.RuneCountInString(text))
		if most == 0 || ctx.Err() != nil {
			continue
		}
		dict, err := s.reader.FieldDictFuzzy(vocabulary, text, most, "")
		if err != nil {
			return nil, err
		}
		for e, err := dict.Next(); e != nil || err != nil; e, err = dict.Next() {
			if err != nil {
				return nil, err
			}
			likeness := asTwoEdits
			if e.EditDistance <= 1 {
				likeness = asOneEdit
			}
			add(strings.Clone(e.Term), likeness)
		}
		if err := dict.Close(); err != nil {
			return nil, err
		}
	}
	return out, ctx.Err()
}

// Constants of BM25: k1 is how soon more of the same stops to matter.
const k1 = 1.2

// match weighs how well each capability answers one wanted word: by its best
// field, and a little by the others. The result is 0 where it doesn't.
func (s *snapshot) match(ctx context.Context, w wanted) ([]float64, error) {
	terms, err := s.terms(ctx, w)
	if err != nil || len(terms) == 0 {
		return nil, err
	}
	best := make([]float64, len(s.entries))
	sum := make([]float64, len(s.entries))
	in := make([]float64, len(s.entries))
	for f, field := range fields {
		if s.average[f] == 0 {
			continue
		}
		clear(in)
		for _, t := range terms {
			postings, err := s.reader.TermFieldReader(ctx, []byte(t.text), field.name, true, true, false)
			if err != nil {
				return nil, err
			}
			for p, err := postings.Next(nil); p != nil || err != nil; p, err = postings.Next(p.Reset()) {
				if err != nil {
					return nil, err
				}
				i := s.position[p.ID.Value()]
				length := 1 / (p.Norm * p.Norm) // in words
				frequency := float64(p.Freq) / (1 - field.length + field.length*length/s.average[f])
				in[i] = max(in[i], t.likeness*field.weight*frequency*(k1+1)/(frequency+k1))
			}
			if err := postings.Close(); err != nil {
				return nil, err
			}
		}
		for i, score := range in {
			best[i] = max(best[i], score)
			sum[i] += score
		}
	}
	found := 0
	for _, score := range best {
		if score > 0 {
			found++
		}
	}
	if found == 0 {
		return nil, nil
	}
	// A word that few capabilities have says more, wherever in them it stands.
	rarity := math.Log(1 + float64(len(s.entries))/float64(found))
	for i := range best {
		best[i] = rarity * (best[i] + 0.2*(sum[i]-best[i]))
	}
	return best, ctx.Err()
}
