package fold

import (
	"encoding/json"
	"unicode/utf8"
)

const (
	// DefaultMaxBytes is how large a slice may be where QueryOptions doesn't say.
	DefaultMaxBytes = DefaultThresholdBytes

	// DefaultPageItems is the size of a page of a list or an object where Page is
	// given without Limit.
	DefaultPageItems = 50
	// DefaultPageCharacters is the same for a string.
	DefaultPageCharacters = 4000

	// MaxFields is how many fields one query may name.
	MaxFields = 32
)

// QueryOptions says which part of a value is wanted.
type QueryOptions struct {
	// Path leads to the value; see [ParsePath]. "" is the whole value.
	Path string
	// Offset and Limit cut a range out of a list (of items), an object (of members)
	// or a string (of characters). Nil means from the start, and to the end.
	Offset, Limit *int
	// Page counts from 1 and replaces Offset; Limit is then the size of a page.
	Page *int
	// Fields keeps, of an object or of each object in a list, only these keys.
	// A field is a key, or else a path inside the object, such as author.login;
	// the answer has it under the name given here. What an object doesn't have is
	// left out, and null stays null.
	Fields []string
	// MaxBytes is how large the text of the answer's value may be; 0 means
	// [DefaultMaxBytes].
	MaxBytes int
}

// Answer is part of a value.
type Answer struct {
	// Path is where the value was found, as a dot path without negative indexes.
	Path string `json:"path"`
	// Value is cut out of the document's text, or put together of such cuts.
	Value json.RawMessage `json:"value"`
	// Total is how many items, members or characters the value at Path has. It is
	// there for every list, and for everything that a range was asked of.
	Total *int `json:"total,omitempty"`
	// Offset is where the answer starts in them; there where Total is.
	Offset *int `json:"offset,omitempty"`
	// NextOffset is where the next slice starts, if there is more.
	NextOffset *int `json:"nextOffset,omitempty"`
}

// Query reads part of a document. The error is an *[Error] with one of
//
//   - [CodePathNotFound]: the message says how far the path leads, and what is there;
//   - [CodeSliceTooLarge]: the message names the limit, and a range that fits it;
//   - [CodeInvalidInput]: the path can't be read, or the options make no sense.
//
// Query is safe for concurrent use on one document.
func Query(doc *Document, o QueryOptions) (Answer, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if err := o.check(); err != nil {
		return Answer{}, err
	}
	v, path, err := doc.find(o.Path)
	if err != nil {
		return Answer{}, err
	}
	q := query{d: doc, v: v, path: path, o: o}
	if err := q.run(); err != nil {
		return Answer{}, err
	}
	q.answer.Path = path.String()
	return q.answer, nil
}

func (o QueryOptions) ranged() bool { return o.Offset != nil || o.Limit != nil || o.Page != nil }

func (o QueryOptions) check() error {
	switch {
	case o.Offset != nil && *o.Offset < 0:
		return invalid("offset is %d; it counts from 0 (a path can count from the end: rows[-1])", *o.Offset)
	case o.Limit != nil && *o.Limit < 1:
		return invalid("limit is %d; ask for at least 1, or leave it out to read to the end", *o.Limit)
	case o.Page != nil && *o.Page < 1:
		return invalid("page is %d; pages count from 1", *o.Page)
	case o.Page != nil && o.Offset != nil:
		return invalid("page and offset were both given; use page with limit (the size of a page), or offset with limit")
	case len(o.Fields) > MaxFields:
		return invalid("%d fields were given, and %d are the limit; ask in two queries, or read the objects whole", len(o.Fields), MaxFields)
	}
	for i, f := range o.Fields {
		if len(f) > MaxPathBytes || !utf8.ValidString(f) {
			return invalid("fields[%d] isn't text of at most %d bytes", i, MaxPathBytes)
		}
	}
	return nil
}

// query is one query at work.
type query struct {
	d      *Document
	v      value
	path   Path
	o      QueryOptions
	answer Answer
}

func (q *query) run() *Error {
	kind := q.d.kind(q.v)
	if len(q.o.Fields) > 0 {
		return q.project(kind)
	}
	switch {
	case kind == '[':
		return q.list()
	case !q.o.ranged():
		if q.v.end-q.v.start > q.o.MaxBytes {
			return q.wholeTooLarge()
		}
		q.answer.Value = q.d.raw[q.v.start:q.v.end:q.v.end]
		return nil
	case kind == '{':
		return q.object()
	case kind == '"':
		return q.text()
	}
	return invalid("%s is %s and has no parts; leave offset, limit and page out", q.path.brief(), q.d.describe(q.v))
}

// span turns the options into a range of total things, and notes it in the answer.
func (q *query) span(total, pageSize int, noun string) (from, to int, err *Error) {
	o := q.o
	from, to = 0, total
	if o.Limit != nil {
		pageSize = *o.Limit
	}
	switch {
	case o.Page != nil:
		pages := max(1, (total-1)/pageSize+1)
		if *o.Page > pages {
			return 0, 0, invalid("page is %d, but %s has %s, which makes %s of %d",
				*o.Page, q.path.brief(), many(total, noun), many(pages, "page"), pageSize)
		}
		from = (*o.Page - 1) * pageSize
	case o.Offset != nil:
		if from = *o.Offset; from > total {
			return 0, 0, invalid("offset is %d, but %s has only %s", from, q.path.brief(), many(total, noun))
		}
	}
	if o.Page != nil || o.Limit != nil {
		to = from + min(pageSize, total-from)
	}
	q.answer.Total, q.answer.Offset = &total, &from
	if to < total {
		q.answer.NextOffset = &to
	}
	return from, to, nil
}
