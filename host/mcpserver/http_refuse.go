package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// JSON-RPC codes of refusals: those of wsbridge/protocol, where it has them.
const (
	codeUnread    = -32700
	codeNoSession = -32001
	codeBusy      = -32002
	codeTooLarge  = -32003
)

// refuse answers with a JSON-RPC error, which clients show to people. id is that
// of the request, or nil where it belongs to none.
func refuse(w http.ResponseWriter, status, code int, id json.RawMessage, message string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message}})
	if err != nil {
		text = []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "%s\n", text)
}

// glance is what is to be known of a request before the SDK reads it.
type glance struct {
	id         json.RawMessage // nil where there's none
	initialize bool
}

// peek looks at a request, or at those of a batch. What it can't read, the SDK
// refuses.
func peek(body []byte) glance {
	type envelope struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	var one envelope
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '[' {
		var all []envelope
		_ = json.Unmarshal(body, &all)
		for _, e := range all {
			if e.Method == "initialize" {
				one = e
			}
		}
	} else {
		_ = json.Unmarshal(body, &one)
	}
	g := glance{initialize: one.Method == "initialize"}
	if len(one.ID) > 0 && (one.ID[0] == '"' || one.ID[0] == '-' || one.ID[0] >= '0' && one.ID[0] <= '9') {
		g.id = one.ID
	}
	return g
}
