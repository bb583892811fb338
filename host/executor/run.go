package executor

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// frameRoom is what a frame needs besides the value it carries.
const frameRoom = 1024

// run is one run under way on one page.
type run struct {
	origin Origin
	// ctx ends when the run does; every call of the run is made under it.
	ctx    context.Context
	cancel context.CancelFunc
	output *outputRelay

	maxCalls, maxInFlight int

	mu              sync.Mutex
	calls, inFlight int
}

// admit counts one call, if the run may make it. The page counts as well, and
// better, since it knows the line; this is for a page that doesn't.
func (r *run) admit() *capability.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.calls >= r.maxCalls:
		return capability.Errorf(capability.RuntimeError, "CallLimitError",
			"a run may make %d capability calls ([executor] max_calls): ask for more per call, or split the work into several runs", r.maxCalls)
	case r.inFlight >= r.maxInFlight:
		return capability.Errorf(capability.RuntimeError, "CallLimitError",
			"a run may have %d capability calls in flight ([executor] max_calls_in_flight): await some before starting more", r.maxInFlight)
	}
	r.calls++
	r.inFlight++
	return nil
}

func (r *run) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
}

// toolCall dispatches one capability call with the scope and the subject of the
// run it belongs to. The page names the run, and only one of its own.
func (p *page) toolCall(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var call protocol.ToolCallParams
	if err := protocol.DecodeParams(params, &call); err != nil {
		return nil, err
	}
	r := p.run(call.RunID)
	if r == nil {
		// Finished, somebody else's or never there: one lookup, one answer.
		return nil, toolError(capability.Errorf(capability.RuntimeError, "UnknownRunError", "no such run is under way on this connection"))
	}
	if err := r.admit(); err != nil {
		return nil, toolError(err)
	}
	defer r.release()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })()

	value, failure := p.hub.o.Dispatcher.Dispatch(ctx, r.origin, call.Name, call.Arguments)
	if failure != nil {
		return nil, toolError(failure)
	}
	if r.ctx.Err() != nil {
		return nil, protocol.Errorf(protocol.CodeCancelled, "the run is over")
	}
	if limit := p.hub.o.MaxFrameBytes - frameRoom; int64(len(value)) > limit {
		return nil, toolError(capability.Errorf(capability.ValueError, "AnswerTooLargeError",
			"the answer of %s is %d bytes and one message carries at most %d ([server] max_frame_bytes): ask for fewer records or fields, or in pages", call.Name, len(value), limit))
	}
	answer, err := protocol.EncodePayload(protocol.ToolCallResult{Value: value})
	if err != nil {
		return nil, toolError(capability.Errorf(capability.RuntimeError, "InternalError", "the answer of %s can't be sent: %w", call.Name, err))
	}
	return answer, nil
}

// toolError is a failed call on the wire.
func toolError(e *capability.Error) *protocol.Error {
	return &protocol.Error{
		Code:    protocol.CodeTool,
		Message: e.Message,
		Data:    &protocol.ErrorData{Builtin: string(e.Builtin), Type: e.Type},
	}
}
