package main

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/toolplane/toolplane/plugins/sdk"
)

// found is the answer of search.
type found struct {
	Issues []hit `json:"issues"`
	Total  int   `json:"total" jsonschema_description:"How many issues match in all."`
}

type hit struct {
	ID     int64    `json:"id"`
	Number int      `json:"number"`
	Title  string   `json:"title"`
	State  string   `json:"state" jsonschema:"enum=open,enum=closed"`
	Labels []string `json:"labels"`
	Score  int      `json:"score"`

	record record
}

const hitFields fieldSet = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<4

// AppendJSON implements sdk.Appender.
func (f found) AppendJSON(b []byte) ([]byte, error) {
	b = append(b, `{"issues":[`...)
	for i, h := range f.Issues {
		if i > 0 {
			b = append(b, ',')
		}
		b = h.record.append(b, hitFields)
		b = append(b[:len(b)-1], `,"score":`...)
		b = append(strconv.AppendInt(b, int64(h.Score), 10), '}')
	}
	b = append(b, `],"total":`...)
	return append(strconv.AppendInt(b, int64(f.Total), 10), '}'), nil
}

// term is one word of a query, looked up in the word lists once instead of in 100,000 texts.
type term struct {
	parts, problems, circumstances, people []bool
	labels                                 uint32
}

func newTerm(word string) term {
	contains := func(texts ...string) []bool {
		out := make([]bool, len(texts))
		for i, text := range texts {
			out[i] = strings.Contains(strings.ToLower(text), word)
		}
		return out
	}
	t := term{parts: contains(parts...), circumstances: contains(circumstances...)}
	for _, p := range problems {
		t.problems = append(t.problems, contains(p.text)...)
	}
	for _, p := range people {
		in := contains(p.login, p.name)
		t.people = append(t.people, in[0] || in[1])
	}
	for i, in := range contains(labels...) {
		if in {
			t.labels |= 1 << i
		}
	}
	return t
}

// score is 0 if the word isn't in the issue, and more for the title than for the rest.
func (t term) score(r *record) int {
	score := 0
	for _, part := range []struct {
		in     bool
		weight int
	}{
		{t.parts[r.part], 4}, {t.problems[r.problem], 3}, {t.circumstances[r.circumstance], 3},
		{t.labels&r.labels != 0, 2}, {t.people[r.author], 1},
	} {
		if part.in {
			score += part.weight
		}
	}
	return score
}

func search(_ context.Context, in searchIn) (found, error) {
	words := strings.Fields(strings.ToLower(in.Query))
	if len(words) == 0 || len(words) > 20 {
		return found{}, sdk.ValueError("query has %d words; it needs 1 to 20", len(words))
	}
	var terms []term
	for _, word := range words {
		terms = append(terms, newTerm(word))
	}
	var hits []hit
	for number := 1; number <= trackerSize; number++ {
		r := newRecord(number)
		sum := 0
		for _, t := range terms {
			score := t.score(&r)
			if sum += score; score == 0 {
				sum = 0
				break
			}
		}
		if sum > 0 {
			hits = append(hits, hit{Number: number, Score: sum})
		}
	}
	answer := found{Total: len(hits)}
	slices.SortStableFunc(hits, func(a, b hit) int { return b.Score - a.Score })
	for _, h := range hits[:min(in.Limit, len(hits))] {
		h.record = newRecord(h.Number)
		answer.Issues = append(answer.Issues, h)
	}
	return answer, nil
}

func labelIndex(label string) int { return slices.Index(labels, label) }
