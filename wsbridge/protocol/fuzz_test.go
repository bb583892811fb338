package protocol

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"
)

// Whatever arrives: no panic; what is accepted is JSON in UTF-8 that encodes and decodes to the same message.
func FuzzDecode(f *testing.F) {
	for _, v := range readVectors(f) {
		if len(v.Frame) < 4096 {
			f.Add([]byte(v.Frame))
		}
	}
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		before := string(frame)
		m, err := Decode(frame)
		if string(frame) != before {
			t.Fatal("the frame changed")
		}
		if err != nil {
			var refusal *FrameError
			if !errors.As(err, &refusal) || refusal.Reason.Message == "" || refusal.ID < 0 || refusal.ID > MaxID {
				t.Fatalf("bad refusal %#v", err)
			}
			if _, err := EncodeError(refusal.ID, refusal.Reason); err != nil {
				t.Fatalf("the refusal can't be sent: %v", err)
			}
			return
		}
		if !utf8.Valid(frame) || !json.Valid(frame) {
			t.Fatalf("accepted %q", frame)
		}
		again, err := reencode(m)
		if err != nil {
			t.Fatalf("accepted %q, can't encode it: %v", frame, err)
		}
		n, err := Decode(again)
		if err != nil {
			t.Fatalf("accepted %q, not %q: %v", frame, again, err)
		}
		if n.Kind() != m.Kind() || n.ID != m.ID || n.Method != m.Method || string(n.Params) != string(m.Params) || string(n.Result) != string(m.Result) {
			t.Fatalf("%q became %q", frame, again)
		}
		for _, side := range []Side{FromHost, FromPage} {
			if m.Method != "" {
				_ = CheckCall(side, m)
			}
		}
	})
}

// What the payload decoder accepts, encoding/json reads the same; user values come out as the bytes that went in.
func FuzzDecodeParams(f *testing.F) {
	for _, v := range readVectors(f) {
		if m, err := Decode([]byte(v.Frame)); err == nil && m.Params != nil {
			f.Add([]byte(m.Params))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, method := range methods {
			p := method.NewParams()
			if err := DecodeParams(raw, p); err != nil {
				if !errors.Is(err, &Error{Code: CodeInvalidParams}) {
					t.Fatalf("bad refusal %#v", err)
				}
				continue
			}
			if !json.Valid(raw) {
				t.Fatalf("accepted %q", raw)
			}
			q := method.NewParams()
			if err := json.Unmarshal(raw, q); err != nil {
				t.Fatalf("accepted %q: %v", raw, err)
			}
			first, err := EncodePayload(p)
			if err != nil {
				t.Fatalf("accepted %q, can't encode it: %v", raw, err)
			}
			second, err := EncodePayload(q)
			if err != nil || string(first) != string(second) {
				t.Fatalf("%q: decoded to %s, encoding/json has %s, %v", raw, first, second, err)
			}
		}
	})
}
