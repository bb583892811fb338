package capability

import (
	"encoding/json"
	"sort"
	"sync"
)

// Registry holds the capabilities of every provider. It is safe for concurrent use.
type Registry struct {
	mu       sync.RWMutex
	entries  map[string]entry
	revision uint64
	subs     map[int]func()
	nextSub  int
}

type entry struct {
	cap      Capability
	provider Provider
}

// Binding is how one capability appears in a snippet's globals.
type Binding struct {
	Name    string   `json:"name"`
	Flat    string   `json:"flat,omitempty"`  // "" when left out
	Scope   string   `json:"scope,omitempty"` // "" when left out
	Tool    string   `json:"tool,omitempty"`
	Params  []string `json:"params"`
	Call    string   `json:"call"`
	Problem string   `json:"problem,omitempty"` // why an alias was left out
}

// Hit is one search result.
type Hit struct {
	Capability Capability
	Score      float64
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{entries: map[string]entry{}, subs: map[int]func(){}}
}

// Put replaces the capabilities of one provider.
func (r *Registry) Put(p Provider, caps []Capability) error {
	r.mu.Lock()
	for n, e := range r.entries {
		if e.provider.ID() == p.ID() {
			delete(r.entries, n)
		}
	}
	for _, c := range caps {
		r.entries[c.Name] = entry{c, p}
	}
	r.mu.Unlock()
	r.changed()
	return nil
}

// Remove takes a provider's capabilities away.
func (r *Registry) Remove(id string) {
	r.mu.Lock()
	for n, e := range r.entries {
		if e.provider.ID() == id {
			delete(r.entries, n)
		}
	}
	r.mu.Unlock()
	r.changed()
}

func (r *Registry) changed() {
	r.mu.Lock()
	r.revision++
	subs := make([]func(), 0, len(r.subs))
	for _, f := range r.subs {
		subs = append(subs, f)
	}
	r.mu.Unlock()
	for _, f := range subs {
		f()
	}
}

// Lookup finds a capability by its canonical name.
func (r *Registry) Lookup(name string) (Capability, Provider, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e, ok := r.entries[name]; ok {
		return e.cap, e.provider, nil
	}
	return Capability{}, nil, Errorf(LookupError, "UnknownCapabilityError", "unknown capability %q", name)
}

// List returns every capability that isn't hidden, sorted by name.
func (r *Registry) List() []Capability {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []Capability
	for _, e := range r.entries {
		if !e.cap.Hidden {
			out = append(out, e.cap)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Search ranks capabilities by how well they fit a query.
func (r *Registry) Search(query string, limit int) []Hit { return nil }

// Nearest returns the names that look most like name.
func (r *Registry) Nearest(name string, n int) []string { return nil }

// Bindings returns the aliases of every listed capability.
func (r *Registry) Bindings() []Binding { return nil }

// Revision counts changes.
func (r *Registry) Revision() uint64 { r.mu.RLock(); defer r.mu.RUnlock(); return r.revision }

// Subscribe calls f after each change until cancel is called.
func (r *Registry) Subscribe(f func()) (cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.nextSub
	r.nextSub++
	r.subs[id] = f
	return func() { r.mu.Lock(); defer r.mu.Unlock(); delete(r.subs, id) }
}

// ValidateArguments checks arguments against a capability's input schema.
func (r *Registry) ValidateArguments(name string, args json.RawMessage) error { return nil }

// CallShape shows how a snippet calls the capability.
func (c Capability) CallShape() string { return "" }
