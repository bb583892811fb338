package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vector is one case of vectors/*.json; see vectors/README.md.
type vector struct {
	Name          string            `json:"name"`
	Direction     string            `json:"direction"`
	Frame         string            `json:"frame"`
	Valid         bool              `json:"valid"`
	Code          int               `json:"code"`
	AnswerID      *int64            `json:"answer_id"`
	FailsID       int64             `json:"fails_id"`
	Kind          Kind              `json:"message_kind"`
	ID            int64             `json:"id"`
	Method        string            `json:"method"`
	Answers       string            `json:"answers"`
	Raw           map[string]string `json:"raw"`
	SchemaAccepts bool              `json:"schema_accepts"`

	file string
}

func (v vector) sides(t *testing.T) []Side {
	switch v.Direction {
	case "either":
		return []Side{FromPage, FromHost}
	case string(FromPage), string(FromHost):
		return []Side{Side(v.Direction)}
	}
	t.Fatalf("%s: unknown direction %q", v.Name, v.Direction)
	return nil
}

func readVectors(t testing.TB) []vector {
	t.Helper()
	files, err := filepath.Glob("vectors/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors found: %v", err)
	}
	var all []vector
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var topic struct {
			Description string   `json:"description"`
			Cases       []vector `json:"cases"`
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&topic); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		names := map[string]bool{}
		for _, v := range topic.Cases {
			if names[v.Name] {
				t.Errorf("%s: two cases are named %q", file, v.Name)
			}
			names[v.Name] = true
			v.file = filepath.Base(file)
			all = append(all, v)
		}
	}
	return all
}

func TestVectors(t *testing.T) {
	vectors := readVectors(t)
	valid := 0
	for _, v := range vectors {
		if v.Valid {
			valid++
		}
		t.Run(v.file+"/"+v.Name, func(t *testing.T) {
			for _, side := range v.sides(t) {
				checkVector(t, v, side)
			}
		})
	}
	if len(vectors) < 60 || valid < 30 || len(vectors)-valid < 30 {
		t.Errorf("%d vectors, %d of them valid; want at least 30 of each kind", len(vectors), valid)
	}
}

func checkVector(t *testing.T, v vector, side Side) {
	frame := []byte(v.Frame)
	msg, err := Decode(frame)
	if string(frame) != v.Frame {
		t.Fatal("Decode changed the frame")
	}
	if err != nil {
		var refusal *FrameError
		if !errors.As(err, &refusal) {
			t.Fatalf("Decode returned %T, want *FrameError", err)
		}
		checkRefusal(t, v, refusal)
		return
	}
	if v.Answers != "" {
		err = CheckAnswer(v.Answers, msg)
	} else if kind := msg.Kind(); kind == KindRequest || kind == KindNotification {
		err = CheckCall(side, msg)
	}
	if err != nil {
		var rpcErr *Error
		switch {
		case !errors.As(err, &rpcErr):
			t.Errorf("%s: error is %T, want *Error", side, err)
		case v.Valid:
			t.Errorf("%s: refused: %v", side, err)
		case rpcErr.Code != v.Code:
			t.Errorf("%s: code %d (%v), want %d", side, rpcErr.Code, err, v.Code)
		case v.Answers == "" && (v.AnswerID == nil && msg.ID != 0 || v.AnswerID != nil && *v.AnswerID != msg.ID):
			t.Errorf("%s: would be answered with id %d", side, msg.ID)
		}
		return
	}
	if !v.Valid {
		t.Fatalf("%s: accepted, want code %d", side, v.Code)
	}
	if msg.Kind() != v.Kind || msg.Method != v.Method || msg.ID != v.ID {
		t.Errorf("got %s %q id %d, want %s %q id %d", msg.Kind(), msg.Method, msg.ID, v.Kind, v.Method, v.ID)
	}
	for path, want := range v.Raw {
		if got := rawAt(t, v, msg, path); got != want {
			t.Errorf("%s: carried %q, want %q", path, got, want)
		}
	}
}

func checkRefusal(t *testing.T, v vector, refusal *FrameError) {
	if v.Valid {
		t.Fatalf("refused: %v", refusal)
	}
	if refusal.Reason.Code != v.Code {
		t.Errorf("code %d (%v), want %d", refusal.Reason.Code, refusal, v.Code)
	}
	want := v.FailsID
	if v.AnswerID != nil {
		want = *v.AnswerID
	}
	if refusal.ID != want {
		t.Errorf("refusal is about id %d, want %d", refusal.ID, want)
	}
	if v.FailsID > 0 && !refusal.Response {
		t.Error("not seen as an answer")
	}
}

// rawAt finds a user value the way a reader does: through the payload types.
func rawAt(t *testing.T, v vector, msg *Message, path string) string {
	t.Helper()
	names := strings.Split(path, ".")
	decode := func(p any, err error) any {
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var payload any
	switch names[0] {
	case "params":
		for _, m := range methods {
			if m.Name == msg.Method {
				p := m.NewParams()
				payload = decode(p, DecodeParams(msg.Params, p))
			}
		}
	case "result":
		for _, m := range methods {
			if m.Name == v.Answers {
				p := m.NewResult()
				payload = decode(p, DecodeResult(msg.Result, p))
			}
		}
	case "error":
		return string(msg.Error.Data.Extra[names[2]])
	}
	switch p := payload.(type) {
	case *ToolCallParams:
		return string(p.Arguments)
	case *ToolCallResult:
		return string(p.Value)
	case *ExecutorRunResult:
		return string(p.Value)
	case *ExecutorRunParams:
		if names[1] == "previous" {
			return string(p.Previous)
		}
		return string(p.Inputs[names[2]])
	}
	t.Fatalf("no user value at %s", path)
	return ""
}
