package jsonvalue_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/jsonvalue"
)

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestCheckAccepts(t *testing.T) {
	for name, text := range map[string]string{
		"null":                      `null`,
		"space around":              " \t\r\n1 \n",
		"integer above 2**53":       `9007199254740993`,
		"10**40":                    `1` + strings.Repeat("0", 40),
		"integer of 4300 digits":    strings.Repeat("7", 4300),
		"negative, 4300 digits":     "-" + strings.Repeat("7", 4300),
		"1.0":                       `1.0`,
		"-0.0":                      `-0.0`,
		"underflow":                 `1e-999999999`,
		"largest float":             `1.7976931348623157e308`,
		"fraction of many digits":   `0.` + strings.Repeat("1", 1000),
		"exponent pulls it back":    strings.Repeat("1", 400) + `e-300`,
		"escaped NUL":               `"\u0000"`,
		"surrogate pair":            `"\ud83d\ude00"`,
		"emoji key":                 `{"😀":1}`,
		"empty key":                 `{"":1}`,
		"duplicate names":           `{"a":1,"a":2}`,
		"depth 512":                 nested(512),
		"512 side by side":          "[" + strings.Repeat("[],", 2000) + "[]]",
		"brackets in a string":      `"` + strings.Repeat("[", 2000) + `"`,
		"escaped quote, brackets":   `"\"` + strings.Repeat("[", 2000) + `\\"`,
		"digits in a string":        `"1e400 ` + strings.Repeat("7", 5000) + `"`,
		"noncharacter":              `"\uffff"`,
		"replacement char, escaped": `"\ufffd"`,
		"1 MB string":               `"` + strings.Repeat("x", 1<<20) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := jsonvalue.Check([]byte(text)); err != nil {
				t.Errorf("Check refused it: %v", err)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	deepObject := strings.Repeat(`{"a":`, 513) + "1" + strings.Repeat("}", 513)
	for name, tc := range map[string]struct {
		text, path, problem string
		offset              int64
	}{
		"empty":                  {"", "value", "empty text", 0},
		"only space":             {" \n ", "value", "empty text", 0},
		"two values":             {`1 2`, "value", "more text after the end", 1},
		"object then comma":      {`{},`, "value", "isn't JSON", 2},
		"closing twice":          {`[1]]`, "value", "isn't JSON", 3},
		"unfinished array":       {`[1,2`, "value[2]", "ends in the middle", 4},
		"unfinished object":      {`{"rows":[1,{"when":`, "value.rows[1].when", "ends in the middle", 19},
		"unfinished string":      {`{"a":"b`, "value.a", "ends in the middle", 7},
		"NaN":                    {`{"rows":[0,1,2,{"when":NaN}]}`, "value.rows[3].when", "NaN and Infinity", 23},
		"Infinity":               {`[Infinity]`, "value[0]", "NaN and Infinity", 1},
		"single quotes":          {`{'a':1}`, "value", "isn't JSON", 1},
		"trailing comma":         {`[1,]`, "value[1]", "isn't JSON", 2},
		"leading zero":           {`[01]`, "value[1]", "isn't JSON", 2},
		"comment":                {`[1/**/]`, "value[1]", "isn't JSON", 2},
		"control character":      {"[\"a\x01\"]", "value[0]", "isn't JSON", 3},
		"overflow":               {`[1, 1e400]`, "value[1]", "out of range", 4},
		"overflow, negative":     {`{"a":-1.5E+9999}`, "value.a", "out of range", 5},
		"overflow, fraction":     {strings.Repeat("9", 310) + `.5`, "value", "out of range", 0},
		"integer of 4301 digits": {`[` + strings.Repeat("7", 4301) + `]`, "value[0]", "4301 digits", 1},
		"lone high surrogate":    {`{"a b":"x\ud800"}`, `value["a b"]`, `lone surrogate \ud800`, 9},
		"lone low surrogate":     {`["\udfaa"]`, `value[0]`, `lone surrogate \udfaa`, 2},
		"high then high":         {`["\ud800\ud800"]`, `value[0]`, `lone surrogate \ud800`, 2},
		"surrogate in a name":    {`{"\udfaa":1}`, `value`, `lone surrogate \udfaa`, 2},
		"surrogate as UTF-8":     {"[\"\xed\xa0\x80\"]", "value[0]", "invalid UTF-8 (byte 0xed at offset 2)", 2},
		"invalid UTF-8":          {"[\"\xff\"]", "value[0]", "invalid UTF-8 (byte 0xff at offset 2)", 2},
		"invalid UTF-8 outside":  {"[\xff]", "value[0]", "invalid UTF-8", 1},
		"cut UTF-8":              {"[\"\xe0\xff\"]", "value[0]", "invalid UTF-8", 2},
		"overlong NUL":           {"[\"\xc0\x80\"]", "value[0]", "invalid UTF-8", 2},
		"byte order mark":        {"\ufeff{}", "value", "byte order mark", 0},
		"UTF-16":                 {"[\x00\"\x00a\x00\"\x00]\x00", "value[0]", "isn't JSON", 1},
		"depth 513":              {nested(513), "value[0][0][0][0][0][0][0][0]…[0][0][0][0][0][0][0][0]", "deeper than 512", 512},
		"depth 513, objects":     {deepObject, "value.a.a.a.a.a.a.a.a….a.a.a.a.a.a.a.a", "deeper than 512", 512 * 5},
		"100,000 open brackets":  {strings.Repeat("[", 100_000), "value[0]", "deeper than 512", 512},
		"long name":              {`{"` + strings.Repeat("n", 1000) + `":NaN}`, `value["` + strings.Repeat("n", 40) + `…"]`, "NaN", 1004},
	} {
		t.Run(name, func(t *testing.T) {
			err := jsonvalue.Check([]byte(tc.text))
			var e *jsonvalue.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a *jsonvalue.Error", err)
			}
			if !strings.HasPrefix(e.Path, tc.path) {
				t.Errorf("path %q, want %q", e.Path, tc.path)
			}
			if !strings.Contains(e.Problem, tc.problem) {
				t.Errorf("problem %q doesn't say %q", e.Problem, tc.problem)
			}
			if e.Offset != tc.offset {
				t.Errorf("offset %d, want %d", e.Offset, tc.offset)
			}
			if len(e.Error()) > 500 {
				t.Errorf("the message has %d bytes", len(e.Error()))
			}
		})
	}
}

// records is n issue records, about 200 bytes each.
func records(n int) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":90071992547409%d,"title":"Größe \"%d\" stimmt nicht","labels":["bug","ui"],"author":{"login":"ada","name":"Ada L."},"score":%d.25,"ratio":1.5e-3,"milestone":null,"open":true}`, i, i, i)
	}
	b.WriteByte(']')
	return b.Bytes()
}

func BenchmarkCheck(b *testing.B) {
	for _, bc := range []struct {
		name string
		text []byte
	}{
		{"records-8MB", records(45_000)},
		{"string-8MB", []byte(`"` + strings.Repeat("xyz \\\"é", 1<<20) + `"`)},
		{"numbers-8MB", []byte("[" + strings.Repeat("12345.5e-3,", 750_000) + "0]")},
		{"small", []byte(`{"count":100,"state":"open"}`)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.SetBytes(int64(len(bc.text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := jsonvalue.Check(bc.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
