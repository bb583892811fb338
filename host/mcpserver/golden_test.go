package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what the server answers into the golden sessions")

// TestGoldenSessions plays each session of testdata: the messages of "client" go
// in one after the other, each request after the answer to the one before, and
// what comes out must be "server".
func TestGoldenSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden sessions: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Files) != 2 || archive.Files[0].Name != "client" || archive.Files[1].Name != "server" {
				t.Fatal(`a session has two parts, "client" and "server"`)
			}
			o := testOptions(t)
			if strings.Contains(string(archive.Comment), "one plugin failed") {
				o.Wait = func(context.Context) []string { return []string{"The plugin broken isn't available."} }
			}
			if strings.Contains(string(archive.Comment), "no store") {
				o.Store, o.Results = false, nil
			}
			got := play(t, New(o), archive.Files[0].Data)
			if *update {
				archive.Files[1].Data = got
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := archive.Files[1].Data; !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s\n(go test -update writes what it got)", got, want)
			}
		})
	}
}

// conversation is a client's end of a server that speaks over pipes, as over
// stdio.
type conversation struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error
	id   int // of the last request
}

func converse(t *testing.T, s *Server) *conversation {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &conversation{t: t, in: inW, out: bufio.NewScanner(outR), done: make(chan error, 1)}
	c.out.Buffer(nil, 4<<20)
	go func() { c.done <- s.Serve(t.Context(), inR, outW) }()
	return c
}

func (c *conversation) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the next message, and fails when there's none.
func (c *conversation) receive() map[string]json.RawMessage {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("the server ended: %v", c.out.Err())
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(c.out.Bytes(), &m); err != nil {
		c.t.Fatalf("a line that isn't one JSON object: %v\n%s", err, c.out.Bytes())
	}
	return m
}

// initialized is a conversation past its beginning.
func initialized(t *testing.T, s *Server) *conversation {
	t.Helper()
	c := converse(t, s)
	c.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// request sends a request and returns its result (or error) as text, and the
// parameters of the notifications before it.
func (c *conversation) request(method, params string) (notifications []string, result string) {
	c.t.Helper()
	c.id++
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params))
	for {
		m := c.receive()
		if string(m["id"]) == fmt.Sprint(c.id) {
			return notifications, string(m["result"]) + string(m["error"])
		}
		notifications = append(notifications, string(m["params"]))
	}
}

// end closes the client's side, and fails unless the server then ends well.
func (c *conversation) end() {
	c.t.Helper()
	if err := c.in.Close(); err != nil {
		c.t.Fatal(err)
	}
	for c.out.Scan() {
		c.t.Errorf("unexpected message at the end: %s", c.out.Bytes())
	}
	if err := <-c.done; err != nil {
		c.t.Errorf("Serve: %v", err)
	}
}

func play(t *testing.T, s *Server, client []byte) []byte {
	t.Helper()
	c := converse(t, s)
	var got bytes.Buffer
	for line := range strings.Lines(string(client)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		c.send(line)
		var sent map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &sent); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for id, isRequest := sent["id"]; isRequest; {
			m := c.receive()
			if err := json.Indent(&got, c.out.Bytes(), "", " "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			if bytes.Equal(m["id"], id) {
				break
			}
		}
	}
	c.end()
	return got.Bytes()
}
