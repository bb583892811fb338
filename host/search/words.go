package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/char/asciifolding"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
)

// maxWordRunes is where a word is cut: what is longer is data, not a word.
const maxWordRunes = 48

// word is one word of a text.
type word struct {
	raw    string // lower case, without accents
	stem   string // of raw; equal to it where English has nothing to cut
	joined bool   // the parts of a compound written together: pullrequest
}

var (
	folding  = asciifolding.New()
	stemming = en.NewEnglishStemmerFilter()
	stopping = stopWords()
)

// stopWords are what English can't do without and nobody looks for.
func stopWords() analysis.TokenMap {
	m := analysis.NewTokenMap()
	if err := m.LoadBytes(en.EnglishStopWords); err != nil {
		panic(err) // a list that is compiled in
	}
	return m
}

// splitter splits texts into words. It remembers those it has seen, since most
// words of a catalog stand in it many times. It isn't safe for concurrent use.
type splitter struct {
	known map[string]word // by how a part of a text is written
}

func newSplitter() *splitter { return &splitter{map[string]word{}} }

// words splits one text.
func words(text string) []word { return newSplitter().split(text) }

// split splits a text. The parts of compounds (search_issues, pull-request,
// parseCSV, plugin:issues/list) become words, and those of one compound also a
// joined word after them.
func (s *splitter) split(text string) []word {
	var out []word
	var parts []string
	flush := func() {
		begin := len(out)
		for _, p := range parts {
			if w := s.word(p); w.raw != "" {
				out = append(out, w)
			}
		}
		if len(out)-begin > 1 {
			if all := strings.Join(parts, ""); utf8.RuneCountInString(all) <= maxWordRunes {
				w := s.word(all)
				w.joined = true
				out = append(out, w)
			}
		}
		parts = parts[:0]
	}
	runes := []rune(text)
	var part []rune
	end := func() {
		if len(part) > 0 {
			parts = append(parts, string(part))
			part = part[:0]
		}
	}
	for i, r := range runes {
		switch {
		case unspaced(r):
			end()
			flush()
			out = append(out, s.word(string(r)))
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if camelBoundary(runes, i) {
				end()
			}
			part = append(part, r)
		case unicode.Is(unicode.Mn, r):
			if len(part) > 0 && !accent(r) {
				part = append(part, r)
			}
		case r == '_' || r == '-':
			end()
		case isApostrophe(r) && len(part) > 0 && contraction(runes[i+1:]):
			// The letter after the apostrophe of issue's or don't is no word.
			end()
			flush()
			runes[i+1] = ' '
		default:
			end()
			flush()
		}
	}
	end()
	flush()
	return out
}

// camelBoundary tells whether a word begins at runes[i], a letter or digit: at
// the I of searchIssues and at the R of HTTPRequest, not within sha256.
func camelBoundary(runes []rune, i int) bool {
	if i == 0 || !unicode.IsUpper(runes[i]) {
		return false
	}
	before := runes[i-1]
	if unicode.IsLower(before) || unicode.IsDigit(before) {
		return true
	}
	return unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1]) && !pluralOfCapitals(runes[i+1:])
}

// pluralOfCapitals is the s of URLs and IDs.
func pluralOfCapitals(rest []rune) bool {
	return rest[0] == 's' && (len(rest) == 1 || !unicode.IsLetter(rest[1]))
}

// unspaced are the scripts that put no spaces between words: each character
// counts as one.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) &&
		unicode.IsLetter(r)
}

// accent is a combining mark that folding would have taken off a composed letter.
func accent(r rune) bool { return r >= 0x300 && r <= 0x36f }

func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

func contraction(rest []rune) bool {
	return len(rest) > 0 && (rest[0] == 's' || rest[0] == 't') && (len(rest) == 1 || !unicode.IsLetter(rest[1]))
}

func (s *splitter) word(part string) word {
	w, known := s.known[part]
	if !known {
		w = newWord(part)
		s.known[part] = w
	}
	return w
}

func newWord(part string) word {
	raw := string(folding.Filter([]byte(strings.ToLower(part))))
	if runes := []rune(raw); len(runes) > maxWordRunes {
		raw = string(runes[:maxWordRunes])
	}
	return word{raw: raw, stem: stem(raw)}
}

// stem cuts English endings. Words that aren't made of ASCII letters alone are no
// English words.
func stem(raw string) string {
	for i := range len(raw) {
		if raw[i] < 'a' || raw[i] > 'z' {
			return raw
		}
	}
	stream := stemming.Filter(analysis.TokenStream{{Term: []byte(raw)}})
	if len(stream) != 1 || len(stream[0].Term) == 0 {
		return raw
	}
	return string(stream[0].Term)
}
