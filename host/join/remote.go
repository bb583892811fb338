package join

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxHostMessageBytes bounds a message of a host, whose own limits are lower.
	maxHostMessageBytes = 512 << 20
	// endTimeout is how long the end of a session may take.
	endTimeout = 2 * time.Second
	// A stream that breaks is resumed a few times.
	resumeTries = 5
	resumeAfter = 100 * time.Millisecond
	cancelTries = 5
)

// remote is the session at a host that was joined.
type remote struct {
	b          *bridge
	host       *Host
	generation int
	client     *http.Client
	transport  *http.Transport

	life   context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	// Written by the initialize, before anything else is sent.
	session, version string
	full             bool
}

func newRemote(life context.Context, b *bridge, h *Host, generation int) *remote {
	r := &remote{b: b, host: h, generation: generation, transport: transport()}
	r.client = &http.Client{Transport: r.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r.life, r.cancel = context.WithCancel(life)
	return r
}

// deliver keeps the order that matters: nothing goes before the end of the
// initialize, and nothing overtakes a notification.
func (r *remote) deliver(m message) {
	switch {
	case m.method == "initialize":
		r.request(m)
	case m.isRequest():
		r.work.Go(func() { r.request(m) })
	default:
		r.notify(m)
		switch m.method {
		case "notifications/initialized":
			r.work.Go(r.listen)
		case "notifications/cancelled":
			r.work.Go(func() { r.insist(m) })
		}
	}
}

// insist repeats a cancellation while its request has no answer: sent on another
// connection, the first one may have overtaken the request, and is then passed over.
func (r *remote) insist(m message) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.params, &params) != nil {
		return
	}
	for try := range cancelTries {
		if !r.pause(try) || !r.b.isPending(string(params.RequestID)) {
			return
		}
		r.notify(m)
	}
}

func (r *remote) send(ctx context.Context, method string, body []byte, header map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.host.URL+"/mcp", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.host.secret.Reveal())
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.session != "" {
		req.Header.Set("Mcp-Session-Id", r.session)
	}
	if r.version != "" {
		req.Header.Set("MCP-Protocol-Version", r.version)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	return r.client.Do(req)
}

// request sends a request and passes on what is answered.
func (r *remote) request(m message) {
	var sent atomic.Bool
	ctx := httptrace.WithClientTrace(r.life, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	res, err := r.send(ctx, http.MethodPost, m.text, nil)
	if err != nil {
		if !sent.Load() || m.method != "tools/call" { // what else there is changes nothing by being asked twice
			r.b.keep(r.generation, m)
		}
		r.broken(m, err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	if m.method == "initialize" {
		r.session = res.Header.Get("Mcp-Session-Id")
		if res.StatusCode == http.StatusServiceUnavailable && !strings.HasPrefix(m.id, ownID) {
			r.full = true
			return
		}
	}
	if gone := r.isGone(res); gone != nil {
		r.b.keep(r.generation, m) // before the loss is told
		r.b.lose(r.generation, gone)
		return
	}
	if res.StatusCode != http.StatusOK {
		r.refused(m, res)
		return
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/event-stream" {
		text, err := io.ReadAll(io.LimitReader(res.Body, maxHostMessageBytes))
		if err != nil {
			r.broken(m, err)
			return
		}
		r.pass(m, text)
		return
	}
	r.follow(m, res)
}

// pass hands a message of the host on, and reports whether it's the answer.
func (r *remote) pass(m message, text []byte) bool {
	answer, err := read(text)
	done := err == nil && answer.isResponse() && answer.id == m.id
	if done && m.method == "initialize" {
		var out struct {
			Result struct {
				ProtocolVersion string `json:"protocolVersion"`
			} `json:"result"`
		}
		if json.Unmarshal(text, &out) == nil {
			r.version = out.Result.ProtocolVersion
		}
	}
	r.b.answer(r.generation, text)
	return done
}

// follow passes on a request's stream up to its answer, and resumes it where it
// breaks.
func (r *remote) follow(m message, res *http.Response) {
	last := ""
	var err error
	for try := 0; ; try++ {
		var done bool
		if done, last, err = r.stream(m, res, last); done {
			return
		}
		if last == "" || try >= resumeTries || !r.pause(try) {
			break
		}
		if res, err = r.resume(last); err != nil {
			continue
		}
		defer func() { _ = res.Body.Close() }()
	}
	r.broken(m, err)
}

// stream passes on events. It returns the id of the last one, so that the stream
// can be resumed.
func (r *remote) stream(m message, res *http.Response, last string) (done bool, lastID string, err error) {
	if res == nil {
		return false, last, errors.New("the connection broke")
	}
	in := bufio.NewReaderSize(res.Body, 64<<10)
	for {
		e, err := readEvent(in, maxHostMessageBytes)
		if err != nil {
			return false, last, err
		}
		if e.id != "" {
			last = e.id
		}
		if len(e.data) > 0 && r.pass(m, e.data) {
			return true, last, nil
		}
	}
}

func (r *remote) resume(last string) (*http.Response, error) {
	res, err := r.send(r.life, http.MethodGet, nil, map[string]string{"Last-Event-ID": last})
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, fmt.Errorf("the host answered %s", res.Status)
	}
	return res, nil
}

func (r *remote) pause(try int) bool {
	t := time.NewTimer(resumeAfter << try)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.life.Done():
		return false
	}
}

// notify sends what has no answer, and waits until the host has taken it.
func (r *remote) notify(m message) {
	ctx, cancel := context.WithTimeout(r.life, 30*time.Second)
	defer cancel()
	res, err := r.send(ctx, http.MethodPost, m.text, nil)
	if err != nil {
		r.check(err)
		return
	}
	_ = res.Body.Close()
	if !r.gone(res) && res.StatusCode >= 300 {
		r.b.o.Logger.Warn("the host refused a notification", "method", m.method, "status", res.StatusCode)
	}
}

// listen passes on what the host sends of its own accord. The end of this stream is
// what first tells that the host is gone.
func (r *remote) listen() {
	last := ""
	for try := 0; ; try++ {
		header := map[string]string{}
		if last != "" {
			header["Last-Event-ID"] = last
		}
		res, err := r.send(r.life, http.MethodGet, nil, header)
		if err == nil {
			switch {
			case r.gone(res):
				_ = res.Body.Close()
				return
			case res.StatusCode == http.StatusMethodNotAllowed:
				_ = res.Body.Close()
				return // a host without such a stream
			case res.StatusCode == http.StatusOK:
				began := time.Now()
				_, last, err = r.stream(message{}, res, last)
				if time.Since(began) > time.Second {
					try = 0
				}
			default:
				err, last = fmt.Errorf("the host answered %s", res.Status), ""
			}
			_ = res.Body.Close()
		}
		if r.life.Err() != nil || r.check(err) || !r.pause(min(try, 6)) {
			return
		}
	}
}

// isGone says why the session is over, if it is: the host doesn't know it, or not
// the token.
func (r *remote) isGone(res *http.Response) error {
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return errors.New("it was replaced by another one")
	case res.StatusCode == http.StatusNotFound && r.session != "":
		return errors.New("the session has ended there")
	}
	return nil
}

// gone reports the end of the session, if it is over.
func (r *remote) gone(res *http.Response) bool {
	if err := r.isGone(res); err != nil {
		r.b.lose(r.generation, err)
		return true
	}
	return false
}

// check finds out whether the host is gone, after something failed, and reports it.
func (r *remote) check(err error) bool {
	if r.life.Err() != nil {
		return true
	}
	if checked := r.host.Check(r.life); errors.Is(checked, ErrGone) {
		if err == nil {
			err = checked
		}
		r.b.lose(r.generation, errors.New("its address answers no more"))
		r.b.o.Logger.Info("joined host is gone", "url", r.host.URL, "error", err)
		return true
	}
	return false
}

// broken answers a request whose answer won't come: with the others where the host
// is gone, else alone.
func (r *remote) broken(m message, err error) {
	if r.check(err) {
		return
	}
	r.b.unkeep(m)
	r.b.answer(r.generation, failure(m.id, codeGone, "the connection to the Toolplane host at %s broke; call again", r.host.URL))
	r.b.o.Logger.Warn("a request to the joined host failed", "method", m.method, "error", err)
}

// refused passes on a refusal of the host, as the answer to the request.
func (r *remote) refused(m message, res *http.Response) {
	text, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		r.broken(m, err)
		return
	}
	var e struct {
		Error *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &e) == nil && e.Error != nil {
		r.b.answer(r.generation, failure(m.id, e.Error.Code, "%s", e.Error.Message))
		return
	}
	r.b.answer(r.generation, failure(m.id, codeInternal, "the Toolplane host answered %s: %s", res.Status, strings.TrimSpace(string(text))))
}

func (r *remote) close() {
	if r.session != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.life), endTimeout)
		if res, err := r.send(ctx, http.MethodDelete, nil, nil); err == nil {
			_ = res.Body.Close()
		}
		cancel()
	}
	r.cancel()
	done := make(chan struct{})
	go func() { defer close(done); r.work.Wait() }()
	patience := time.NewTimer(endTimeout)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C: // an agent that doesn't read holds them up; their generation is over
	}
	r.transport.CloseIdleConnections()
}
