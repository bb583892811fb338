package wsbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/toolplane/toolplane/wsbridge"
)

func TestNotificationsArriveInOrder(t *testing.T) {
	const n = 500
	arrived := make(chan string, n)
	on := func(_ context.Context, _ *wsbridge.Conn, method string, params json.RawMessage) {
		arrived <- method + string(params)
	}
	server, client := pair(t, wsbridge.Options{OnNotification: on}, wsbridge.Options{OnNotification: on})
	for name, c := range map[string]*wsbridge.Conn{"server": server, "client": client} {
		t.Run(name, func(t *testing.T) {
			for i := range n {
				if err := c.Notify(testContext(t), "note", fmt.Appendf(nil, `{"i": %d}`, i)); err != nil {
					t.Fatal(err)
				}
			}
			for i := range n {
				if got, want := <-arrived, fmt.Sprintf(`note{"i": %d}`, i); got != want {
					t.Fatalf("got %s, want %s", got, want)
				}
			}
		})
	}
}

// Output that the peer sent before its answer has been handled when Call returns.
func TestCallReturnsAfterTheNotificationsBeforeItsAnswer(t *testing.T) {
	const n = 20
	seen := 0 // not locked: the race detector checks the promise too
	_, client := pair(t, wsbridge.Options{Handler: func(ctx context.Context, c *wsbridge.Conn, _ string, _ json.RawMessage) (json.RawMessage, error) {
		for range n {
			if err := c.Notify(ctx, "run.output", nil); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}}, wsbridge.Options{OnNotification: func(context.Context, *wsbridge.Conn, string, json.RawMessage) {
		time.Sleep(time.Millisecond)
		seen++
	}})
	for i := 1; i <= 3; i++ {
		if _, err := client.Call(testContext(t), "run", nil); err != nil {
			t.Fatal(err)
		}
		if seen != n*i {
			t.Fatalf("call %d returned after %d notifications, want %d", i, seen, n*i)
		}
	}
}

// A notification handler may call back with its context: such a call doesn't wait for the notification it is part of.
func TestNotificationHandlersMayCall(t *testing.T) {
	results := make(chan error, 1)
	server, _ := pair(t, wsbridge.Options{Handler: echo}, wsbridge.Options{OnNotification: func(ctx context.Context, c *wsbridge.Conn, _ string, _ json.RawMessage) {
		_, err := c.Call(ctx, "echo", nil)
		results <- err
	}})
	if err := server.Notify(testContext(t), "note", nil); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-results:
		if err != nil {
			t.Error(err)
		}
	case <-testContext(t).Done():
		t.Fatal("the call waits for its own notification")
	}
}

// A call whose context ends doesn't wait for a notification handler that hangs.
func TestHangingNotificationHandler(t *testing.T) {
	release := make(chan struct{})
	_, client := pair(t, wsbridge.Options{Handler: func(ctx context.Context, c *wsbridge.Conn, _ string, _ json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`7`), c.Notify(ctx, "note", nil)
	}}, wsbridge.Options{OnNotification: func(context.Context, *wsbridge.Conn, string, json.RawMessage) { <-release }})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	got, err := client.Call(ctx, "run", nil)
	if err != nil || string(got) != "7" {
		t.Errorf("got %s, %v: the answer was there", got, err)
	}
	close(release)
}

func TestNotificationHandlerPanics(t *testing.T) {
	seen := make(chan string, 2)
	server, client := pair(t, wsbridge.Options{Handler: echo}, wsbridge.Options{OnNotification: func(_ context.Context, _ *wsbridge.Conn, method string, _ json.RawMessage) {
		seen <- method
		panic("boom")
	}})
	for _, method := range []string{"one", "two"} {
		if err := server.Notify(testContext(t), method, nil); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != method {
			t.Errorf("got %s", got)
		}
	}
	usable(t, client)
}
