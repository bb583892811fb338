package host

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host/token"
)

// TestMCPSessionBound: more than the limit are refused with a way out, and an end
// makes room.
func TestMCPSessionBound(t *testing.T) {
	m := startMCP(t, func(c *config.Config) { c.MCP.MaxSessions = 2 })
	first := m.begin(t, nil)
	m.begin(t, nil)
	status, head, text := m.raw(t, "POST", initialize, nil)
	if status != 503 || head.Get("Retry-After") == "" || !strings.Contains(text, "2 MCP sessions are open, which is the limit ([mcp] max_sessions)") {
		t.Errorf("%d %s", status, text)
	}
	if !json.Valid([]byte(text)) {
		t.Errorf("the refusal isn't JSON: %s", text)
	}
	if _, err := m.tryConnect(t, testSecret); err == nil || !strings.Contains(err.Error(), "Service Unavailable") {
		t.Errorf("the SDK's client says: %v", err)
	}
	if status, _, _ := m.raw(t, "DELETE", "", map[string]string{"Mcp-Session-Id": first}); status != 204 {
		t.Error("DELETE", status)
	}
	m.begin(t, nil)
	// What isn't an initialize holds no place.
	if status, _, _ := m.raw(t, "DELETE", "", map[string]string{"Mcp-Session-Id": m.anySession(t)}); status != 204 {
		t.Error("DELETE", status)
	}
	for _, body := range []string{"", "garbage", "null", "[]", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`} {
		m.raw(t, "POST", body, nil)
	}
	eventually(t, "they end", func() bool { return m.mcp.Sessions() == 1 })
}

func (m *mcpHost) anySession(t *testing.T) string {
	t.Helper()
	ids := m.mcp.IDs()
	if len(ids) == 0 {
		t.Fatal("no session")
	}
	return ids[0]
}

// Test200Sessions: many at once, each with values of its own, which no other one
// can read, and whose handles are to it what unknown ones are.
func Test200Sessions(t *testing.T) {
	const sessions, values = 200, 2
	m := startMCP(t, nil)
	second, _, err := m.tokens.Create("second", token.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all [sessions]*mcp.ClientSession
	var handles [sessions][values]string
	each := func(do func(i int) error) {
		t.Helper()
		var wg sync.WaitGroup
		for i := range sessions {
			wg.Go(func() {
				if err := do(i); err != nil {
					t.Errorf("session %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			t.FailNow()
		}
	}
	secrets := []string{testSecret, second.Reveal()}
	each(func(i int) (err error) {
		all[i], err = m.tryConnect(t, secrets[i%2])
		return err
	})
	if m.mcp.Sessions() != sessions {
		t.Fatalf("%d sessions", m.mcp.Sessions())
	}
	each(func(i int) (err error) {
		for k := range values {
			if handles[i][k], err = save(t.Context(), all[i], fmt.Sprintf("of %d: %d", i, k)); err != nil {
				return err
			}
		}
		return nil
	})
	_, unknown, err := load(t.Context(), all[0], "res_"+strings.Repeat("A", len(handles[0][0])-4))
	if err != nil || !strings.HasPrefix(unknown, "ValueError/ResultStoreError: ") {
		t.Fatalf("unknown handle: %s %v", unknown, err)
	}
	each(func(i int) error {
		for k := range values {
			got, failure, err := load(t.Context(), all[i], handles[i][k])
			if want := fmt.Sprintf(`"of %d: %d"`, i, k); err != nil || got != want {
				return fmt.Errorf("its own value: %s %s %w", got, failure, err)
			}
			// Of a neighbor, with the same token and with the other one.
			for _, other := range []int{(i + 1) % sessions, (i + 2) % sessions} {
				got, failure, err := load(t.Context(), all[i], handles[other][k])
				if err != nil || got != "" || failure != unknown {
					return fmt.Errorf("reads of %d: %q, says %q, of an unknown handle %q: %w", other, got, failure, unknown, err)
				}
			}
		}
		return nil
	})
	each(func(i int) error { return all[i].Close() })
	eventually(t, "all data is dropped", func() bool { return m.mcp.Sessions() == 0 && m.results.Stats().Entries == 0 })
}
