package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/fold"
)

func queryTool(o Options) *mcp.Tool {
	return &mcp.Tool{
		Name:  "result_query",
		Title: "Read part of a stored result",
		Description: fmt.Sprintf("Reads at most %s of a folded or saved value. ", sizeText(o.Fold.threshold())) +
			`path: $.rows[-1].title, $["odd key"], /rows/2. offset or page, and limit, cut lists, texts and objects; fields keeps keys: ["id", "author.login"]. ` +
			"To filter or count, load_result it in a snippet.",
		InputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"handle": {"type": "string"},
				"path": {"type": "string"},
				"offset": {"type": "integer", "minimum": 0},
				"limit": {"type": "integer", "minimum": 1},
				"page": {"type": "integer", "minimum": 1},
				"fields": {"type": "array", "items": {"type": "string"}, "maxItems": 32}
			},
			"required": ["handle"],
			"additionalProperties": false
		}`),
		OutputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string"},
				"value": {},
				"total": {"type": "integer"},
				"offset": {"type": "integer"},
				"nextOffset": {"type": "integer"}
			},
			"required": ["path", "value"]
		}`),
		Annotations: readOnly,
	}
}

// errHandle is what each handle gets that opens nothing here, whatever the reason.
var errHandle = &fold.Error{Code: fold.CodeHandleNotFound, Message: "nothing is stored under this handle: it may have expired, " +
	"made room for newer results, or belong to another session; run the snippet or the tool again and use the new handle"}

func (s *Server) query(_ context.Context, _ *mcp.CallToolRequest, args arguments) (*answer, error) {
	a, err := s.slice(args)
	var refused *fold.Error
	if errors.As(err, &refused) {
		return nil, fmt.Errorf("%s: %w", refused.Code, refused)
	}
	return a, err
}

func (s *Server) slice(args arguments) (*answer, error) {
	invalid := func(err error) error { return &fold.Error{Code: fold.CodeInvalidInput, Message: err.Error()} }
	if err := args.only("handle", "path", "offset", "limit", "page", "fields"); err != nil {
		return nil, invalid(err)
	}
	if !args.has("handle") {
		return nil, invalid(errors.New("handle is missing: give the one of a folded answer or of save_result"))
	}
	var handle string
	q := fold.QueryOptions{MaxBytes: s.o.Fold.threshold()}
	for _, err := range []error{
		args.get("handle", &handle, "a text: the handle of a folded answer or of save_result"),
		args.get("path", &q.Path, "a text, such as $.rows[2].title"),
		args.get("offset", &q.Offset, "a whole number from 0"),
		args.get("limit", &q.Limit, "a whole number from 1"),
		args.get("page", &q.Page, "a whole number from 1"),
		args.get("fields", &q.Fields, `a list of keys, such as ["id", "author.login"]`),
	} {
		if err != nil {
			return nil, invalid(err)
		}
	}
	if s.o.Results == nil {
		return nil, errHandle
	}
	handle = strings.TrimPrefix(handle, uriResults)
	value, _, err := s.o.Results.View(s.owner(), handle)
	if err != nil {
		s.documents.forget(handle)
		return nil, errHandle
	}
	got, err := fold.Query(s.documents.of(handle, value), q)
	if err != nil {
		return nil, err
	}
	return newAnswer(got, sliceText(got))
}

// sliceText is a slice for a reader: the value, and where to go on.
func sliceText(a fold.Answer) string {
	text := string(a.Value)
	if a.Total != nil && a.Offset != nil {
		text += fmt.Sprintf("\n\n(%s: from offset %d of %d", a.Path, *a.Offset, *a.Total)
		if a.NextOffset != nil {
			text += fmt.Sprintf("; go on with offset=%d", *a.NextOffset)
		}
		text += ")"
	}
	return text
}
