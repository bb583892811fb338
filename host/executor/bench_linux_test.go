package executor

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/web"
)

// BenchmarkBrowser sets a capability call from Python, and a whole fresh run, beside the floor under both: a bare WebSocket
// echo in the same page of the same browser.
func BenchmarkBrowser(b *testing.B) {
	if err := web.Built(); err != nil {
		b.Fatal(err)
	}
	b.Setenv("TMPDIR", shortTempDir(b))
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	registry := capability.NewRegistry()
	if err := registry.Put(demoProvider{}, []capability.Capability{{Name: "plugin:demo/noop"}}); err != nil {
		b.Fatal(err)
	}
	e := New(Options{
		Headless: HeadlessOptions{BaseURL: server.URL},
		Logger:   slog.New(slog.DiscardHandler),
		Hub: HubOptions{Registry: registry, Dispatcher: DispatcherFunc(func(context.Context, Origin, string, json.RawMessage) (json.RawMessage, *capability.Error) {
			return json.RawMessage("null"), nil
		})},
		MaxRunTimeout: time.Hour,
		MaxCalls:      1 << 30,
	})
	defer e.Close(context.Background()) //nolint:errcheck // of a benchmark
	mux.Handle("/ws", e.Hub())
	mux.HandleFunc("/echo", echoWebSocket)
	mux.Handle(web.Prefix, web.Handler())
	headless := e.pages.(*Headless)
	browser, page, err := headless.start()
	if err != nil {
		b.Fatal(err)
	}
	started := make(chan struct{})
	close(started)
	headless.attempt = &attempt{started: started, page: page} // runs use this browser, so that all is measured in one page
	defer browser.stop()                                      //nolint:errcheck // of a benchmark

	run := func(b *testing.B, code string) *Result {
		res := e.Run(b.Context(), Request{Code: code, Fresh: true, Timeout: time.Hour})
		if !res.OK {
			b.Fatal(res.Error)
		}
		return res
	}
	b.Run("echo", func(b *testing.B) {
		if err := browser.evaluate(b.Context(), fmt.Sprintf(echoScript, b.N)); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("call_tool", func(b *testing.B) {
		// Timed in Python: the run itself may have to wait for an interpreter, and is measured below.
		res := run(b, fmt.Sprintf(`import time
start = time.perf_counter()
for _i in range(%d): await call_tool('plugin:demo/noop')
return time.perf_counter() - start`, b.N))
		var seconds float64
		if err := json.Unmarshal(res.Value, &seconds); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(seconds*1e9/float64(b.N), "ns/op")
	})
	b.Run("fresh_run", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			time.Sleep(600 * time.Millisecond) // the pool refills: what is measured is a run that finds it idle
			b.StartTimer()
			run(b, "return 1")
		}
	})
}

const echoScript = `(async () => {
	const ws = new WebSocket(location.origin.replace("http", "ws") + "/echo");
	await new Promise((open, fail) => { ws.onopen = open; ws.onerror = () => fail(new Error("no connection to /echo")); });
	for (let i = 0; i < %d; i++) {
		const back = new Promise((go) => { ws.onmessage = go; });
		ws.send("{}");
		await back;
	}
	ws.close();
})()`

// echoWebSocket sends each small frame back (RFC 6455), as barely as can be: it's the floor that calls are measured against.
func echoWebSocket(w http.ResponseWriter, r *http.Request) {
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // the protocol's own
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close() //nolint:errcheck // nothing is left to do
	_, _ = fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	for rw.Flush() == nil && echoFrame(rw) == nil {
	}
}

func echoFrame(rw *bufio.ReadWriter) error {
	var head [6]byte // opcode, length, mask
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return err
	}
	if head[1]&0x7f > 125 || head[0] != 0x81 {
		return fmt.Errorf("frame %x isn't a small text frame", head[:2])
	}
	text := make([]byte, head[1]&0x7f)
	if _, err := io.ReadFull(rw, text); err != nil {
		return err
	}
	for i := range text {
		text[i] ^= head[2+i%4]
	}
	_, err := rw.Write(append(binary.BigEndian.AppendUint16(nil, uint16(0x8100|len(text))), text...))
	return err
}
