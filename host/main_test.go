package host

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolplane/toolplane/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logBuffer keeps what is logged, at every level.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// testConfig is the defaults on a free port, without a browser.
func testConfig() *config.Config {
	cfg := config.Default()
	cfg.Server.Listen = "127.0.0.1:0"
	cfg.Executor.Headless = false
	return cfg
}

// testPage stands in for the executor page, which needs a build.
var testPage = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = w.Write([]byte("page " + r.URL.Path))
})

func startHost(t *testing.T, cfg *config.Config, logs *logBuffer) *Host {
	t.Helper()
	h, err := New(t.Context(), cfg, Options{Version: "1.2.3", Logger: logs.logger(), Page: testPage})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}
