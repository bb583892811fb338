package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Session is what Python keeps of one scope between its runs.
type Session interface {
	// Reset forgets it and says, for a reader, what that was: "3 variables". It's ""
	// when there was nothing.
	Reset(ctx context.Context) (forgot string, err error)
}

func resetTool() *mcp.Tool {
	return &mcp.Tool{
		Name:        "reset_session",
		Title:       "Reset the session",
		Description: "Forgets what runs leave to later runs; stored results stay.",
		InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`),
		Annotations: &mcp.ToolAnnotations{IdempotentHint: true},
	}
}

func (s *Server) reset(ctx context.Context, _ *mcp.CallToolRequest, args arguments) (*answer, error) {
	if err := args.only(); err != nil {
		return nil, err
	}
	out := struct {
		Forgot []string `json:"forgot"`
	}{[]string{}}
	s.mu.Lock()
	if s.previous != nil {
		out.Forgot = append(out.Forgot, "the previous value (_)")
	}
	s.previous = nil
	s.mu.Unlock()
	if s.o.Session != nil {
		forgot, err := s.o.Session.Reset(ctx)
		if err != nil {
			return nil, fmt.Errorf("the Python session couldn't be reset: %w", err)
		}
		if forgot != "" {
			out.Forgot = append(out.Forgot, forgot)
		}
	}
	text := "There was nothing to forget."
	if len(out.Forgot) > 0 {
		text = "Forgotten: " + strings.Join(out.Forgot, ", ") + "."
	}
	if s.o.Session == nil {
		text += " Each run has a fresh interpreter, so no variables, imports or functions stay."
	}
	if s.o.Store {
		text += " Stored results stay until they expire."
	}
	return newAnswer(out, text)
}
