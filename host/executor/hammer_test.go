package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// Pages come and go, and drop out in mid-run, while runs, calls
// and changes of the catalog go on: each run gets its own answer or a clear
// error, and no call is ever made in another run's scope.
func TestHubHammer(t *testing.T) {
	registry := capability.NewRegistry()
	var foreign atomic.Int64
	dispatcher := DispatcherFunc(func(_ context.Context, from Origin, _ string, args json.RawMessage) (json.RawMessage, *capability.Error) {
		var claimed struct{ Run string }
		if err := json.Unmarshal(args, &claimed); err != nil || claimed.Run != from.RunID || from.Scope != "scope-"+from.RunID {
			foreign.Add(1)
		}
		return json.RawMessage(`"` + from.Scope + `"`), nil
	})
	e := New(Options{NoHeadless: true, MaxConcurrentRuns: 8, MaxQueuedRuns: 1000, Hub: HubOptions{Registry: registry, Dispatcher: dispatcher, MaxPages: 8, MaxPending: 8}})
	h := serveHub(t, e.hub)

	var mu sync.Mutex
	var pages []*page
	do := func(ctx context.Context, c *wsbridge.Conn, run protocol.ExecutorRunParams) (*protocol.ExecutorRunResult, error) {
		for range 3 {
			if _, err := toolCall(c, run.RunID, "plugin:demo/list", fmt.Sprintf(`{"run":%q}`, run.RunID)); err != nil {
				return nil, err
			}
			// Fails if another run has just closed the connection.
			_ = c.Notify(ctx, protocol.MethodRunOutput, fmt.Appendf(nil, `{"run_id":%q,"stream":"stdout","text":"x"}`, run.RunID))
		}
		switch rand.IntN(20) {
		case 0:
			go func() { _ = c.Close(1000, "had enough") }()
			<-ctx.Done()
			return nil, ctx.Err()
		case 1:
			return nil, protocol.Errorf(protocol.CodeInternal, "no luck")
		}
		return okResult(`"` + run.RunID + `"`), nil
	}
	for range 4 {
		_, p := h.connectPage(t, wsbridge.Options{}, do)
		pages = append(pages, p)
	}
	e.pages = &fixedSource{next: func(context.Context) (*page, error) {
		mu.Lock()
		defer mu.Unlock()
		i := rand.IntN(len(pages))
		if !pages[i].usable() {
			_, pages[i] = h.connectPage(t, wsbridge.Options{}, do)
		}
		return pages[i], nil
	}}

	stop := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				putTools(t, registry, "list", fmt.Sprintf("tool%d", i%10))
			}
		}
	})
	var answered, lost atomic.Int64
	var runs sync.WaitGroup
	for worker := range 8 {
		runs.Go(func() {
			for i := range 40 {
				id := fmt.Sprintf("run-%d-%d", worker, i)
				res := e.Run(context.Background(), Request{RunID: id, Scope: "scope-" + id, OnOutput: func(string, string) {}})
				switch {
				case res.OK && string(res.Value) == `"`+id+`"`:
					answered.Add(1)
				case !res.OK && (res.Error.Type == TypeBrowser || res.Error.Type == TypeExecutor && strings.Contains(res.Error.Message, "no luck")):
					lost.Add(1)
				case !res.OK && strings.Contains(res.Error.Message, "connection"):
					lost.Add(1) // the fake page's own call failed as another run closed the connection
				default:
					t.Errorf("%s: %s %+v", id, res.Value, res.Error)
				}
			}
		})
	}
	runs.Wait()
	close(stop)
	changes.Wait()
	t.Logf("%d runs were answered, %d lost with their pages", answered.Load(), lost.Load())
	if foreign.Load() != 0 {
		t.Errorf("%d calls were made in a foreign scope", foreign.Load())
	}
	if answered.Load() < 100 {
		t.Errorf("only %d runs were answered", answered.Load())
	}
	if s := e.Stats(); s.Running != 0 || s.Queued != 0 {
		t.Errorf("at the end %+v", s)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
