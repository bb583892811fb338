package fold

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxPathBytes is how long a path may be.
	MaxPathBytes = 4096

	maxIndexDigits = 15 // more than any text has items
)

// PathError says why a path can't be read.
type PathError struct {
	Path     string // as given
	Position int    // of the fault, in characters, from 1
	Problem  string
	Example  string // the path that was probably meant, or one that is well formed
}

func (e *PathError) Error() string {
	return fmt.Sprintf("the path %s can't be read at character %d: %s; for example %s",
		strconv.Quote(shorten(e.Path, 80)), e.Position, e.Problem, shorten(e.Example, 120))
}

// ParsePath reads a dot path or a JSON pointer; the error is a *[PathError].
//
// A text that starts with "/" is a pointer (RFC 6901): /rows/2/title, with ~1
// for a slash and ~0 for a tilde inside a name. Everything else is a dot path:
// $.rows[2].title, where "$" and the dot after it may be left out, [-1] is the
// last item, and names that aren't made of letters, digits, "_", "-" and "$" are
// quoted: $["odd key"] or $['odd key'], with JSON's escapes. A number after a dot
// or a slash is an item of a list or a key of an object, whichever is there.
// "" and "$" are the value itself.
func ParsePath(text string) (Path, error) {
	p := parser{text: text}
	switch {
	case len(text) > MaxPathBytes:
		return Path{}, p.fail(0, fmt.Sprintf("it has %d bytes, and %d are the limit", len(text), MaxPathBytes), "")
	case !utf8.ValidString(text):
		return Path{}, p.fail(0, "it isn't valid UTF-8", "")
	case strings.HasPrefix(text, "/"):
		return p.pointer()
	case strings.HasPrefix(text, "#"):
		return Path{}, p.fail(0, `a pointer starts with "/", without "#"`, strings.TrimLeft(text, "#"))
	}
	return p.dotted()
}

type parser struct {
	text  string
	pos   int
	steps []step
}

func (p *parser) fail(at int, problem, example string) *PathError {
	if example == "" {
		example = `$.rows[2].title, $["odd key"] or /rows/2/title`
	}
	return &PathError{Path: p.text, Position: utf8.RuneCountInString(p.text[:at]) + 1, Problem: problem, Example: example}
}

func (p *parser) pointer() (Path, error) {
	for p.pos < len(p.text) {
		p.pos++ // the slash
		end := p.pos
		var name []byte
		for end < len(p.text) && p.text[end] != '/' {
			c := p.text[end]
			if c == '~' {
				switch {
				case strings.HasPrefix(p.text[end:], "~0"):
				case strings.HasPrefix(p.text[end:], "~1"):
					c = '/'
				default:
					return Path{}, p.fail(end, `"~" must be followed by 0 (a tilde) or 1 (a slash)`, "/a~1b for the key a/b")
				}
				end++
			}
			name = append(name, c)
			end++
		}
		p.pos = end
		p.steps = append(p.steps, step{kind: tokenStep, name: string(name)})
	}
	return Path{p.steps}, nil
}

func (p *parser) dotted() (Path, error) {
	if p.text == "$" || strings.HasPrefix(p.text, "$.") || strings.HasPrefix(p.text, "$[") {
		p.pos = 1
	} else if p.text != "" && p.text[0] != '[' {
		if err := p.bare(); err != nil {
			return Path{}, err
		}
	}
	for p.pos < len(p.text) {
		var err *PathError
		switch c := p.text[p.pos]; c {
		case '.':
			p.pos++
			err = p.bare()
		case '[':
			err = p.bracket()
		case '/':
			err = p.fail(p.pos, "dots and slashes don't mix", "/"+strings.NewReplacer("$.", "", "$/", "", ".", "/").Replace(p.text))
		case ']':
			err = p.fail(p.pos, `"]" without "["`, "")
		default:
			err = p.fail(p.pos, fmt.Sprintf("%q can't follow here; a dot or a bracket can", p.ahead()), p.quotedExample())
		}
		if err != nil {
			return Path{}, err
		}
	}
	return Path{p.steps}, nil
}

func (p *parser) ahead() rune {
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return r
}

// bare reads a name without quotes.
func (p *parser) bare() *PathError {
	start := p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if c != '_' && c != '-' && c != '$' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c < utf8.RuneSelf {
			break
		}
		p.pos++
	}
	name := p.text[start:p.pos]
	switch {
	case name != "" && isIndex(name):
		p.steps = append(p.steps, step{kind: tokenStep, name: name})
	case name != "":
		p.steps = append(p.steps, step{kind: nameStep, name: name})
	case start == len(p.text):
		return p.fail(start, "the path ends where a name is expected", strings.TrimRight(p.text, ".")+".title")
	case p.text[start] == '*':
		return p.fail(start, `wildcards aren't supported: read the list itself, with fields to pick keys of its items`, `path "$.rows" with fields ["title"]`)
	case p.text[start] == '.':
		return p.fail(start, "names at any depth (..) aren't supported: name every step", "")
	case p.text[start] == '[':
		return p.fail(start, "a bracket follows a name without a dot", p.text[:start-1]+p.text[start:])
	default:
		return p.fail(start, fmt.Sprintf("%q can't start a name; quote the name", p.ahead()), p.quotedExample())
	}
	return nil
}

// quotedExample is the path up to here with what is around this place quoted.
func (p *parser) quotedExample() string {
	start := strings.LastIndexAny(p.text[:p.pos], ".]") + 1
	end := p.pos
	if n := strings.IndexAny(p.text[end:], ".["); n > 0 {
		end += n
	} else {
		end = len(p.text)
	}
	head := strings.TrimSuffix(p.text[:start], ".")
	if head == "" {
		head = "$"
	}
	return string(appendQuoted([]byte(head+"["), p.text[start:end])) + "]"
}

// bracket reads [2], [-1], ["name"] or ['name'].
func (p *parser) bracket() *PathError {
	open := p.pos
	p.pos++
	if p.pos == len(p.text) {
		return p.fail(open, "the bracket isn't closed", p.text+"0]")
	}
	if quote := p.text[p.pos]; quote == '"' || quote == '\'' {
		name, err := p.quoted(quote)
		if err != nil {
			return err
		}
		if p.pos == len(p.text) || p.text[p.pos] != ']' {
			return p.fail(p.pos, `"]" is expected after the quoted name`, "")
		}
		p.pos++
		p.steps = append(p.steps, step{kind: nameStep, name: name})
		return nil
	}
	n := strings.IndexByte(p.text[p.pos:], ']')
	if n < 0 {
		return p.fail(open, "the bracket isn't closed", p.text+"]")
	}
	inner := p.text[p.pos : p.pos+n]
	digits := strings.TrimPrefix(inner, "-")
	head := p.text[:open]
	if head == "" {
		head = "$"
	}
	switch {
	case isIndex(digits) && len(digits) <= maxIndexDigits && inner != "-0":
		index, _ := strconv.Atoi(inner)
		p.steps = append(p.steps, step{kind: indexStep, index: index})
		p.pos += n + 1
		return nil
	case inner == "*" || inner == "":
		return p.fail(p.pos, "a list is read as a whole by its own path, without brackets", head)
	case strings.ContainsRune(inner, ':'):
		return p.fail(p.pos, "a slice is asked for with offset and limit", fmt.Sprintf("path %q with offset 0 and limit 10", head))
	case isIndex(digits), inner == "-0", strings.Trim(digits, "0123456789") == "" && digits != "":
		return p.fail(p.pos, "that is no index; an index is a number without leading zeros, or -1 for the last item", head+"[2]")
	}
	return p.fail(p.pos, "a name in brackets must be quoted", string(appendQuoted([]byte(head+"["), inner))+"]")
}

// quoted reads a name in quotes: a JSON string, or the same with single quotes.
func (p *parser) quoted(quote byte) (string, *PathError) {
	start := p.pos
	end := start + 1
	var body strings.Builder // as a JSON string would spell it
	for {
		if end >= len(p.text) {
			return "", p.fail(start, "the quote isn't closed", "")
		}
		c := p.text[end]
		if c == quote {
			break
		}
		switch {
		case c == '\\' && end+1 < len(p.text):
			end++
			if p.text[end] != '\'' {
				body.WriteByte('\\')
			}
			body.WriteByte(p.text[end])
		case c == '"':
			body.WriteString(`\"`)
		case c < ' ':
			return "", p.fail(end, fmt.Sprintf(`the control character %q must be escaped`, rune(c)), `$["two\nlines"]`)
		default:
			body.WriteByte(c)
		}
		end++
	}
	name, err := jsontext.AppendUnquote(nil, `"`+body.String()+`"`)
	if err != nil {
		return "", p.fail(start, `the quoted name isn't a JSON string (escapes are \" \\ \/ \b \f \n \r \t \uXXXX)`, "")
	}
	p.pos = end + 1
	return string(name), nil
}
