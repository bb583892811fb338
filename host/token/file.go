package token

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

const (
	// MaxTokens is how many tokens a file may hold.
	MaxTokens = 256
	// MaxFileBytes is how large a file may be.
	MaxFileBytes = 512 << 10

	fileVersion = 1
	idBytes     = 8
)

// record is a token as it is kept.
type record struct {
	Entry
	hash hash
}

// recordJSON is a record in the file.
type recordJSON struct {
	Entry
	SHA256 string `json:"sha256"`
}

func encode(records []record) ([]byte, error) {
	out := struct {
		Version int          `json:"version"`
		Tokens  []recordJSON `json:"tokens"`
	}{Version: fileVersion, Tokens: []recordJSON{}}
	for _, r := range records {
		out.Tokens = append(out.Tokens, recordJSON{r.Entry, hex.EncodeToString(r.hash[:])})
	}
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// parse reads a file strictly: no unknown or repeated member, no other letter
// case, nothing after the end, every value within its bounds. What it can't
// understand may be a revocation, so it doesn't guess. Errors name the place, never
// a value that could be a hash.
func parse(data []byte) ([]record, error) {
	if len(data) > MaxFileBytes {
		return nil, fmt.Errorf("it has more than the %d bytes that are allowed", MaxFileBytes)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("it isn't UTF-8")
	}
	if err := oneValue(data); err != nil {
		return nil, err
	}
	top, err := members(data, "version", "tokens")
	if err != nil {
		return nil, err
	}
	if v := top["version"]; string(v) != strconv.Itoa(fileVersion) {
		if number(v) {
			return nil, fmt.Errorf("it has version %s, this program reads %d; use the newer program that wrote it", clip(v), fileVersion)
		}
		return nil, fmt.Errorf("version is missing or no number, want %d", fileVersion)
	}
	list := top["tokens"]
	var items []json.RawMessage
	if len(list) == 0 || list[0] != '[' {
		return nil, errors.New("tokens is missing or no list")
	}
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, errors.New("tokens is no list")
	}
	if len(items) > MaxTokens {
		return nil, fmt.Errorf("it holds %d tokens, the limit is %d", len(items), MaxTokens)
	}
	records := make([]record, 0, len(items))
	for i, item := range items {
		r, err := parseRecord(item)
		if err != nil {
			return nil, fmt.Errorf("tokens[%d]: %w", i, err)
		}
		for j, other := range records {
			if other.ID == r.ID || other.hash == r.hash {
				return nil, fmt.Errorf("tokens[%d] has the id or the hash of tokens[%d]", i, j)
			}
		}
		records = append(records, r)
	}
	return records, nil
}

// oneValue tells whether data is one JSON text and nothing else, and if not, in
// which line it isn't.
func oneValue(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("it is empty")
	}
	var any json.RawMessage
	err := json.Unmarshal(data, &any)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(data[:min(int64(len(data)), syntax.Offset)], []byte("\n"))
		return fmt.Errorf("line %d isn't JSON, or something follows its end", line)
	}
	if err != nil {
		return errors.New("it isn't JSON")
	}
	return nil
}

func parseRecord(item json.RawMessage) (record, error) {
	m, err := members(item, "id", "name", "kind", "created", "last_used", "expires", "origin", "sha256")
	if err != nil {
		return record{}, err
	}
	var r record
	var kind, sum string
	for _, text := range []struct {
		name string
		to   *string
		need bool
	}{{"id", &r.ID, true}, {"name", &r.Name, true}, {"kind", &kind, true}, {"sha256", &sum, true}, {"origin", &r.Origin, false}} {
		raw, ok := m[text.name]
		if !ok && !text.need {
			continue
		}
		if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, text.to) != nil {
			return record{}, fmt.Errorf("%s is missing or no text", text.name)
		}
	}
	r.Kind = Kind(kind)
	for _, moment := range []struct {
		name string
		to   *time.Time
		need bool
	}{{"created", &r.Created, true}, {"last_used", &r.LastUsed, false}, {"expires", &r.Expires, false}} {
		raw, ok := m[moment.name]
		if !ok && !moment.need {
			continue
		}
		if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, moment.to) != nil || moment.to.IsZero() {
			return record{}, fmt.Errorf("%s is missing or no time such as 2026-01-31T09:00:00Z", moment.name)
		}
		*moment.to = moment.to.UTC().Truncate(time.Second)
		if moment.to.IsZero() || moment.to.Year() < 1 || moment.to.Year() > 9999 {
			return record{}, fmt.Errorf("%s isn't within the years that can be written", moment.name)
		}
	}
	if !isID(r.ID) {
		return record{}, fmt.Errorf("id isn't %d letters a to z and digits 2 to 7", idBytes)
	}
	decoded, err := hex.DecodeString(sum)
	if err != nil || len(decoded) != len(r.hash) {
		return record{}, fmt.Errorf("sha256 isn't %d hexadecimal digits", 2*len(r.hash))
	}
	copy(r.hash[:], decoded)
	if (r.Origin == "") != (m["origin"] == nil) {
		return record{}, errors.New("origin is empty; leave it out where none is pinned")
	}
	return r, r.check()
}

// members takes an object apart. encoding/json alone would take the last of two
// equal names, and any letter case of a name.
func members(raw json.RawMessage, allowed ...string) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, errors.New("it is no object")
	}
	out := map[string]json.RawMessage{}
	for dec.More() {
		tok, err := dec.Token()
		name, ok := tok.(string)
		if err != nil || !ok {
			return nil, errors.New("it is no object")
		}
		if !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("%s isn't a member that this program knows", strconv.QuoteToASCII(string(clip([]byte(name)))))
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("%s has no value", name)
		}
		out[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("it is no object")
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows its end")
	}
	return out, nil
}

func number(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// clip keeps what an error may repeat of a file shorter than a hash.
func clip(raw []byte) []byte { return raw[:min(len(raw), 20)] }

func isID(id string) bool {
	if len(id) != idBytes {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}
