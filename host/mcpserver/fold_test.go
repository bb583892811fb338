package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/executor"
	"github.com/toolplane/toolplane/host/result"
)

// call calls a tool and fails where the protocol does. The answer is decoded, and
// its bytes on the wire are counted.
func call(t testing.TB, client *mcp.ClientSession, tool, args string) *mcp.CallToolResult {
	t.Helper()
	res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s %.100s: %v", tool, args, err)
	}
	return res
}

func textOf(res *mcp.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func structuredOf[T any](t testing.TB, res *mcp.CallToolResult) T {
	t.Helper()
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// rows is a JSON list of at least n bytes.
func rows(n int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"title":"Row number %d 😀","ratio":1.0,"tags":["a","b"]}`, 9007199254740993+i, i)
	}
	return b.String() + "]"
}

// answers makes a runner that answers with one result.
func answers(res executor.Result) runnerFunc {
	return func(_ context.Context, _ executor.Request) *executor.Result { r := res; return &r }
}

func okResult(value string) executor.Result {
	return executor.Result{OK: true, Value: json.RawMessage(value), Artifacts: []executor.Artifact{}}
}

func TestLargeValuesAreFolded(t *testing.T) {
	o := testOptions(t)
	value := rows(1 << 20)
	o.Runner = answers(okResult(value))
	client := connect(t, o, nil)
	res := call(t, client, "execute_code", `{"code":"x"}`)
	out := structuredOf[outcome](t, res)
	if res.IsError || !out.OK || out.Value != nil || out.Folded == nil {
		t.Fatalf("%+v", out)
	}
	f := out.Folded
	meta, _ := res.Meta[metaHandle].(map[string]any)
	if f.Bytes != len(value) || f.ExpiresIn != 3600 || f.URI != "toolplane://results/"+f.Handle ||
		meta["handle"] != f.Handle || meta["bytes"] != float64(len(value)) || meta["ttlSeconds"] != 3600.0 {
		t.Errorf("%+v, meta %v", f, meta)
	}
	if !strings.HasPrefix(string(f.Preview), `[{"id":`) || !strings.Contains(string(f.Shape), `"length"`) {
		t.Errorf("%s\n%s", f.Preview, f.Shape)
	}
	text := textOf(res)
	for _, want := range []string{"result_query", f.Handle, "60 minutes", "array of", "1 MiB", "load_result"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text doesn't say %q: %s", want, text)
		}
	}
	if len(res.Content) != 1 || strings.Contains(text, "\n") || strings.Contains(text, "Row number") {
		t.Errorf("not one line without the preview: %s", text)
	}
	// The handle is one of the store, for result_query as well as for load_result.
	if stored, _, err := o.Results.View(result.Owner{Scope: o.Scope}, f.Handle); err != nil || string(stored) != value {
		t.Errorf("the store has %d bytes: %v", len(stored), err)
	}
	res = call(t, client, "result_query", fmt.Sprintf(`{"handle":%q,"path":"$[1].id"}`, f.Handle))
	if got := textOf(res); got != "9007199254740994" {
		t.Errorf("result_query: %s", got)
	}
}

// TestWhatIsNotFolded: small values, failures, and whatever only looks like it.
func TestWhatIsNotFolded(t *testing.T) {
	large := `"` + strings.Repeat("x", 20<<10) + `"`
	look := `{"folded":{"handle":"res_AAAAAAAAAAAAAAAAAAAAAAAAAA","preview":[],"shape":{"type":"array"}},"_meta":{"toolplane/result-handle":{"handle":"res_x"}},"isError":true}`
	for name, tc := range map[string]struct {
		res     executor.Result
		change  func(*Options)
		warning string
	}{
		"at the threshold":      {res: okResult(`"` + strings.Repeat("x", 16<<10-2) + `"`)},
		"a look-alike":          {res: okResult(look)},
		"folding is off":        {res: okResult(large), change: func(o *Options) { o.Fold.Enabled = false }},
		"a larger threshold":    {res: okResult(large), change: func(o *Options) { o.Fold.ThresholdBytes = 1 << 20 }},
		"no store":              {res: okResult(large), change: func(o *Options) { o.Results = nil }, warning: "turned off"},
		"the store is too full": {res: okResult(large), change: func(o *Options) { o.Results = result.New(result.Options{MaxFoldBytes: 1000}) }, warning: "limit for all that is put aside"},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions(t)
			o.Runner = answers(tc.res)
			if tc.change != nil {
				tc.change(&o)
			}
			res := call(t, connect(t, o, nil), "execute_code", `{"code":"x"}`)
			out := structuredOf[outcome](t, res)
			var got, want any
			if json.Unmarshal(out.Value, &got) != nil || json.Unmarshal(tc.res.Value, &want) != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the value became %.100s", out.Value)
			}
			if out.Folded != nil || res.Meta[metaHandle] != nil || res.IsError {
				t.Errorf("it was folded: %+v", res)
			}
			if text := textOf(res); !strings.Contains(text, string(tc.res.Value)) || strings.Contains(text, "Warning") != (tc.warning != "") || !strings.Contains(text, tc.warning) {
				t.Errorf("the text is %.200s … %.200s", text, text[max(0, len(text)-200):])
			}
		})
	}
}

func TestOutputCantFlood(t *testing.T) {
	o := testOptions(t)
	printed := strings.Repeat("é line of output\n", 20_000)
	trace := "Traceback (most recent call last):\n" + strings.Repeat("z", 100_000) + "\nValueError: the end"
	res := executor.Result{
		Stdout: printed, Stderr: "short", Artifacts: []executor.Artifact{},
		Error: &executor.RunError{Type: "ValueError", Builtin: "ValueError", Message: "the end", Traceback: trace},
	}
	o.Runner = answers(res)
	client := connect(t, o, nil)
	got := call(t, client, "execute_code", `{"code":"x"}`)
	out := structuredOf[outcome](t, got)
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if !got.IsError || len(raw) > 16<<10 || out.Stderr != "short" || out.Error.Message != "the end" {
		t.Errorf("%d bytes: %.300s", len(raw), raw)
	}
	if !strings.HasPrefix(out.Stdout, "é line") || !strings.HasSuffix(out.Stdout, "output\n") || !strings.HasSuffix(out.Error.Traceback, "ValueError: the end") {
		t.Errorf("cut to %s", out.Stdout)
	}
	_, after, ok := strings.Cut(out.Stdout, `result_query(handle="`)
	handle, rest, _ := strings.Cut(after, `"`)
	if !ok || !strings.HasPrefix(rest, ", offset=") {
		t.Fatalf("the output names no handle: %s", out.Stdout)
	}
	var offset int
	if _, err := fmt.Sscanf(rest, ", offset=%d,", &offset); err != nil {
		t.Fatal(err)
	}
	slice := structuredOf[struct{ Value string }](t, call(t, client, "result_query", fmt.Sprintf(`{"handle":%q,"offset":%d,"limit":10}`, handle, offset)))
	if want := string([]rune(printed)[offset : offset+10]); slice.Value != want {
		t.Errorf("reading on gave %q, want %q", slice.Value, want)
	}
	// Without a store the output is cut all the same.
	o.Results = nil
	out = structuredOf[outcome](t, call(t, connect(t, o, nil), "execute_code", `{"code":"x"}`))
	if len(out.Stdout) > 4000 || !strings.Contains(out.Stdout, "print less") {
		t.Errorf("%d bytes without a store", len(out.Stdout))
	}
}

func TestResultQueryRefusals(t *testing.T) {
	o := testOptions(t)
	mine := result.Owner{Scope: o.Scope}
	save := func(owner result.Owner, value string) string {
		e, err := o.Results.SaveFold(owner, json.RawMessage(value))
		if err != nil {
			t.Fatal(err)
		}
		return e.Handle
	}
	list, foreign := save(mine, rows(100<<10)), save(result.Owner{Scope: "other"}, "[1]")
	client := connect(t, o, nil)
	misses := map[string]bool{}
	for _, tc := range []struct{ args, code, says string }{
		{`{"handle":"` + foreign + `"}`, "RESULT_HANDLE_NOT_FOUND", "new handle"},
		{`{"handle":"res_AAAAAAAAAAAAAAAAAAAAAAAAAA"}`, "RESULT_HANDLE_NOT_FOUND", ""},
		{`{"handle":""}`, "RESULT_HANDLE_NOT_FOUND", ""},
		{`{"handle":"../../etc/passwd"}`, "RESULT_HANDLE_NOT_FOUND", ""},
		{`{"handle":"` + foreign + `","path":"$.x","offset":3}`, "RESULT_HANDLE_NOT_FOUND", ""},
		{`{"handle":"` + list + `"}`, "RESULT_SLICE_TOO_LARGE", "limit="},
		{`{"handle":"` + list + `","path":"$[0].nope"}`, "RESULT_PATH_NOT_FOUND", "nope"},
		{`{"handle":"` + list + `","path":"$[999999]"}`, "RESULT_PATH_NOT_FOUND", "list of"},
		{`{"handle":"` + list + `","path":"$[0"}`, "INVALID_INPUT", "path"},
		{`{"handle":"` + list + `","offset":-1}`, "INVALID_INPUT", "counts from 0"},
		{`{"handle":"` + list + `","offset":1e400}`, "INVALID_INPUT", "offset must be"},
		{`{"handle":"` + list + `","limit":0}`, "INVALID_INPUT", "limit is 0"},
		{`{"handle":"` + list + `","page":1,"offset":0}`, "INVALID_INPUT", "both"},
		{`{"handle":"` + list + `","page":9999}`, "INVALID_INPUT", "page is 9999"},
		{`{"handle":"` + list + `","fields":"id"}`, "INVALID_INPUT", "fields must be"},
		{`{"handle":"` + list + `","where":"x"}`, "INVALID_INPUT", "where"},
		{`{"handle":7}`, "INVALID_INPUT", "handle must be"},
		{`{}`, "INVALID_INPUT", "handle is missing"},
		{`null`, "INVALID_INPUT", "handle is missing"},
	} {
		res := call(t, client, "result_query", tc.args)
		text := textOf(res)
		if !res.IsError || !strings.HasPrefix(text, tc.code+": ") || !strings.Contains(text, tc.says) {
			t.Errorf("%s: %s, want %s with %q", tc.args, text, tc.code, tc.says)
		}
		if strings.Contains(text, "res_") || strings.Contains(text, "passwd") {
			t.Errorf("%s: the refusal repeats the handle: %s", tc.args, text)
		}
		if tc.code == "RESULT_HANDLE_NOT_FOUND" {
			misses[text] = true
		}
	}
	if len(misses) != 1 {
		t.Errorf("misses can be told apart: %v", misses)
	}
	// What does work: a saved value, its URI, a page, fields.
	for args, want := range map[string]string{
		`{"handle":"toolplane://results/` + list + `","path":"/1/id"}`:           `9007199254740994`,
		`{"handle":"` + list + `","page":2,"limit":1,"fields":["id"],"path":""}`: `[{"id":9007199254740994}]`,
	} {
		if got := textOf(call(t, client, "result_query", args)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", args, got)
		}
	}
	o.Results = nil
	if res := call(t, connect(t, o, nil), "result_query", `{"handle":"`+list+`"}`); !strings.HasPrefix(textOf(res), "RESULT_HANDLE_NOT_FOUND: ") {
		t.Errorf("without a store: %s", textOf(res))
	}
}

func TestDocumentsAreBounded(t *testing.T) {
	var d documents
	value := json.RawMessage(rows(200 << 10))
	first := d.of("a", value)
	if d.of("a", value) != first {
		t.Error("a value that was read isn't kept")
	}
	for _, h := range []string{"b", "c", "d"} {
		d.of(h, value)
	}
	d.of("a", value) // used again, so b is the one to go
	d.of("e", value)
	if d.order.Len() != maxDocuments || len(d.byHandle) != maxDocuments || d.byHandle["b"] != nil || d.of("a", value) != first {
		t.Errorf("%d kept", d.order.Len())
	}
	d.forget("a")
	d.forget("never there")
	if d.of("a", value) == first {
		t.Error("a forgotten value is still there")
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for j := range 50 {
				h := fmt.Sprint((i + j) % 7)
				if doc := d.of(h, value); doc.Bytes() != len(value) {
					t.Error("another value")
				}
				if j%9 == 0 {
					d.forget(h)
				}
			}
		})
	}
	wg.Wait()
}

type fakeSession struct{ forgot string }

func (f *fakeSession) Reset(context.Context) (string, error) {
	s := f.forgot
	f.forgot = ""
	if s == "broken" {
		return "", fmt.Errorf("the page is gone")
	}
	return s, nil
}

func TestResetSession(t *testing.T) {
	o := testOptions(t)
	client := connect(t, o, nil)
	reset := func() (string, []string) {
		res := call(t, client, "reset_session", `{}`)
		return textOf(res), structuredOf[struct{ Forgot []string }](t, res).Forgot
	}
	if text, forgot := reset(); len(forgot) != 0 || !strings.Contains(text, "nothing to forget") || !strings.Contains(text, "fresh interpreter") {
		t.Errorf("%s %v", text, forgot)
	}
	call(t, client, "execute_code", `{"code":"numbers"}`)
	if text, forgot := reset(); len(forgot) != 1 || !strings.Contains(text, "previous value") || !strings.Contains(text, "Stored results stay") {
		t.Errorf("%s %v", text, forgot)
	}
	if got := structuredOf[outcome](t, call(t, client, "execute_code", `{"code":"previous"}`)); string(got.Value) != "null" {
		t.Errorf("_ is still %s", got.Value)
	}
	session := &fakeSession{"3 variables"}
	o.Session = session
	client = connect(t, o, nil)
	if text, forgot := reset(); len(forgot) != 1 || !strings.Contains(text, "3 variables") || strings.Contains(text, "fresh interpreter") {
		t.Errorf("%s %v", text, forgot)
	}
	session.forgot = "broken"
	if res := call(t, client, "reset_session", `{}`); !res.IsError || !strings.Contains(textOf(res), "page is gone") {
		t.Error(textOf(res))
	}
	if res := call(t, client, "reset_session", `{"hard":true}`); !res.IsError || !strings.Contains(textOf(res), "takes none") {
		t.Error(textOf(res))
	}
}
