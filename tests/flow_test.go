package tests

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestTwoRunFlow is the main job: the first run keeps more than 1 MB on the host and answers in less than 2 KB; the second,
// in a fresh interpreter, finds the data by the handle that the first one returned.
func TestTwoRunFlow(t *testing.T) {
	results := run(t, []snippet{
		{"fetch", `
page = await issues.list(count=5000)
records = page["issues"]
handle = await save_result(records, label="5,000 issues")
leaked = True
return {"handle": handle, "count": len(records), "sample": [{"id": r["id"], "title": r["title"]} for r in records[:3]]}
`},
		{"aggregate", `
assert "leaked" not in globals(), "the interpreter is not fresh"
from collections import Counter
import json
records = await load_result(_["handle"])
return {"states": dict(Counter(r["state"] for r in records)), "count": len(records), "bytes": len(json.dumps(records)),
        "first": records[0]["id"] == _["sample"][0]["id"], "exact": all(r["id"] > 2**53 for r in records)}
`},
	}, "--fresh", issuesPlugin)
	for i, r := range results {
		if !r.OK {
			t.Fatalf("run %d failed: %+v", i+1, r.Error)
		}
	}
	if n := len(results[0].line); n >= 2048 {
		t.Errorf("the first result has %d bytes, want under 2,048: %s", n, results[0].line)
	}
	var first struct {
		Handle string
		Count  int
	}
	var second struct {
		Count, Bytes int
		First, Exact bool
		States       map[string]int
	}
	decode(t, results[0].Value, &first)
	decode(t, results[1].Value, &second)
	if !strings.HasPrefix(first.Handle, "res_") || first.Count != 5000 {
		t.Errorf("first run: %s", results[0].Value)
	}
	if second.Count != 5000 || second.Bytes <= 1<<20 || !second.First || !second.Exact || len(second.States) < 2 {
		t.Errorf("second run: %s", results[1].Value)
	}
	for _, r := range results {
		if r.RunID == "" || r.Executor != "headless" || r.Artifacts == nil || r.DurationMS <= 0 || r.Error != nil {
			t.Errorf("the result object lacks what it promises: %s", r.line)
		}
	}
	if results[0].RunID == results[1].RunID {
		t.Error("both runs have the same run_id")
	}
}

// TestDemo shows that the binary alone does the main job, and says in figures what it saved.
func TestDemo(t *testing.T) {
	out := toolplane(t, t.TempDir(), "demo")
	if out.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", out.code, out.stdout, out.stderr)
	}
	for _, want := range []string{"save_result", "load_result", "5,000", "res_", "toolplane run", "toolplane serve mcp"} {
		if !strings.Contains(string(out.stdout), want) {
			t.Errorf("the demo doesn't show %q:\n%s", want, out.stdout)
		}
	}
}

func decode(t *testing.T, text json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
