package fold_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolplane/toolplane/host/fold"
)

func codeOf(err error) string {
	var e *fold.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

const orders = `{"rows": [
	{"id": 9007199254740993, "title": "Größe \ud83d\ude00!", "author": {"login": "ada", "mail": null}, "a.b": 1, "a": {"b": 2}},
	{"id": 1.0, "title": "two", "tags": ["x", "y"]},
	null
], "total": -0.0, "odd key": "seven", "empty": [], "none": {}, "twice": 1, "open": true, "twice": {"z": 1, "y": 2, "z": 3}}`

func TestQuery(t *testing.T) {
	doc := fold.NewDocument(json.RawMessage(orders))
	for name, tc := range map[string]struct {
		o    fold.QueryOptions
		want string // the answer as JSON
	}{
		"integer above 2**53":       {fold.QueryOptions{Path: "rows[0].id"}, `{"path":"$.rows[0].id","value":9007199254740993}`},
		"minus zero":                {fold.QueryOptions{Path: "/total"}, `{"path":"$.total","value":-0.0}`},
		"one point zero":            {fold.QueryOptions{Path: "/rows/1/id"}, `{"path":"$.rows[1].id","value":1.0}`},
		"from the end":              {fold.QueryOptions{Path: "$.rows[-2].tags[-1]"}, `{"path":"$.rows[1].tags[1]","value":"y"}`},
		"odd key":                   {fold.QueryOptions{Path: `$['odd key']`}, `{"path":"$[\"odd key\"]","value":"seven"}`},
		"boolean":                   {fold.QueryOptions{Path: "open"}, `{"path":"$.open","value":true}`},
		"a list has a total":        {fold.QueryOptions{Path: "rows[1].tags"}, `{"path":"$.rows[1].tags","value":["x","y"],"total":2,"offset":0}`},
		"an empty list":             {fold.QueryOptions{Path: "empty", Offset: new(0), Limit: new(5)}, `{"path":"$.empty","value":[],"total":0,"offset":0}`},
		"an empty object":           {fold.QueryOptions{Path: "none"}, `{"path":"$.none","value":{}}`},
		"middle of a list":          {fold.QueryOptions{Path: "rows[1].tags", Offset: new(0), Limit: new(1)}, `{"path":"$.rows[1].tags","value":["x"],"total":2,"offset":0,"nextOffset":1}`},
		"limit past the end":        {fold.QueryOptions{Path: "rows[1].tags", Offset: new(1), Limit: new(9)}, `{"path":"$.rows[1].tags","value":["y"],"total":2,"offset":1}`},
		"at the end":                {fold.QueryOptions{Path: "rows[1].tags", Offset: new(2)}, `{"path":"$.rows[1].tags","value":[],"total":2,"offset":2}`},
		"page":                      {fold.QueryOptions{Path: "rows[1].tags", Page: new(2), Limit: new(1)}, `{"path":"$.rows[1].tags","value":["y"],"total":2,"offset":1}`},
		"page of its own size":      {fold.QueryOptions{Path: "rows[1].tags", Page: new(1)}, `{"path":"$.rows[1].tags","value":["x","y"],"total":2,"offset":0}`},
		"characters":                {fold.QueryOptions{Path: "rows[0].title", Offset: new(4), Limit: new(3)}, `{"path":"$.rows[0].title","value":"e \ud83d\ude00","total":8,"offset":4,"nextOffset":7}`},
		"members":                   {fold.QueryOptions{Path: "rows[0]", Offset: new(1), Limit: new(2)}, `{"path":"$.rows[0]","value":{"title":"Größe \ud83d\ude00!","author":{"login":"ada","mail":null}},"total":5,"offset":1,"nextOffset":3}`},
		"the last of equal keys":    {fold.QueryOptions{Path: "twice.z"}, `{"path":"$.twice.z","value":3}`},
		"equal keys are one":        {fold.QueryOptions{Path: "twice", Limit: new(1)}, `{"path":"$.twice","value":{"z":3},"total":2,"offset":0,"nextOffset":1}`},
		"fields of an object":       {fold.QueryOptions{Path: "rows[0]", Fields: []string{"author.login", "id", "nothing", "id"}}, `{"path":"$.rows[0]","value":{"author.login":"ada","id":9007199254740993}}`},
		"a field with a dot":        {fold.QueryOptions{Path: "rows[0]", Fields: []string{"a.b"}}, `{"path":"$.rows[0]","value":{"a.b":1}}`},
		"a field as a path":         {fold.QueryOptions{Path: "rows[0]", Fields: []string{"$.a.b"}}, `{"path":"$.rows[0]","value":{"$.a.b":2}}`},
		"a field into a list":       {fold.QueryOptions{Path: "rows[1]", Fields: []string{"tags[-1]", "/tags/0"}}, `{"path":"$.rows[1]","value":{"tags[-1]":"y","/tags/0":"x"}}`},
		"fields of a list":          {fold.QueryOptions{Path: "rows", Fields: []string{"title", "tags"}}, `{"path":"$.rows","value":[{"title":"Größe \ud83d\ude00!"},{"title":"two","tags":["x","y"]},null],"total":3,"offset":0}`},
		"fields of a slice":         {fold.QueryOptions{Path: "rows", Offset: new(1), Limit: new(1), Fields: []string{"id"}}, `{"path":"$.rows","value":[{"id":1.0}],"total":3,"offset":1,"nextOffset":2}`},
		"a field that a page lacks": {fold.QueryOptions{Path: "rows", Limit: new(1), Fields: []string{"tags"}}, `{"path":"$.rows","value":[{}],"total":3,"offset":0,"nextOffset":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := fold.Query(doc, tc.o)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			enc := json.NewEncoder(&got)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(a); err != nil {
				t.Fatal(err)
			}
			if strings.TrimSpace(got.String()) != tc.want {
				t.Errorf("got  %swant %s", got.String(), tc.want)
			}
		})
	}
}

func TestQueryRefuses(t *testing.T) {
	doc := fold.NewDocument(json.RawMessage(orders))
	many := make([]string, fold.MaxFields+1)
	for name, tc := range map[string]struct {
		o             fold.QueryOptions
		code, message string
	}{
		"path syntax":              {fold.QueryOptions{Path: "rows["}, fold.CodeInvalidInput, "at character 5"},
		"misspelled key":           {fold.QueryOptions{Path: "rows[0].titel"}, fold.CodePathNotFound, `$.rows[0] is an object without "titel"; the nearest key is "title" (of 5)`},
		"misspelled in the middle": {fold.QueryOptions{Path: "row[0].title"}, fold.CodePathNotFound, `$ is an object without "row"; the nearest key is "rows" (of 8)`},
		"no key like it":           {fold.QueryOptions{Path: "rows[1].xylophone"}, fold.CodePathNotFound, `the first keys are "id", "title", "tags"`},
		"in an empty object":       {fold.QueryOptions{Path: "none.x"}, fold.CodePathNotFound, "it is empty"},
		"past the end":             {fold.QueryOptions{Path: "rows[3]"}, fold.CodePathNotFound, "$.rows is a list of 3 items, so it has no [3]; indexes go from 0 to 2"},
		"before the start":         {fold.QueryOptions{Path: "rows[-4]"}, fold.CodePathNotFound, "has no [-4]"},
		"pointer past the end":     {fold.QueryOptions{Path: "/rows/3/id"}, fold.CodePathNotFound, "has no [3]"},
		"the item after":           {fold.QueryOptions{Path: "/rows/-"}, fold.CodePathNotFound, `has no "-"`},
		"in an empty list":         {fold.QueryOptions{Path: "empty[0]"}, fold.CodePathNotFound, "$.empty is an empty list"},
		"a name in a list":         {fold.QueryOptions{Path: "rows.title"}, fold.CodePathNotFound, "go on with $.rows[0] to $.rows[2]"},
		"an index in an object":    {fold.QueryOptions{Path: "$[0]"}, fold.CodePathNotFound, `an object's keys are written ["like this"]`},
		"inside a string":          {fold.QueryOptions{Path: "rows[1].title.x"}, fold.CodePathNotFound, "$.rows[1].title is a string"},
		"inside null":              {fold.QueryOptions{Path: "rows[2].title"}, fold.CodePathNotFound, "$.rows[2] is null"},
		"inside a number":          {fold.QueryOptions{Path: "total[0]"}, fold.CodePathNotFound, "$.total is a number"},
		"negative offset":          {fold.QueryOptions{Offset: new(-1)}, fold.CodeInvalidInput, "counts from 0"},
		"no limit":                 {fold.QueryOptions{Limit: new(0)}, fold.CodeInvalidInput, "at least 1"},
		"page 0":                   {fold.QueryOptions{Page: new(0)}, fold.CodeInvalidInput, "count from 1"},
		"page and offset":          {fold.QueryOptions{Page: new(1), Offset: new(0)}, fold.CodeInvalidInput, "both given"},
		"offset past the end":      {fold.QueryOptions{Path: "rows", Offset: new(4)}, fold.CodeInvalidInput, "$.rows has only 3 items"},
		"page past the end":        {fold.QueryOptions{Path: "rows", Page: new(3), Limit: new(2)}, fold.CodeInvalidInput, "makes 2 pages of 2"},
		"page far past":            {fold.QueryOptions{Path: "rows", Page: new(1 << 62), Limit: new(1 << 62)}, fold.CodeInvalidInput, "makes 1 page of"},
		"range of a number":        {fold.QueryOptions{Path: "total", Limit: new(1)}, fold.CodeInvalidInput, "has no parts"},
		"too many fields":          {fold.QueryOptions{Fields: many}, fold.CodeInvalidInput, "33 fields were given, and 32 are the limit"},
		"field of bad text":        {fold.QueryOptions{Fields: []string{"\xff"}}, fold.CodeInvalidInput, "fields[0]"},
		"fields and a range":       {fold.QueryOptions{Fields: []string{"rows"}, Limit: new(1)}, fold.CodeInvalidInput, "not both"},
		"part of a key":            {fold.QueryOptions{Path: "odd"}, fold.CodePathNotFound, `the nearest key is "odd key"`},
		"fields of a string":       {fold.QueryOptions{Path: "/odd key", Fields: []string{"x"}}, fold.CodeInvalidInput, `$["odd key"] is a string; fields picks keys`},
		"fields of a number":       {fold.QueryOptions{Path: "total", Fields: []string{"x"}}, fold.CodeInvalidInput, "$.total is a number; fields picks keys"},
		"fields of strings":        {fold.QueryOptions{Path: "rows[1].tags", Fields: []string{"x"}}, fold.CodeInvalidInput, "$.rows[1].tags[0] is a string"},
		"fields that aren't":       {fold.QueryOptions{Path: "rows", Fields: []string{"titel"}}, fold.CodePathNotFound, `$.rows[0] has none of the fields asked for, such as "titel"; the nearest key is "title"`},
		"fields deep down":         {fold.QueryOptions{Path: "rows", Fields: []string{"author.name"}}, fold.CodePathNotFound, `$.rows[0].author is an object without "name"`},
		"list too large":           {fold.QueryOptions{Path: "rows", MaxBytes: 100}, fold.CodeSliceTooLarge, "the item of $.rows at offset 0 alone is over the limit of 100 bytes for one answer; go into it with the path $.rows[0]; fields"},
		"object too large":         {fold.QueryOptions{MaxBytes: 100}, fold.CodeSliceTooLarge, `the first keys are "rows", "total"`},
		"string too large":         {fold.QueryOptions{Path: "rows[0].title", MaxBytes: 12}, fold.CodeSliceTooLarge, "limit=6 reads the first characters"},
		"characters too large":     {fold.QueryOptions{Path: "rows[0].title", MaxBytes: 12, Limit: new(8)}, fold.CodeSliceTooLarge, "limit=6 fits from there"},
		"members too large":        {fold.QueryOptions{Path: "rows[1]", MaxBytes: 30, Limit: new(3)}, fold.CodeSliceTooLarge, "limit=2 fits"},
		"one member too large":     {fold.QueryOptions{Path: "rows[0]", MaxBytes: 30, Offset: new(1)}, fold.CodeSliceTooLarge, "go into it with the path $.rows[0].title"},
		"fields too large":         {fold.QueryOptions{Path: "rows[0]", MaxBytes: 20, Fields: []string{"author"}}, fold.CodeSliceTooLarge, "these fields of $.rows[0] have 41 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := fold.Query(doc, tc.o)
			if codeOf(err) != tc.code {
				t.Fatalf("%+v, %v: want %s", a, err, tc.code)
			}
			if !strings.Contains(err.Error(), tc.message) {
				t.Errorf("%q doesn't say %q", err, tc.message)
			}
		})
	}
}

func TestPathErrorIsTheCause(t *testing.T) {
	_, err := fold.Query(fold.NewDocument(json.RawMessage(`1`)), fold.QueryOptions{Path: "a b"})
	var at *fold.PathError
	if !errors.As(err, &at) || at.Position != 2 {
		t.Errorf("%v has no PathError", err)
	}
}

func TestEmptyDocument(t *testing.T) {
	for _, text := range []string{"", " \n"} {
		if _, err := fold.Query(fold.NewDocument(json.RawMessage(text)), fold.QueryOptions{}); codeOf(err) != fold.CodePathNotFound {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMessagesAreBounded has hostile keys and paths in every message.
func TestMessagesAreBounded(t *testing.T) {
	key := strings.Repeat(`☃\u0001`, 5000)
	text := `{"` + key + `": {"` + key + `x": [1, {"` + key + `": "` + key + `"}]}}`
	doc := fold.NewDocument(json.RawMessage(text))
	name := strings.Repeat("☃\u0001", 5000)
	quoted, err := json.Marshal(name[:4000])
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []fold.QueryOptions{
		{},
		{Path: strings.Repeat("a.", 5000)},
		{Path: "[" + string(quoted[:900]) + `"]`},
		{Path: strings.Repeat("/a", 2000)},
		{Path: strings.Repeat("[0]", 1000)},
		{Limit: new(1)},
		{Fields: []string{name[:4000]}},
		{Path: "/" + name[:4000]},
	} {
		_, err := fold.Query(doc, o)
		if err == nil || utf8.RuneCountInString(err.Error()) > 1000 {
			t.Errorf("%.40q: a message of %d bytes", o.Path, len(err.Error()))
		}
	}
}
