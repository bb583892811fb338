package join

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// askTimeout is how long a new host may take to answer the agent's initialize.
const askTimeout = 30 * time.Second

// begin passes the agent's initialize on: to another host where the first one has
// no room, or has gone since it was found.
func (b *bridge) begin(ctx, life context.Context, m message) {
	for b.backend != nil {
		b.backend.deliver(m)
		r, ok := b.backend.(*remote)
		if !ok {
			return
		}
		reason := "takes no more sessions"
		select {
		case l := <-b.lost:
			reason = fmt.Sprintf("is gone: %v", l.reason)
		default:
			if !r.full {
				return
			}
		}
		b.o.Say("the host at %s %s", b.where, reason)
		b.full = append(b.full, b.where)
		b.drop()
		b.next(ctx, life)
	}
	b.mu.Lock()
	delete(b.pending, m.id)
	b.mu.Unlock()
	b.write(failure(m.id, codeGone, "no Toolplane host can be joined or started; see the standard error of toolplane serve mcp"))
}

func (b *bridge) drop() {
	b.backend.close()
	b.backend = nil
}

// recover answers what a lost host owed, and goes on with another one.
func (b *bridge) recover(ctx, life context.Context, l loss) {
	b.mu.Lock()
	current := l.generation == b.generation
	b.mu.Unlock()
	if !current || b.backend == nil {
		return
	}
	b.o.Say("the host at %s is gone: %v", b.where, l.reason)
	b.drop()
	b.abandon(fmt.Sprintf("the Toolplane host at %s, which ran this, went away (%v)", b.where, l.reason))
	b.replace(ctx, life)
	b.resend()
}

// keep notes a request that the host hasn't seen, so that the next one gets it.
func (b *bridge) keep(generation int, m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if generation == b.generation && b.pending[m.id] {
		b.kept = append(b.kept, m)
	}
}

// isPending says whether a request of the agent's has no answer.
func (b *bridge) isPending(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pending[id]
}

// unkeep forgets a request that gets an error after all.
func (b *bridge) unkeep(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = slices.DeleteFunc(b.kept, func(k message) bool { return k.id == m.id })
}

// resend passes on what was kept, where there's somebody to pass it to.
func (b *bridge) resend() {
	b.mu.Lock()
	kept := b.kept
	b.kept = nil
	for _, m := range kept {
		b.pending[m.id] = b.backend != nil
	}
	b.mu.Unlock()
	for _, m := range kept {
		if b.backend == nil {
			b.write(failure(m.id, codeGone, "no Toolplane host can be joined or started; see the standard error of toolplane serve mcp"))
			continue
		}
		b.backend.deliver(m)
	}
}

// abandon answers the requests under way with an error, unless they were kept.
func (b *bridge) abandon(reason string) {
	b.mu.Lock()
	pending, kept := b.pending, b.kept
	b.pending, b.asked = map[string]bool{}, map[string]bool{}
	b.mu.Unlock()
	for id := range pending {
		if slices.ContainsFunc(kept, func(k message) bool { return k.id == id }) {
			continue
		}
		b.write(failure(id, codeGone, "%s. It may have been carried out in part; values saved there are gone. Call again: another host takes over", reason))
	}
}

// replace finds who serves from now on and begins there as the agent began.
func (b *bridge) replace(ctx, life context.Context) {
	for {
		b.next(ctx, life)
		if b.backend == nil || b.initialize == nil {
			return
		}
		if b.ask(ctx, "initialize", b.initialize) {
			break
		}
		b.o.Say("the host at %s doesn't take another session", b.where)
		b.full = append(b.full, b.where)
		_, own := b.backend.(*local)
		if b.drop(); own {
			return
		}
	}
	if b.ready != nil {
		b.backend.deliver(*b.ready)
	}
	if b.level != nil {
		b.ask(ctx, "level", b.level)
	}
}

// next starts with what Again returns.
func (b *bridge) next(ctx, life context.Context) {
	next, err := b.o.Again(ctx, b.where, b.full)
	if err != nil {
		b.o.Say("%v", err)
		return
	}
	b.start(life, next)
}

func (b *bridge) start(life context.Context, n Next) {
	b.mu.Lock()
	b.generation++
	generation := b.generation
	b.mu.Unlock()
	if n.Host != nil {
		b.where = n.Host.URL
		b.backend = newRemote(life, b, n.Host, generation)
		return
	}
	b.where = "this process"
	b.backend = newLocal(life, b, n.Serve)
}

// ask sends a request of the agent's once more, under an id of its own, and waits
// for the answer, which the agent doesn't see.
func (b *bridge) ask(ctx context.Context, name string, m *message) bool {
	id := fmt.Sprintf("%s%d-%s\"", ownID, b.generation, name)
	answered := make(chan message, 1)
	b.mu.Lock()
	b.own = map[string]chan message{id: answered}
	b.mu.Unlock()
	text := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, m.method, orNull(m.params))
	b.backend.deliver(message{text: text, id: id, method: m.method, params: m.params})
	patience := time.NewTimer(askTimeout)
	defer patience.Stop()
	select {
	case a := <-answered:
		var e struct {
			Error json.RawMessage `json:"error"`
		}
		return json.Unmarshal(a.text, &e) == nil && e.Error == nil
	case <-patience.C:
	case <-ctx.Done():
	}
	return false
}

func orNull(params []byte) []byte {
	if len(params) == 0 {
		return []byte("null")
	}
	return params
}
