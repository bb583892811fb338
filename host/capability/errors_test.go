package capability_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
)

func TestAsError(t *testing.T) {
	policy := capability.Errorf(capability.PermissionError, "PolicyError", "no: %w", io.EOF)
	for name, tc := range map[string]struct {
		err     error
		builtin capability.Builtin
		typ     string
		message string
	}{
		"as it is":  {policy, capability.PermissionError, "PolicyError", "no: EOF"},
		"wrapped":   {fmt.Errorf("calling: %w", policy), capability.PermissionError, "PolicyError", "no: EOF"},
		"deadline":  {fmt.Errorf("x: %w", context.DeadlineExceeded), capability.TimeoutError, "CallTimeoutError", "the call ran out of time; ask for less at once, or give the run a longer timeout"},
		"cancelled": {context.Canceled, capability.RuntimeError, "CallCancelledError", "the call was cancelled, because its run ended or was stopped"},
		"anything":  {io.ErrUnexpectedEOF, capability.RuntimeError, "InternalError", "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			e := capability.AsError(tc.err)
			if e.Builtin != tc.builtin || e.Type != tc.typ || e.Message != tc.message {
				t.Errorf("got %s/%s: %s", e.Builtin, e.Type, e.Message)
			}
			if !errors.Is(e, errors.Unwrap(tc.err)) && !errors.Is(e, tc.err) {
				t.Error("the cause is lost")
			}
		})
	}
	if capability.AsError(nil) != nil {
		t.Error("nil became an error")
	}
	if !errors.Is(policy, io.EOF) {
		t.Error("Errorf loses what %w wraps")
	}
}

func TestBuiltins(t *testing.T) {
	for _, b := range []capability.Builtin{"ValueError", "PermissionError", "LookupError", "TimeoutError", "MemoryError", "RuntimeError"} {
		if !b.Valid() {
			t.Errorf("%s isn't valid", b)
		}
	}
	for _, b := range []capability.Builtin{"", "KeyError", "valueerror", "SystemExit"} {
		if b.Valid() {
			t.Errorf("%q is valid", b)
		}
	}
}
