package wsbridge_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/wsbridgetest"
)

// acceptKey answers the challenge of a WebSocket handshake (RFC 6455, section 4.2.2).
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// acceptor serves Accept with o and reports how it went.
func acceptor(t *testing.T, o wsbridge.AcceptOptions) (*wsbridgetest.Network, <-chan error) {
	results := make(chan error, 10)
	return wsbridgetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := wsbridge.Accept(w, r, o)
		if err == nil {
			wsbridgetest.Cleanup(t, c)
		}
		results <- err
	})), results
}

func TestAcceptChecks(t *testing.T) {
	forbidden := errors.New("origin https://evil.test isn't allowed: add it to allowed_origins")
	tests := []struct {
		name   string
		accept wsbridge.AcceptOptions
		dial   wsbridge.DialOptions
		status string // "" means that the connection opens
		words  string
	}{
		{name: "no origin"},
		{name: "own origin", dial: wsbridge.DialOptions{Header: http.Header{"Origin": {"http://host.test"}}}},
		{name: "foreign origin", dial: wsbridge.DialOptions{Header: http.Header{"Origin": {"https://evil.test"}}}, status: "403", words: "evil.test"},
		{name: "opaque origin", dial: wsbridge.DialOptions{Header: http.Header{"Origin": {"null"}}}, status: "403", words: "null"},
		{name: "listed origin", accept: wsbridge.AcceptOptions{OriginPatterns: []string{"*.good.test"}}, dial: wsbridge.DialOptions{Header: http.Header{"Origin": {"https://a.good.test"}}}},
		{name: "own check refuses", accept: wsbridge.AcceptOptions{CheckOrigin: func(*http.Request) error { return forbidden }}, status: "403", words: "add it to allowed_origins"},
		{name: "own check replaces the usual one", accept: wsbridge.AcceptOptions{CheckOrigin: func(*http.Request) error { return nil }}, dial: wsbridge.DialOptions{Header: http.Header{"Origin": {"https://evil.test"}}}},
		{name: "another subprotocol", dial: wsbridge.DialOptions{Subprotocol: "toolplane.v0"}, status: "400", words: "toolplane.v1"},
		{name: "subprotocol in the wrong case", dial: wsbridge.DialOptions{Subprotocol: "Toolplane.v1"}, status: "400", words: "toolplane.v1"},
		{name: "agreed subprotocol", accept: wsbridge.AcceptOptions{Subprotocol: "x"}, dial: wsbridge.DialOptions{Subprotocol: "x"}},
		{name: "misconfigured server", accept: wsbridge.AcceptOptions{Options: wsbridge.Options{MaxFrameBytes: 10}}, status: "500", words: "misconfigured"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			network, accepted := acceptor(t, test.accept)
			test.dial.HTTPClient = network.Client()
			c, err := wsbridge.Dial(testContext(t), "ws://user:pw@host.test/ws?token=secret", test.dial)
			if acceptErr := <-accepted; (acceptErr == nil) != (test.status == "") {
				t.Errorf("Accept returned %v", acceptErr)
			}
			if test.status == "" {
				if err != nil {
					t.Fatal(err)
				}
				wsbridgetest.Cleanup(t, c)
				return
			}
			if err == nil {
				t.Fatal("the connection opened")
			}
			for _, word := range []string{"wsbridge: dial ws://host.test/ws:", test.status, test.words} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q doesn't mention %q", err, word)
				}
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "pw") {
				t.Errorf("error shows a secret of the URL: %v", err)
			}
		})
	}
}

func TestAcceptOfAPlainRequest(t *testing.T) {
	network, accepted := acceptor(t, wsbridge.AcceptOptions{})
	resp, err := network.Client().Get("http://host.test/ws")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUpgradeRequired || !strings.Contains(string(body), "Upgrade") {
		t.Errorf("got %s: %s", resp.Status, body)
	}
	if err := <-accepted; err == nil {
		t.Error("Accept returned no error")
	}
}

func TestDialErrors(t *testing.T) {
	network := wsbridgetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "closed for today", http.StatusServiceUnavailable)
	}))
	deaf := silentServerWith(t, "")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, test := range map[string]struct {
		ctx   context.Context
		url   string
		o     wsbridge.DialOptions
		words string
	}{
		"refused":             {url: "ws://x.test/", o: wsbridge.DialOptions{HTTPClient: network.Client()}, words: "closed for today"},
		"scheme":              {url: "ftp://x.test/", words: "scheme"},
		"url":                 {url: "ws://%zz", words: "broken URL"},
		"options":             {url: "ws://x.test/", o: wsbridge.DialOptions{Options: wsbridge.Options{MaxInFlight: -1}}, words: "MaxInFlight"},
		"negative time":       {url: "ws://x.test/", o: wsbridge.DialOptions{Options: wsbridge.Options{CloseTimeout: -1}}, words: "CloseTimeout"},
		"context":             {ctx: ended, url: "ws://x.test/", o: wsbridge.DialOptions{HTTPClient: network.Client()}, words: "canceled"},
		"selects no subproto": {url: "ws://x.test/", o: wsbridge.DialOptions{HTTPClient: deaf.Client()}, words: "subprotocol"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := test.ctx
			if ctx == nil {
				ctx = testContext(t)
			}
			c, err := wsbridge.Dial(ctx, test.url, test.o)
			if err == nil {
				_ = c.Close(1000, "")
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), test.words) || !strings.HasPrefix(err.Error(), "wsbridge: dial ") {
				t.Errorf("error %q doesn't mention %q", err, test.words)
			}
		})
	}
}

// Logs tell about refused frames, but never what users sent.
func TestLogShowsNoValues(t *testing.T) {
	var log bytes.Buffer
	server, client := pair(t, wsbridge.Options{Handler: echo, Logger: slog.New(slog.NewTextHandler(&log, nil))}, wsbridge.Options{})
	for _, frame := range []string{`{"jsonrpc":"2.0","id":901,"method":"x","params":{"token":"hunter2"`, `{"jsonrpc":"2.0","id":902,"method":"x","params":"hunter2"}`, `"hunter2"`} {
		if err := client.SendRaw(testContext(t), []byte(frame), false); err != nil {
			t.Fatal(err)
		}
	}
	usable(t, client)
	if err := server.Close(1000, ""); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if strings.Count(log.String(), "refused a frame") != 3 || strings.Contains(log.String(), "hunter2") {
		t.Errorf("log:\n%s", log.String())
	}
}
