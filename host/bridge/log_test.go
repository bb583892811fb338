package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/capability"
)

// TestLogHoldsNoData has every kind of call handle secrets and reads the log.
func TestLogHoldsNoData(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	caller := bridge.Caller{Scope: "SECRET-scope", Subject: "ada", RunID: "run_7"}
	call := func(b *bridge.Bridge, name, args string) json.RawMessage {
		value, _ := b.Call(t.Context(), caller, name, json.RawMessage(args)) // each outcome is fine
		return value
	}

	b := newBridge(t, echo, logger)
	call(b, "plugin:t/tool", `{"value":"SECRET"}`)
	call(b, "plugin:t/tool", `{"count":"SECRET"}`)
	call(b, "plugin:t/tool", `{"SECRET":`)
	call(b, "SECRET", `{}`)
	var s saved
	if err := json.Unmarshal(call(b, bridge.SaveResult, `{"value":"SECRET","label":"SECRET"}`), &s); err != nil {
		t.Fatal(err)
	}
	call(b, bridge.LoadResult, `{"handle":"`+s.Handle+`"}`)
	call(b, bridge.LoadResult, `{"handle":"SECRET"}`)
	call(b, bridge.SaveResult, `{"value":"SECRET","label":"SECRET\n"}`)
	call(newBridge(t, answers(`{"SECRET":NaN}`), logger), "plugin:t/tool", `{}`)
	call(newBridge(t, fails(errors.New("SECRET")), logger), "plugin:t/tool", `{}`)
	call(newBridge(t, func(context.Context, capability.Invocation) (capability.Answer, error) {
		panic("SECRET")
	}, logger), "plugin:t/tool", `{}`)

	text := log.String()
	if strings.Contains(text, "SECRET") || strings.Contains(text, s.Handle) {
		t.Errorf("the log holds data:\n%s", text)
	}
	lines := strings.Count(text, "\n")
	if lines != 12 { // 11 calls, and the panic
		t.Errorf("%d lines, want 12:\n%s", lines, text)
	}
	for _, want := range []string{`"run":"run_7"`, `"capability":"plugin:t/tool"`, `"capability":"unknown"`, `"capability":"toolplane:results/save"`,
		`"builtin":"ValueError"`, `"type":"ResultStoreError"`, `"argument_bytes":18`, `"answer_bytes":8`, `"panic":"string"`, `"stack":"goroutine`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log doesn't hold %s:\n%s", want, text)
		}
	}
}

// A panic of the runtime says what went wrong; its text holds no data.
func TestLogOfARuntimePanic(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	b := newBridge(t, func(_ context.Context, inv capability.Invocation) (capability.Answer, error) {
		var list []int
		return capability.Answer{}, errors.New(string(rune(list[len(inv.Arguments)])))
	}, logger)
	_, err := b.Call(t.Context(), ada, "plugin:t/tool", nil)
	if err == nil || strings.Contains(err.Message, "index") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(log.String(), "index out of range [2] with length 0") {
		t.Errorf("log: %s", log.String())
	}
}
