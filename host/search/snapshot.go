package search

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/toolplane/toolplane/host/capability"
)

// vocabulary is the field that holds every word of every other one: the
// dictionary in which beginnings and typos are looked up.
const vocabulary = "words"

// snapshot is a catalog as it can be searched. It is immutable, holds nothing
// but memory, and needs no closing.
type snapshot struct {
	entries []capability.Hit // sorted by name, without scores
	tags    []map[string]bool
	aliases map[string][]int // positions in entries, by what else would spell the name

	reader   dictionaries         // nil when there are no entries
	position []int                // in entries, by bleve's number of the document
	average  [len(fields)]float64 // words in a field
}

// dictionaries is what is used of bleve's reader.
type dictionaries interface {
	index.IndexReader
	index.IndexReaderContains
	index.IndexReaderFuzzy
}

// newSnapshot indexes what isn't hidden; of two with the same name the later one
// counts. A panic of the engine becomes an error: a text that it can't take must
// not take the host away.
func newSnapshot(catalog []capability.Hit) (s *snapshot, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("index %d capabilities: the engine panicked: %v", len(catalog), p)
		}
	}()
	s = &snapshot{entries: visible(catalog), aliases: map[string][]int{}}
	batch := index.NewBatch()
	split := newSplitter()
	for i, e := range s.entries {
		s.tags = append(s.tags, tagSet(e.Capability.Tags))
		for _, alias := range spellings(e.Capability.Name) {
			s.aliases[alias] = append(s.aliases[alias], i)
		}
		doc := document.NewDocument(strconv.Itoa(i))
		var all analysis.TokenStream
		for f, texts := range textsOf(e.Capability) {
			tokens := split.tokensOf(fields[f].name, texts)
			s.average[f] += float64(len(tokens)) / float64(len(s.entries))
			doc.AddField(newField(fields[f].name, tokens))
			all = append(all, tokens...)
		}
		doc.AddField(newField(vocabulary, all))
		batch.Update(doc)
	}
	if len(s.entries) == 0 {
		return s, nil
	}
	if s.reader, err = freeze(batch); err != nil {
		return nil, fmt.Errorf("index %d capabilities: %w", len(s.entries), err)
	}
	s.position = make([]int, len(s.entries))
	for i := range s.entries {
		id, err := s.reader.InternalID(strconv.Itoa(i))
		if err != nil {
			return nil, fmt.Errorf("index %d capabilities: find one again: %w", len(s.entries), err)
		}
		if n := id.Value(); n >= uint64(len(s.position)) {
			return nil, fmt.Errorf("index %d capabilities: the engine numbers one of them %d", len(s.entries), n)
		}
		s.position[id.Value()] = i
	}
	return s, nil
}

// freeze indexes a batch in memory. The index is closed again, which ends its
// goroutines; its reader keeps the one segment that was made, and because a reader
// in memory owns no file, dropping it is all the closing that it needs.
func freeze(batch *index.Batch) (d dictionaries, err error) {
	queue := index.NewAnalysisQueue(1) // the words are split already, so there's nothing to do side by side
	defer queue.Close()
	engine, err := scorch.NewScorch(scorch.Name, map[string]any{"path": ""}, queue)
	if err != nil {
		return nil, err
	}
	if err := engine.Open(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	if err := engine.Batch(batch); err != nil {
		return nil, err
	}
	reader, err := engine.Reader()
	if err != nil {
		return nil, err
	}
	d, ok := reader.(dictionaries)
	if !ok {
		return nil, fmt.Errorf("a reader of type %T has no dictionaries", reader)
	}
	return d, nil
}

// visible sorts a copy by name, without hidden ones and doubles.
func visible(catalog []capability.Hit) []capability.Hit {
	out := make([]capability.Hit, 0, len(catalog))
	for _, e := range catalog {
		if !e.Capability.Hidden {
			out = append(out, capability.Hit{Capability: e.Capability, Call: e.Call})
		}
	}
	slices.SortStableFunc(out, func(a, b capability.Hit) int { return strings.Compare(a.Capability.Name, b.Capability.Name) })
	kept := out[:0]
	for i, e := range out {
		if i+1 == len(out) || out[i+1].Capability.Name != e.Capability.Name {
			kept = append(kept, e)
		}
	}
	return kept
}

func tagSet(tags []string) map[string]bool {
	set := make(map[string]bool, len(tags))
	for _, t := range tags {
		set[strings.ToLower(t)] = true
	}
	return set
}

// spellings are the ways to write the name itself, in lower case: canonical, as
// the flat and as the scoped alias.
func spellings(name string) []string {
	all := []string{strings.ToLower(name)}
	n, err := capability.ParseName(name)
	if err != nil {
		return all
	}
	python := strings.NewReplacer("-", "_", ".", "_", "/", "_", " ", "_")
	provider, tool := strings.ToLower(python.Replace(n.Provider)), strings.ToLower(python.Replace(n.Tool))
	if tool == "" {
		return append(all, provider)
	}
	return append(all, provider+"_"+tool, provider+"."+tool)
}

// prepared is an analyzer for a text that is analyzed already.
type prepared analysis.TokenStream

func (p prepared) Analyze([]byte) analysis.TokenStream { return analysis.TokenStream(p) }

func newField(name string, tokens analysis.TokenStream) document.Field {
	return document.NewTextFieldCustom(name, nil, nil, index.IndexField, prepared(tokens))
}

// tokensOf lists what is indexed of a field: each word as it is written and, if
// that's another, its stem. The field of details and descriptions has no stop
// words; in a name (log_in) they may be half of it.
func (s *splitter) tokensOf(name string, texts []string) analysis.TokenStream {
	prose := name == "description" || name == "details"
	var out analysis.TokenStream
	for _, w := range s.wordsOf(texts) {
		if prose && stopping[w.raw] {
			continue
		}
		out = append(out, &analysis.Token{Term: []byte(w.raw), Position: len(out) + 1})
		if w.stem != w.raw {
			out = append(out, &analysis.Token{Term: []byte(w.stem), Position: len(out) + 1})
		}
	}
	return out
}
