package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/executor"
)

// A Runner runs snippets. Run never returns nil, and returns soon after ctx ends.
type Runner interface {
	Run(ctx context.Context, req executor.Request) *executor.Result
}

// Options are what a [Server] stands on. Runner and Registry are required.
type Options struct {
	// Version is what the server calls itself.
	Version string
	Runner  Runner
	// Registry is searched, and has the aliases.
	Registry *capability.Registry
	// Describe finds one capability by its canonical name, hidden ones included.
	// Nil means the registry's Lookup.
	Describe func(name string) (capability.Capability, error)
	// Wait waits, within limits of its own, for capabilities that are still being
	// loaded, and says what isn't there and why. Nil means that all are there.
	Wait func(ctx context.Context) []string
	// ListPatience is how long a listing of the tools waits so; default 3 s. The
	// client is told of changes later on.
	ListPatience time.Duration
	// Scope and Subject are whose data the runs of this server use.
	Scope, Subject string
	// RunTimeout is the time limit of a run that asks for none, MaxRunTimeout the
	// most that one may ask for.
	RunTimeout, MaxRunTimeout time.Duration
	// Store says whether save_result works here.
	Store bool
	// Index searches what Registry has. Required.
	Index Index
	// InlineCapabilities is the largest catalog that execute_code's description lists.
	InlineCapabilities int
	// Expose says which capabilities are tools of their own. Nil: none.
	Expose *Exposure
	// Call runs a capability for an exposed tool. Required where there is one.
	Call func(ctx context.Context, inv capability.Invocation) (capability.Answer, *capability.Error)
	// Results is the store behind result_query and folded answers. Nil: there's none.
	Results Results
	// Fold says which answers are folded.
	Fold FoldOptions
	// Session is what Python keeps between the runs of the scope. Nil: nothing.
	Session Session
	// Linger is how long calls under way may go on after the client has closed its
	// side; then they are cancelled.
	Linger time.Duration
	// Logger receives what the protocol has to complain of, never arguments or
	// values. Nil means no log.
	Logger *slog.Logger

	// sessionID is what the client of an HTTP session presents.
	sessionID string
}

// maxPreviousBytes bounds the value that the next run gets as `_`: it travels to
// the browser again with each run.
const maxPreviousBytes = 1 << 20

// A Server serves one client, with one scope.
type Server struct {
	o   Options
	mcp *mcp.Server

	calls     tracker
	documents documents
	listing   listing

	// life ends the calls under way when the process is to end: the SDK's own
	// Close waits for them.
	life context.Context
	end  context.CancelFunc

	mu       sync.Mutex
	previous json.RawMessage // the value of the last run that succeeded
}

// New makes a server.
func New(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Describe == nil {
		o.Describe = func(name string) (capability.Capability, error) {
			c, _, err := o.Registry.Lookup(name)
			return c, err
		}
	}
	if o.Wait == nil {
		o.Wait = func(context.Context) []string { return nil }
	}
	if o.ListPatience <= 0 {
		o.ListPatience = listPatience
	}
	s := &Server{o: o}
	s.life, s.end = context.WithCancel(context.Background())
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "toolplane", Title: "Toolplane", Version: o.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       slog.New(quietHandler{o.Logger.Handler()}),
		Capabilities: withLogging(&mcp.ServerCapabilities{
			Tools:     &mcp.ToolCapabilities{ListChanged: true},
			Resources: &mcp.ResourceCapabilities{},
		}),
		GetSessionID: o.getSessionID,
		// The SDK lets anybody on the way keep what it says nothing about. Here it's
		// the tools of one configuration and the data of one session.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = private },
	})
	s.mcp.AddTool(searchTool(), s.tool(s.search))
	s.mcp.AddTool(schemasTool(), s.tool(s.schemas))
	s.mcp.AddTool(executeTool(o, ""), s.tool(s.execute))
	s.mcp.AddTool(queryTool(o), s.tool(s.query))
	s.mcp.AddTool(resetTool(), s.tool(s.reset))
	s.addResources()
	s.mcp.AddReceivingMiddleware(s.calls.middleware, s.receive)
	s.mcp.AddSendingMiddleware(s.send)
	context.AfterFunc(s.life, o.Registry.Subscribe(s.refresh))
	return s
}

func (o Options) getSessionID() string { return o.sessionID }

const instructions = `Call capabilities (tools of plugins) from short Python snippets, so that large data needn't pass through you: ` +
	`find them with search_capabilities, filter and join in execute_code, return only what you need to read. More: the resources toolplane://guide and toolplane://namespace.`

const private = "private"

// fixedTools are the tools that are there whatever the capabilities.
var fixedTools = map[string]bool{
	"search_capabilities": true, "get_capability_schemas": true, "execute_code": true, "result_query": true, "reset_session": true,
}

// Serve speaks MCP over in and out, one JSON message a line, until the client
// closes in or ctx ends. It closes both. Nothing else may write to out.
//
// When ctx ends, the calls under way are cancelled and still answered.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	defer context.AfterFunc(ctx, s.end)()
	defer s.end()
	err := s.mcp.Run(ctx, &mcp.IOTransport{Reader: newLingering(in, &s.calls, s.o.Linger), Writer: out})
	if ctx.Err() != nil {
		return nil // asked to end
	}
	if err != nil {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}

// tool makes an MCP handler of one that returns a structured value and its text
// form. An error is answered as a tool's error, which the model sees and can
// act on; protocol errors are those that no model could mend.
func (s *Server) tool(run func(context.Context, *mcp.CallToolRequest, arguments) (*answer, error)) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
		args, err := parseArguments(req.Params.Arguments)
		if err != nil {
			return toolError(err), nil
		}
		a, err := run(ctx, req, args)
		if err != nil {
			return toolError(err), nil
		}
		return &mcp.CallToolResult{
			Meta:              a.meta,
			Content:           []mcp.Content{&mcp.TextContent{Text: a.text}},
			StructuredContent: a.structured,
			IsError:           a.failed,
		}, nil
	}
}

// answer is what a tool answers with: the same twice, for programs and for
// models.
type answer struct {
	structured json.RawMessage
	text       string
	meta       mcp.Meta
	failed     bool
}

func toolError(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}, IsError: true}
}

// quietHandler takes the SDK's everyday messages down to debug level.
type quietHandler struct{ slog.Handler }

func (h quietHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, quieter(level))
}

func (h quietHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Level = quieter(r.Level)
	return h.Handler.Handle(ctx, r)
}

func (h quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attrs)}
}

func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name)}
}

func quieter(level slog.Level) slog.Level {
	if level == slog.LevelInfo {
		return slog.LevelDebug
	}
	return level
}
