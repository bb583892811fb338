package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner walks over JSON text and hands out slices of it. It wraps the tokenizer, which refuses invalid UTF-8, lone
// surrogate escapes and text nested deeper than 10,000 levels. Duplicate names are allowed here, because they are
// carried inside of user values; the levels that the protocol owns check for themselves.
type scanner struct {
	text []byte
	buf  *bytes.Buffer
	dec  *jsontext.Decoder
}

var scanners = sync.Pool{New: func() any {
	return &scanner{dec: jsontext.NewDecoder(bytes.NewBuffer(nil), scanOptions)}
}}

var scanOptions = jsontext.AllowDuplicateNames(true)

func newScanner(text []byte) *scanner {
	s := scanners.Get().(*scanner)
	s.text = text
	s.buf = bytes.NewBuffer(text)
	s.dec.Reset(s.buf, scanOptions)
	return s
}

// release gives s back. Slices that it handed out stay valid: they belong to the text.
func (s *scanner) release() {
	s.text, s.buf = nil, nil
	s.dec.Reset(bytes.NewBuffer(nil), scanOptions)
	scanners.Put(s)
}

// peek returns the kind of the next value: one of n t f " 0 { [, or 0 when there is none.
func (s *scanner) peek() jsontext.Kind { return s.dec.PeekKind() }

// value returns the next value's text.
func (s *scanner) value() ([]byte, error) {
	v, err := s.dec.ReadValue()
	if err != nil {
		return nil, syntaxError(err)
	}
	// By offset, because the tokenizer's own slice is only promised until its next read.
	end := s.dec.InputOffset()
	start := end - int64(len(v))
	return s.text[start:end:end], nil
}

func (s *scanner) skip() error {
	_, err := s.value()
	return err
}

// object reads the object that is next and calls member at each member's value, which member must consume.
func (s *scanner) object(member func(name string) error) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	for s.dec.PeekKind() != '}' {
		token, err := s.dec.ReadToken()
		if err != nil {
			return syntaxError(err)
		}
		if err := member(token.String()); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return syntaxError(err)
}

// array is object for arrays.
func (s *scanner) array(element func(i int) error) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	for i := 0; s.dec.PeekKind() != ']'; i++ {
		if err := element(i); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return syntaxError(err)
}

// end makes sure that nothing but whitespace is left.
func (s *scanner) end() error {
	start := s.dec.InputOffset()
	_, err := s.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return fmt.Errorf("more text follows the value at byte %d", start)
	default:
		return syntaxError(err)
	}
}

// syntaxError says what is wrong and where, without the tokenizer's name.
func syntaxError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the text ends too early")
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) && syntactic.Err != nil {
		problem := cutQuote(strings.TrimPrefix(syntactic.Err.Error(), "jsontext: "))
		return fmt.Errorf("%s at byte %d", problem, syntactic.ByteOffset)
	}
	return err
}

// cutQuote shortens the text that the tokenizer quotes to one escape sequence: errors are logged, user values aren't.
func cutQuote(problem string) string {
	before, quoted, found := strings.Cut(problem, "`")
	quoted, after, closed := strings.Cut(quoted, "`")
	if !found || !closed {
		return problem
	}
	const escape = len(`\u0000`)
	return before + "`" + strings.ToValidUTF8(quoted[:min(len(quoted), escape)], "") + "`" + after
}

// checkValue makes sure that raw is exactly one JSON value and returns its kind.
func checkValue(raw []byte) (jsontext.Kind, error) {
	s := newScanner(raw)
	defer s.release()
	kind := s.peek()
	if err := s.skip(); err != nil {
		return 0, err
	}
	return kind, s.end()
}

// unquote decodes a JSON string that was read before, so that it can't fail.
func unquote(raw []byte) string {
	b, _ := jsontext.AppendUnquote(nil, raw)
	return string(b)
}

// parseInteger reads a JSON number that is written as a plain integer and fits an int64.
func parseInteger(raw []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "nothing"
	}
}
