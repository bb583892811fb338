package mcpserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// streamWriteTimeout is how long a client may take nothing of what is sent to it.
const streamWriteTimeout = 30 * time.Second

// readBody takes in the whole request, which is then bounded in time by the
// server's own limit and in size by ours. It answers where that fails.
func (h *HTTP) readBody(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.o.MaxBodyBytes))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, codeTooLarge, nil, fmt.Sprintf(
			"the request has more than %d bytes ([server] max_frame_bytes): save large values with save_result and pass their handle", large.Limit))
		return nil, false
	case err != nil:
		refuse(w, http.StatusBadRequest, codeUnread, nil, "the request couldn't be read to its end")
		return nil, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, true
}

// streamWriter lets a stream last for as long as it's read. The server's limits
// are for requests and answers that end.
type streamWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func newStreamWriter(w http.ResponseWriter) *streamWriter {
	s := &streamWriter{w, http.NewResponseController(w)}
	// A writer without deadlines, as in tests, has none that could end a stream.
	_ = s.control.SetReadDeadline(time.Time{})
	s.extend()
	return s
}

func (s *streamWriter) extend() {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
}

func (s *streamWriter) Write(p []byte) (int, error) {
	s.extend()
	return s.ResponseWriter.Write(p)
}

// FlushError is what [http.ResponseController] calls.
func (s *streamWriter) FlushError() error {
	s.extend()
	return s.control.Flush()
}

// Unwrap gives [http.ResponseController] the rest.
func (s *streamWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
