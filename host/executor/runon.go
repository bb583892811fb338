package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// stopTime is how long a page may take to stop a run that was cancelled before
// it counts as stuck. The caller doesn't wait for it; the run's slot does.
const stopTime = 5 * time.Second

// answer is what came of sending a run to a page.
type answer struct {
	raw json.RawMessage
	err error
}

// runOn runs a request on a page and leaves the caller's place when the page
// has ended the run, which after a cancellation is later than the return. If the
// page is gone already it returns nil and leaves the place alone.
func (e *Executor) runOn(ctx context.Context, p *page, req Request, pl *place) *Result {
	var in seat
	if pl.session != nil {
		in = e.sessions.on(pl.session, p)
		if in.kept {
			req.Previous = nil // it knows its own
		}
	}
	params, err := protocol.EncodePayload(protocol.ExecutorRunParams{
		Session:          in.key,
		SessionMaxBytes:  in.maxBytes,
		RunID:            req.RunID,
		Code:             req.Code,
		Filename:         req.Filename,
		Fresh:            req.Fresh,
		Inputs:           req.inputs(),
		Previous:         req.Previous,
		TimeoutMS:        max(req.Timeout.Milliseconds(), 1),
		MaxOutputBytes:   e.o.MaxOutputBytes,
		MaxCalls:         e.o.MaxCalls,
		MaxCallsInFlight: e.o.MaxCallsInFlight,
	})
	if err != nil {
		pl.leave()
		return failed(invalid("the run can't be sent: %v", err))
	}
	runCtx, endRun := context.WithCancel(context.WithoutCancel(ctx))
	r := &run{
		origin:      Origin{Scope: req.Scope, Subject: req.Subject, RunID: req.RunID},
		ctx:         runCtx,
		cancel:      endRun,
		output:      newOutputRelay(req.OnOutput, e.o.MaxOutputBytes),
		maxCalls:    e.o.MaxCalls,
		maxInFlight: e.o.MaxCallsInFlight,
	}
	defer r.output.finish()
	if !p.begin(r) {
		endRun()
		return nil
	}
	defer p.end(r)
	p.syncCatalog()

	answers := make(chan *Result, 1)
	e.runs.Go(func() {
		raw, err := p.conn.CallWait(runCtx, stopTime, protocol.MethodExecutorRun, params)
		if err != nil && runCtx.Err() != nil && !errors.Is(err, wsbridge.ErrClosed) && !isProtocolError(err) {
			p.diagnose(fmt.Errorf("the executor page did not stop a cancelled run within %v", stopTime))
		}
		res := e.result(p, r, answer{raw, err})
		if pl.session != nil {
			e.tellSession(pl.session, in, res, errors.Is(err, wsbridge.ErrClosed))
			if runCtx.Err() != nil && res.Session == protocol.SessionLost {
				e.sessions.mourn(pl.session, "a run that was stopped took it along")
			}
		}
		pl.leave() // before the answer, so that the caller finds it free
		answers <- res
	})

	// The page keeps the time; this is for a page that doesn't. It can't tell
	// which of its runs has it stuck, so all of them end.
	limit := req.Timeout + e.o.Grace
	watchdog := time.NewTimer(limit)
	defer watchdog.Stop()
	var res *Result
	select {
	case res = <-answers:
	case <-ctx.Done():
		res = r.unanswered(interrupted(ctx))
		if pl.session != nil {
			res.Session = protocol.SessionRolledBack
			res.Error.Message += "; the session's namespace is rolled back to before this run"
		}
	case <-watchdog.C:
		err := fmt.Errorf("the executor page did not answer within %v (the run's limit of %v, and %v more)", limit, req.Timeout, e.o.Grace)
		p.diagnose(err)
		res = r.unanswered(hostError(TypeBrowser, "%v; a new browser is started for the next run", err))
		if pl.session != nil {
			e.tellSession(pl.session, in, res, true)
		}
	}
	res.Executor = string(p.kindOf())
	return res
}

// tellSession completes what a result says about its session.
func (e *Executor) tellSession(s *session, in seat, res *Result, lost bool) {
	if lost {
		res.Session = protocol.SessionLost
		res.SessionNote = "the session's namespace is gone with the browser: the next run begins a new one"
		res.Error.Message += "; " + res.SessionNote
	}
	e.sessions.note(s, in, res)
}

// result makes a Result of what the page answered.
func (e *Executor) result(p *page, r *run, a answer) *Result {
	switch {
	case a.err == nil:
	case errors.Is(a.err, wsbridge.ErrClosed) && e.life.Err() != nil:
		return r.unanswered(interrupted(e.life))
	case errors.Is(a.err, wsbridge.ErrClosed):
		return r.unanswered(hostError(TypeBrowser, "the run was lost: %v; run it again, a new browser is started for it (calls that it had made stand)", p.reason()))
	default:
		return failed(e.refused(a.err))
	}
	var out protocol.ExecutorRunResult
	if err := protocol.DecodeResult(a.raw, &out); err != nil {
		return failed(hostError(TypeExecutor, "the executor page answered with something that isn't a result: %v", err))
	}
	e.pages.prove(p)
	res := &Result{
		OK:              out.OK,
		Value:           out.Value,
		Stdout:          cutText(out.Stdout, e.o.MaxOutputBytes),
		Stderr:          cutText(out.Stderr, e.o.MaxOutputBytes),
		OutputTruncated: out.OutputTruncated,
		Tampered:        out.Tampered,
		Session:         out.Session,
		SessionNote:     cutText(out.SessionNote, 2000),
	}
	if res.OutputTruncated {
		// The page may have cut it to fit into one message. What it sent before is whole.
		res.Stdout = longer(res.Stdout, r.output.text(protocol.StreamStdout))
		res.Stderr = longer(res.Stderr, r.output.text(protocol.StreamStderr))
	}
	if len(res.Stdout) < len(out.Stdout) || len(res.Stderr) < len(out.Stderr) {
		res.OutputTruncated = true
	}
	if out.Error != nil {
		res.Error = &RunError{Type: out.Error.Type, Builtin: out.Error.Builtin, Message: out.Error.Message, Traceback: out.Error.Traceback}
	}
	return res
}

// unanswered is the result of a run that the page didn't answer, with what it
// had printed by then.
func (r *run) unanswered(err *RunError) *Result {
	return &Result{Error: err, Stdout: r.output.text(protocol.StreamStdout), Stderr: r.output.text(protocol.StreamStderr)}
}

// refused is the error of a run that the page, or the connection, didn't take.
func (e *Executor) refused(err error) *RunError {
	var refusal *protocol.Error
	if !errors.As(err, &refusal) {
		return hostError(TypeExecutor, "send the run: %v", err)
	}
	switch refusal.Code {
	case protocol.CodeTooLarge:
		return invalid("the code and its inputs are larger than one message may be, %d bytes ([server] max_frame_bytes): save large values with save_result and load them by handle", e.hub.o.MaxFrameBytes)
	case protocol.CodeBusy:
		return hostError(TypeBusy, "%s", refusal.Message)
	case protocol.CodeCancelled:
		return hostError(TypeCancelled, "%s", refusal.Message)
	default:
		return hostError(TypeExecutor, "the executor page refused the run: %s", refusal.Message)
	}
}

func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}

func isProtocolError(err error) bool {
	var e *protocol.Error
	return errors.As(err, &e)
}

func (r Request) inputs() map[string]json.RawMessage {
	if r.Inputs == nil {
		return map[string]json.RawMessage{}
	}
	return r.Inputs
}
