package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/fold"
	"github.com/toolplane/toolplane/host/result"
)

// Results is the store that folds are kept in and slices are read from.
type Results interface {
	// SaveFold keeps an answer that is too large to be sent.
	SaveFold(o result.Owner, value json.RawMessage) (result.Entry, error)
	// View returns a stored value, which is never changed, and describes it.
	View(o result.Owner, handle string) (json.RawMessage, result.Entry, error)
}

// FoldOptions say which answers are folded.
type FoldOptions struct {
	Enabled bool
	// ThresholdBytes is the largest value that is sent whole, and the largest slice
	// that is read; 0 means 16 KiB.
	ThresholdBytes int
}

func (o FoldOptions) threshold() int {
	if o.ThresholdBytes <= 0 {
		return fold.DefaultThresholdBytes
	}
	return max(o.ThresholdBytes, fold.MinThresholdBytes)
}

// metaHandle is the key in a result's _meta by which programs tell that the result
// is folded. Nothing else says so: a value may look like anything.
const metaHandle = "toolplane/result-handle"

// uriResults is where stored values are read as resources.
const uriResults = "toolplane://results/"

// folded stands for a value in structured content.
type folded struct {
	Handle    string          `json:"handle"`
	URI       string          `json:"uri"`
	Bytes     int             `json:"bytes"`
	ExpiresIn int             `json:"expires_in_seconds"`
	Preview   json.RawMessage `json:"preview"`
	Shape     json.RawMessage `json:"shape"`
	Shown     fold.Shown      `json:"shown"`
}

// foldedSchema describes it, as part of the output schema of each tool that folds.
const foldedSchema = `{"type":"object","properties":{"handle":{"type":"string"},"bytes":{"type":"integer"},"preview":{},"shape":{"type":"object"}},"required":["handle","preview","shape"]}`

// owner is whose stored values this server reads and makes.
func (s *Server) owner() result.Owner {
	return result.Owner{Scope: s.o.Scope, Subject: s.o.Subject}
}

// fold puts a value aside that is over the threshold. f is nil where the value is
// to be sent whole; then warning, if there is one, says why although it's large.
func (s *Server) fold(value json.RawMessage) (f *folded, warning string) {
	if !s.o.Fold.Enabled || len(value) <= s.o.Fold.threshold() {
		return nil, ""
	}
	whole := func(why string) (*folded, string) {
		return nil, fmt.Sprintf("Warning: these %s are here in full, because they couldn't be put aside: %s", sizeText(len(value)), why)
	}
	if s.o.Results == nil {
		return whole("the result store is turned off on this server. Return less.")
	}
	brief, ok := fold.Fold(value, fold.Limits{ThresholdBytes: s.o.Fold.threshold()})
	if !ok {
		return nil, ""
	}
	entry, err := s.o.Results.SaveFold(s.owner(), value)
	if err != nil {
		return whole(err.Error() + ".")
	}
	return &folded{
		Handle: entry.Handle, URI: uriResults + entry.Handle, Bytes: brief.Bytes,
		ExpiresIn: int(math.Round(entry.Expires.Sub(entry.Created).Seconds())),
		Preview:   brief.Preview, Shape: brief.Shape, Shown: brief.Shown,
	}, ""
}

// line is the text that goes beside a folded value.
func (f *folded) line(what string) string {
	var root struct {
		Type   string
		Length *int
	}
	example := `, path="$.KEY"`
	if json.Unmarshal(f.Shape, &root) == nil && root.Length != nil {
		unit := "items"
		example = ", offset=0, limit=20"
		if root.Type == "string" {
			unit, example = "characters", ", offset=0, limit=4000"
		}
		root.Type = fmt.Sprintf("%s of %d %s", root.Type, *root.Length, unit)
	}
	return fmt.Sprintf("%s (%s, %s) was put aside for %s; preview and shape are in the structured content. "+
		"Read parts with result_query(handle=%q%s), or all of it in a snippet with await load_result(%q).",
		what, root.Type, sizeText(f.Bytes), minutes(time.Duration(f.ExpiresIn)*time.Second), f.Handle, example, f.Handle)
}

// meta marks a result as folded.
func (f *folded) meta() mcp.Meta {
	return mcp.Meta{metaHandle: map[string]any{"handle": f.Handle, "bytes": f.Bytes, "ttlSeconds": f.ExpiresIn}}
}

// Of a text that is too long, this much of its beginning and its end is shown.
const (
	headBytes = 1000
	tailBytes = 2000
)

// cutOutput shortens what a snippet printed or failed with, so that it can't flood
// a context as a value can't. The whole text is put aside where that's possible.
func (s *Server) cutOutput(text string) string {
	if !s.o.Fold.Enabled || len(text) <= s.o.Fold.threshold() {
		return text
	}
	head, tail, left := cutText(text, s.o.Fold.threshold())
	note := "return less, or print less"
	if s.o.Results != nil {
		if entry, err := s.o.Results.SaveFold(s.owner(), jsonString(text)); err == nil {
			note = fmt.Sprintf("result_query(handle=%q, offset=%d, limit=4000) reads on", entry.Handle, utf8.RuneCountInString(head))
		}
	}
	return fmt.Sprintf("%s\n[… %s left out here; %s …]\n%s", head, sizeText(left), note, tail)
}

// cutText returns the beginning and the end of a text, and how much is between.
func cutText(text string, threshold int) (head, tail string, left int) {
	i, j := min(headBytes, threshold/4), len(text)-min(tailBytes, threshold/2)
	for i > 0 && !utf8.RuneStart(text[i]) {
		i--
	}
	for j < len(text) && !utf8.RuneStart(text[j]) {
		j++
	}
	return text[:i], text[j:], j - i
}

func jsonString(text string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err) // a string always encodes
	}
	return bytes.TrimSpace(b.Bytes())
}

// sizeText writes a number of bytes for a reader.
func sizeText(n int) string {
	switch {
	case n < 1<<10:
		return strconv.Itoa(n) + " bytes"
	case n < 1<<20:
		return strings.TrimSuffix(strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64), ".0") + " KiB"
	}
	return strings.TrimSuffix(strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64), ".0") + " MiB"
}

// minutes writes a time span for a reader.
func minutes(d time.Duration) string {
	if d < 2*time.Minute {
		return strconv.Itoa(int(math.Ceil(d.Seconds()))) + " seconds"
	}
	return strconv.Itoa(int(d.Minutes())) + " minutes"
}

// warnWhole adds a warning to a result, if there is one.
func warnWhole(res *mcp.CallToolResult, warning string) {
	if warning != "" {
		res.Content = append(res.Content, &mcp.TextContent{Text: warning})
	}
}
