package wsbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
	"github.com/toolplane/toolplane/wsbridge/protocol"
)

// Both ends call each other at once, some calls are cancelled at any point of their life, notifications run beside them,
// and in the end one side closes in the middle of it all. Each call must get its own answer or a reason.
func TestHammer(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) { hammer(t, round) })
	}
}

func hammer(t *testing.T, round int) {
	const goroutines, callsEach = 16, 60
	var answered, cancelled, refused, closed, notes atomic.Int64
	o := wsbridge.Options{
		MaxInFlight: goroutines * 2, WriteQueue: 4, NotifyQueue: goroutines * callsEach * 2, PingInterval: -1,
		Handler:        hammerHandler,
		OnNotification: func(context.Context, *wsbridge.Conn, string, json.RawMessage) { notes.Add(1) },
	}
	server, client := pair(t, o, o)
	ctx := testContext(t)
	var work sync.WaitGroup
	for side, c := range map[string]*wsbridge.Conn{"server": server, "client": client} {
		for g := range goroutines {
			work.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(g)))
				for i := range callsEach {
					if r.IntN(4) == 0 {
						if err := c.Notify(ctx, "note", nil); err != nil && !errors.Is(err, wsbridge.ErrClosed) {
							t.Errorf("notify: %v", err)
						}
					}
					callCtx, cancel := context.WithCancel(ctx)
					if r.IntN(3) == 0 {
						time.AfterFunc(time.Duration(r.IntN(300))*time.Microsecond, cancel)
					}
					params := fmt.Appendf(nil, `{"who":"%s-%d-%d","pause_us":%d,"pad":"%*s"}`, side, g, i, r.IntN(200), r.IntN(3000), "")
					got, err := c.CallWait(callCtx, time.Duration(r.IntN(2))*time.Millisecond, "echo", params)
					cancel()
					switch {
					case err == nil && string(got) == string(params):
						answered.Add(1)
					case err == nil:
						t.Errorf("wrong answer %.80s to %.80s", got, params)
					case errors.Is(err, context.Canceled), errors.Is(err, &protocol.Error{Code: protocol.CodeCancelled}):
						cancelled.Add(1)
					case errors.Is(err, &protocol.Error{Code: protocol.CodeBusy}):
						refused.Add(1)
					case errors.Is(err, wsbridge.ErrClosed):
						closed.Add(1)
						return
					default:
						t.Errorf("call: %v", err)
					}
				}
			})
		}
	}
	if round%2 == 1 { // close in the middle
		waitFor(t, func() bool { return answered.Load() > goroutines*callsEach/4 })
		closer := []*wsbridge.Conn{server, client}[round/2%2]
		if err := closer.Close(1000, "hammer"); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	work.Wait()
	if answered.Load() == 0 || round%2 == 0 && (closed.Load() != 0 || cancelled.Load() == 0) {
		t.Errorf("%d answered, %d cancelled, %d refused, %d closed", answered.Load(), cancelled.Load(), refused.Load(), closed.Load())
	}
	if round%2 == 0 {
		waitFor(t, func() bool { return server.Pending()+client.Pending()+server.Incoming()+client.Incoming() == 0 })
		for _, c := range []*wsbridge.Conn{server, client} {
			if got, err := c.Call(ctx, "echo", json.RawMessage(`{"who":"last","pause_us":0,"pad":""}`)); err != nil {
				t.Errorf("unusable afterwards: %s, %v", got, err)
			}
		}
	}
}

func hammerHandler(ctx context.Context, _ *wsbridge.Conn, _ string, params json.RawMessage) (json.RawMessage, error) {
	var p struct {
		Who   string `json:"who"`
		Pause int64  `json:"pause_us"`
		Pad   string `json:"pad"`
	}
	if err := protocol.DecodeParams(params, &p); err != nil {
		return nil, err
	}
	if p.Pause > 100 { // some answer at once
		select {
		case <-time.After(time.Duration(p.Pause) * time.Microsecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return params, nil
}

// Connections come and go while others work; nothing of one shows in another.
func TestHammerConnections(t *testing.T) {
	var conns sync.WaitGroup
	for i := range 20 {
		conns.Go(func() {
			server, client := pair(t, wsbridge.Options{Handler: echo}, wsbridge.Options{Handler: echo})
			var calls sync.WaitGroup
			for j := range 20 {
				for _, c := range []*wsbridge.Conn{server, client} {
					calls.Go(func() {
						params := fmt.Sprintf(`{"conn":%d,"call":%d}`, i, j)
						got, err := c.Call(testContext(t), "echo", json.RawMessage(params))
						if err != nil || string(got) != params {
							t.Errorf("sent %s, got %s, %v", params, got, err)
						}
					})
				}
			}
			calls.Wait()
			if i%2 == 0 {
				client.CutNetwork()
			} else {
				if err := server.Close(1000, "done"); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
		})
	}
	conns.Wait()
}
