package wsbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// sized returns an object of exactly n bytes.
func sized(n int) json.RawMessage {
	return json.RawMessage(`{"x":"` + strings.Repeat("x", n-8) + `"}`)
}

// overhead is what the frame of a call of method echo needs beside its params.
const overhead = len(`{"jsonrpc":"2.0","id":1,"method":"echo","params":}`)

// The library's own limit is 32 KiB; ours is the configured one, to the byte.
func TestFrameSizes(t *testing.T) {
	const limit = 1 << 20
	o := wsbridge.Options{Handler: echo, MaxFrameBytes: limit}
	server, client := pair(t, o, o)
	for name, c := range map[string]*wsbridge.Conn{"server": server, "client": client} {
		t.Run(name, func(t *testing.T) {
			for i, n := range []int{32<<10 - 100, 32 << 10, 32<<10 + 1, 500_000, limit - overhead} {
				params := sized(n)
				got, err := c.Call(testContext(t), "echo", params)
				if err != nil || string(got) != string(params) {
					t.Errorf("%d bytes (call %d): got %d bytes, %v", n, i, len(got), err)
				}
			}
			for _, n := range []int{limit - overhead + 1, limit + 1, 3 * limit} {
				_, err := c.Call(testContext(t), "echo", sized(n))
				wantCode(t, err, protocol.CodeTooLarge, fmt.Sprint(limit), "max_frame_bytes")
			}
			wantCode(t, c.Notify(testContext(t), "echo", sized(limit)), protocol.CodeTooLarge, fmt.Sprint(limit))
			usable(t, c)
		})
	}
}

func TestDefaultFrameLimit(t *testing.T) {
	_, client := pair(t, wsbridge.Options{Handler: echo}, wsbridge.Options{})
	params := sized(16<<20 - overhead)
	got, err := client.Call(testContext(t), "echo", params)
	if err != nil || len(got) != len(params) {
		t.Errorf("16 MiB: got %d bytes, %v", len(got), err)
	}
	_, err = client.Call(testContext(t), "echo", sized(16<<20))
	wantCode(t, err, protocol.CodeTooLarge)
}

func TestAnswerTooLarge(t *testing.T) {
	const limit = 2048
	var answer json.RawMessage
	var failure error
	_, client := pair(t, wsbridge.Options{MaxFrameBytes: limit, Handler: func(_ context.Context, _ *wsbridge.Conn, method string, params json.RawMessage) (json.RawMessage, error) {
		if method == "echo" {
			return params, nil
		}
		return answer, failure
	}}, wsbridge.Options{})
	for _, n := range []int{limit - 20, limit, limit + 1, 10 * limit} {
		answer = sized(n)
		_, err := client.Call(testContext(t), "big", nil)
		wantCode(t, err, protocol.CodeTooLarge, "answer to big", "2048")
	}
	// An error that is too large is cut, whatever makes it large. The worst text takes 6 bytes each.
	for _, failure = range []error{
		errors.New(strings.Repeat("x", 10*limit)),
		errors.New(strings.Repeat("\x00", 10*limit)),
		&protocol.Error{Code: protocol.CodeInternal, Message: "small", Data: &protocol.ErrorData{Type: strings.Repeat("T", 2*limit)}},
		&protocol.Error{Code: protocol.CodeInternal, Message: "small", Data: &protocol.ErrorData{Extra: map[string]json.RawMessage{"x": sized(limit)}}},
	} {
		_, err := client.Call(testContext(t), "big", nil)
		wantCode(t, err, protocol.CodeInternal)
	}
	usable(t, client)
}

// A peer that doesn't check loses the connection and is told why.
func TestOversizedFrameClosesWithAReason(t *testing.T) {
	for _, test := range []struct {
		name string
		size int
	}{{"by a byte", 4097}, {"by far", 8 << 20}} {
		t.Run(test.name, func(t *testing.T) {
			server, client := pair(t, wsbridge.Options{MaxFrameBytes: 4096, Handler: echo}, wsbridge.Options{})
			if err := client.SendRaw(testContext(t), sized(4096), false); err != nil {
				t.Fatal(err)
			}
			usable(t, client) // as large as the limit is fine
			if err := client.SendRaw(testContext(t), sized(test.size), false); err != nil {
				t.Fatal(err)
			}
			wantClosed(t, server, 1009, true)
			wantClosed(t, client, 1009, false, "limit of 4096 bytes", "max_frame_bytes")
		})
	}
}

func TestFramesThatAreNoMessage(t *testing.T) {
	for _, test := range []struct {
		name   string
		frame  string
		binary bool
		code   int
		words  string
	}{
		{"binary", `{"jsonrpc":"2.0","method":"x"}`, true, protocol.CodeInvalidRequest, "binary frames"},
		{"empty binary", ``, true, protocol.CodeInvalidRequest, "binary frames"},
		{"batch", `[{"jsonrpc":"2.0","method":"x"}]`, false, protocol.CodeInvalidRequest, "batches"},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}", false, protocol.CodeParse, "UTF-8"},
		{"surrogate as UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"\xed\xa0\x80\"}", false, protocol.CodeParse, "UTF-8"},
		{"empty", ``, false, protocol.CodeParse, "too early"},
		{"cut off", `{"jsonrpc":"2.0"`, false, protocol.CodeParse, "too early"},
		{"unknown member", `{"jsonrpc":"2.0","method":"x","Params":{}}`, false, protocol.CodeInvalidRequest, `write "params"`},
		{"broken cancel", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"7"}}`, false, protocol.CodeInvalidParams, "params.id"},
	} {
		t.Run(test.name, func(t *testing.T) {
			refusals := make(chan *protocol.Error, 1)
			_, client := pair(t, wsbridge.Options{Handler: echo}, wsbridge.Options{Logger: refusalLog(refusals)})
			if err := client.SendRaw(testContext(t), []byte(test.frame), test.binary); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-refusals:
				wantCode(t, got, test.code, test.words)
			case <-testContext(t).Done():
				t.Fatal("no refusal arrived")
			}
			usable(t, client)
		})
	}
}

// refusalLog hears of refusals with id null, which answer no call and so are only logged.
func refusalLog(refusals chan<- *protocol.Error) *slog.Logger {
	return slog.New(refusalHandler{refusals})
}

type refusalHandler struct{ refusals chan<- *protocol.Error }

func (h refusalHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h refusalHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h refusalHandler) WithGroup(string) slog.Handler            { return h }
func (h refusalHandler) Handle(_ context.Context, r slog.Record) error {
	got := &protocol.Error{}
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "code":
			got.Code = int(a.Value.Int64())
		case "message":
			got.Message = a.Value.String()
		}
		return true
	})
	if strings.HasPrefix(r.Message, "the peer refused") {
		h.refusals <- got
	}
	return nil
}

// A request that breaks after its id is answered with that id, so that its caller doesn't wait for ever; a broken answer
// fails the call that it was for.
func TestBrokenFramesFailTheirCall(t *testing.T) {
	_, client := pair(t, wsbridge.Options{Handler: func(_ context.Context, c *wsbridge.Conn, method string, params json.RawMessage) (json.RawMessage, error) {
		if method == "echo" {
			return params, nil
		}
		// Answer by hand, with a frame that breaks behind the id; then never answer.
		if err := c.SendRaw(context.Background(), []byte(`{"jsonrpc":"2.0","id":1,"result":{"value":NaN}}`), false); err != nil {
			return nil, err
		}
		return nil, errors.New("second answer")
	}}, wsbridge.Options{})
	_, err := client.Call(testContext(t), "broken", nil) // id 1
	wantCode(t, err, protocol.CodeParse, "isn't JSON")

	// The next call gets id 2; the broken frame is a request with that id, sent past the encoder.
	results := make(chan error, 1)
	held := newHold()
	_, client = pair(t, wsbridge.Options{Handler: held.handle}, wsbridge.Options{})
	go func() {
		_, err := client.Call(testContext(t), "hold", nil) // id 1
		results <- err
	}()
	<-held.started
	if err := client.SendRaw(testContext(t), []byte(`{"jsonrpc":"2.0","id":1,"method":"hold","params":{"x":}}`), false); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-results, protocol.CodeParse)
	close(held.release)
}

// The receiver keeps its own count: a peer that doesn't gets busy answers at once, and the requests that run go on.
func TestReceiverRefusesBeyondItsLimit(t *testing.T) {
	const limit, sent = 4, 50
	held := newHold()
	server, client := pair(t, wsbridge.Options{MaxInFlight: limit, Handler: held.handle}, wsbridge.Options{MaxInFlight: sent})
	var answered, refused sync.WaitGroup
	answered.Add(limit)
	refused.Add(sent - limit)
	for range sent {
		go func() {
			got, err := client.Call(testContext(t), "hold", json.RawMessage(`{}`))
			if errors.Is(err, &protocol.Error{Code: protocol.CodeBusy}) {
				refused.Done()
				return
			}
			if err != nil || string(got) != "{}" {
				t.Errorf("got %s, %v", got, err)
			}
			answered.Done()
		}()
	}
	refused.Wait()
	if n := server.Incoming(); n != limit {
		t.Errorf("%d requests run, want %d", n, limit)
	}
	close(held.release)
	answered.Wait()
	usable(t, client)
}

// A slot is free for the peer when it has the answer: who keeps to the limit is never refused.
func TestLimitOfOne(t *testing.T) {
	o := wsbridge.Options{Handler: echo, MaxInFlight: 1}
	server, client := pair(t, o, o)
	var sides sync.WaitGroup
	for _, c := range []*wsbridge.Conn{server, client} {
		sides.Go(func() {
			for i := range 2000 {
				if _, err := c.Call(testContext(t), "echo", nil); err != nil {
					t.Errorf("call %d: %v", i, err)
					return
				}
			}
		})
	}
	sides.Wait()
}

func TestRequestIDInUse(t *testing.T) {
	held := newHold()
	refusals := make(chan *protocol.Error, 1)
	server, client := pair(t, wsbridge.Options{Handler: held.handle}, wsbridge.Options{Logger: refusalLog(refusals)})
	result := make(chan error, 1)
	go func() {
		_, err := client.Call(testContext(t), "hold", nil) // id 1
		result <- err
	}()
	<-held.started
	if err := client.SendRaw(testContext(t), []byte(`{"jsonrpc":"2.0","id":1,"method":"hold"}`), false); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-refusals, protocol.CodeInvalidRequest, "id 1 is still in flight")
	close(held.release)
	if err := <-result; err != nil {
		t.Errorf("the request that ran got %v", err)
	}
	if n := server.Incoming(); n != 0 {
		t.Errorf("%d requests count as in flight after the answer", n)
	}
}

// Answers get past a full queue of notifications, and a drop is reported once.
func TestNotificationOverflow(t *testing.T) {
	const room = 8
	block, entered := make(chan struct{}), make(chan struct{}, 100)
	refusals := make(chan *protocol.Error, 100)
	var mu sync.Mutex
	handled := 0
	_, client := pair(t, wsbridge.Options{NotifyQueue: room, Handler: echo, OnNotification: func(context.Context, *wsbridge.Conn, string, json.RawMessage) {
		entered <- struct{}{}
		<-block
		mu.Lock()
		handled++
		mu.Unlock()
	}}, wsbridge.Options{Logger: refusalLog(refusals)})
	note := func(params json.RawMessage) {
		if err := client.Notify(testContext(t), "note", params); err != nil {
			t.Fatal(err)
		}
	}
	note(nil)
	<-entered // the handler is busy, the queue is empty
	for range room + 5 {
		note(nil)
	}
	wantCode(t, <-refusals, protocol.CodeBusy, "note was dropped", "8")
	usable(t, client)
	close(block)
	waitFor(t, func() bool { mu.Lock(); defer mu.Unlock(); return handled == room+1 })
	if len(refusals) != 0 {
		t.Errorf("%d more refusals for one row of drops", len(refusals))
	}
}

func TestNotificationOverflowByBytes(t *testing.T) {
	block := make(chan struct{})
	refusals := make(chan *protocol.Error, 100)
	_, client := pair(t, wsbridge.Options{MaxFrameBytes: 4096, Handler: echo, OnNotification: func(context.Context, *wsbridge.Conn, string, json.RawMessage) { <-block }},
		wsbridge.Options{Logger: refusalLog(refusals)})
	for range 5 {
		if err := client.Notify(testContext(t), "note", sized(3000)); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, <-refusals, protocol.CodeBusy, "8192 bytes")
	usable(t, client)
	close(block)
}

// A peer that sends requests beyond the limit and never reads is cut off instead of filling the memory.
func TestRefusalsThatNobodyReads(t *testing.T) {
	held := newHold()
	conns := make(chan *wsbridge.Conn, 1)
	flooder := newFlooder(t, wsbridge.AcceptOptions{Options: wsbridge.Options{
		MaxInFlight: 1, CloseTimeout: 50 * time.Millisecond, WriteTimeout: 10 * time.Second,
		Handler: held.handle,
	}}, conns)
	server := <-conns
	flooder.floodUntil(server.Done())
	wantClosed(t, server, 1008, true, "read them")
}
