package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolplane/toolplane/plugins/sdk"
)

// The types below are what the answers look like; they give the output schemas. The answers themselves are appended to
// the output straight from records: with encoding/json, a page of 5,000 issues takes several times as long in a guest.

type issue struct {
	ID        int64          `json:"id,omitempty" jsonschema_description:"Larger than 2**53."`
	Number    int            `json:"number,omitempty"`
	Title     string         `json:"title,omitempty"`
	State     string         `json:"state,omitempty" jsonschema:"enum=open,enum=closed"`
	Labels    []string       `json:"labels,omitempty"`
	Author    author         `json:"author,omitzero"`
	CreatedAt time.Time      `json:"created_at,omitzero"`
	UpdatedAt time.Time      `json:"updated_at,omitzero"`
	Comments  int            `json:"comments,omitempty"`
	Body      string         `json:"body,omitempty"`
	Reactions map[string]int `json:"reactions,omitempty" jsonschema_description:"How often each was given, and total."`
	Milestone *milestone     `json:"milestone,omitempty"`
}

type author struct {
	Login string  `json:"login"`
	Name  *string `json:"name"`
}

type milestone struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
}

// page is the answer of list.
type page struct {
	Issues []issue `json:"issues"`
	Total  int     `json:"total" jsonschema_description:"How many issues match in all."`

	numbers []int32
	fields  fieldSet
}

// issueBytes is more than most issues take, with every field.
const issueBytes = 720

// AppendJSON implements sdk.Appender.
func (p page) AppendJSON(b []byte) ([]byte, error) {
	if p.fields&bodyField != 0 {
		b = slices.Grow(b, len(p.numbers)*issueBytes) // growing bit by bit would need twice the memory
	}
	b = append(b, `{"issues":[`...)
	for i, number := range p.numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = newRecord(int(number)).append(b, p.fields)
	}
	b = append(b, `],"total":`...)
	b = strconv.AppendInt(b, int64(p.Total), 10)
	return append(b, '}'), nil
}

// single is the answer of get.
type single struct {
	issue
	record record
}

// AppendJSON implements sdk.Appender.
func (s single) AppendJSON(b []byte) ([]byte, error) { return s.record.append(b, allFields), nil }

// fieldSet has a bit for each of fieldNames.
type fieldSet uint16

var fieldNames = []string{"id", "number", "title", "state", "labels", "author", "created_at", "updated_at", "comments", "body", "reactions", "milestone"}

const (
	allFields fieldSet = 1<<12 - 1
	bodyField fieldSet = 1 << 9
)

func parseFields(names []string) (fieldSet, error) {
	var set fieldSet
next:
	for _, name := range names {
		for i, known := range fieldNames {
			if name == known {
				set |= 1 << i
				continue next
			}
		}
		return 0, sdk.ValueError("an issue has no field %q; its fields are %s", name, strings.Join(fieldNames, ", "))
	}
	if set == 0 {
		return 0, sdk.ValueError("fields is empty: leave it out to get every field")
	}
	return set, nil
}

// append writes the chosen fields of an issue.
func (r record) append(b []byte, fields fieldSet) []byte {
	b = append(b, '{')
	first := len(b)
	for i, name := range fieldNames {
		if fields&(1<<i) == 0 {
			continue
		}
		if len(b) > first {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), `":`...)
		b = r.appendField(b, name)
	}
	return append(b, '}')
}

func (r record) appendField(b []byte, name string) []byte {
	switch name {
	case "id":
		return strconv.AppendInt(b, idOf(r.number), 10)
	case "number":
		return strconv.AppendInt(b, int64(r.number), 10)
	case "title":
		return r.appendTitle(b)
	case "state":
		if r.open {
			return append(b, `"open"`...)
		}
		return append(b, `"closed"`...)
	case "labels":
		return r.appendLabels(b)
	case "author":
		who := people[r.author]
		b = appendString(append(b, `{"login":`...), who.login)
		b = append(b, `,"name":`...)
		if who.name == "" {
			return append(b, `null}`...)
		}
		return append(appendString(b, who.name), '}')
	case "created_at":
		return appendTime(b, r.created)
	case "updated_at":
		return appendTime(b, r.updated)
	case "comments":
		return strconv.AppendInt(b, int64(r.comments), 10)
	case "body":
		return r.appendBody(b)
	case "reactions":
		return r.appendReactions(b)
	case "milestone":
		if r.milestone < 0 {
			return append(b, "null"...)
		}
		b = strconv.AppendInt(append(b, `{"number":`...), int64(r.milestone+1), 10)
		return append(appendString(append(b, `,"title":`...), milestones[r.milestone]), '}')
	}
	panic("no field " + name)
}

func (r record) appendTitle(b []byte) []byte {
	b = appendEscaped(append(b, '"'), parts[r.part])
	if problems[r.problem].kind == kindQuestion {
		b = appendEscaped(append(b, ' '), circumstances[r.circumstance])
		b = appendEscaped(append(b, ": "...), problems[r.problem].text)
		return append(b, '"')
	}
	b = appendEscaped(append(b, ' '), problems[r.problem].text)
	b = appendEscaped(append(b, ' '), circumstances[r.circumstance])
	return append(b, '"')
}

func (r record) appendLabels(b []byte) []byte {
	b = append(b, '[')
	first := len(b)
	for i, label := range labels {
		if r.labels&(1<<i) != 0 {
			if len(b) > first {
				b = append(b, ',')
			}
			b = appendString(b, label)
		}
	}
	return append(b, ']')
}

func (r record) appendBody(b []byte) []byte {
	b = append(b, '"')
	switch problems[r.problem].kind {
	case kindBug:
		b = append(b, `### Steps to reproduce\n1. Open “`...)
		b = appendEscaped(b, parts[r.part])
		b = append(b, `”.\n2. Try it `...)
		b = appendEscaped(b, circumstances[r.circumstance])
		b = append(b, `.\n\n**Expected:** it works.\n**Actual:** it `...)
		b = appendEscaped(b, problems[r.problem].text)
		b = append(b, `.\n\n`+"```"+`\nERROR\tcode=0x`...)
		b = strconv.AppendUint(b, r.noise|1<<63, 16)
		b = append(b, `\n`+"```"+`\n`...)
	case kindQuestion:
		b = append(b, `I tried “`...)
		b = appendEscaped(b, parts[r.part])
		b = append(b, `” `...)
		b = appendEscaped(b, circumstances[r.circumstance])
		b = append(b, `, and I wonder: `...)
		b = appendEscaped(b, problems[r.problem].text)
		b = append(b, ` I have read the manual, and found nothing on it. — Danke, 谢谢!\n`...)
	default:
		b = append(b, `I use “`...)
		b = appendEscaped(b, parts[r.part])
		b = append(b, `” every day, also `...)
		b = appendEscaped(b, circumstances[r.circumstance])
		b = append(b, `. In my opinion it `...)
		b = appendEscaped(b, problems[r.problem].text)
		b = append(b, `, and I am not alone with that. — Merci, спасибо! 🙏\n`...)
	}
	b = append(b, `\nVersion `...)
	b = appendEscaped(b, versions[r.version])
	b = append(b, ` on `...)
	b = appendEscaped(b, platforms[r.platform])
	if r.number > 1 {
		b = append(b, `. See also #`...)
		b = strconv.AppendUint(b, r.noise%uint64(r.number-1)+1, 10)
	}
	return append(b, `."`...)
}

func (r record) appendReactions(b []byte) []byte {
	b = append(b, '{')
	total := 0
	for i, name := range reactionNames {
		b = appendString(b, name)
		b = strconv.AppendInt(append(b, ':'), int64(r.reactions[i]), 10)
		b = append(b, ',')
		total += r.reactions[i]
	}
	b = strconv.AppendInt(append(b, `"total":`...), int64(total), 10)
	return append(b, '}')
}

func appendTime(b []byte, seconds int64) []byte {
	b = time.Unix(seconds, 0).UTC().AppendFormat(append(b, '"'), "2006-01-02T15:04:05Z")
	return append(b, '"')
}

func appendString(b []byte, s string) []byte {
	return append(appendEscaped(append(b, '"'), s), '"')
}

// appendEscaped appends what stands between the quotes of a JSON string.
func appendEscaped(b []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == '"' || c == '\\' || c < ' ' {
			b = append(b, s[from:i]...)
			if c < ' ' {
				b = append(b, `\u00`...)
				b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
			} else {
				b = append(b, '\\', c)
			}
			from = i + 1
		}
	}
	return append(b, s[from:]...)
}
