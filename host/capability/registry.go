package capability

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// UnknownCapabilityError is the type of the errors for names that nothing has.
const UnknownCapabilityError = "UnknownCapabilityError"

// Registry holds the capabilities of all providers. All methods may be called at
// the same time from any goroutine; readers never wait for writers.
type Registry struct {
	current atomic.Pointer[catalog]

	mu          sync.Mutex // orders writers, and guards what follows
	subscribers []*subscriber
}

type subscriber struct{ changed func() }

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	r := &Registry{}
	r.current.Store(&catalog{})
	return r
}

// Put replaces what a provider offers. A capability that can't be taken, such as
// one whose schema isn't valid, is left out, and the others stay; then the error
// is a *ProblemsError that says which and why. Only a provider whose ID isn't a
// name changes nothing.
func (r *Registry) Put(p Provider, caps []Capability) error {
	id := p.ID()
	if n, err := ParseName(id); err != nil || n.Tool != "" {
		return fmt.Errorf("provider ID %q isn't of the form kind:name, such as plugin:issues", clip(id, 80))
	}
	offer := admit(p, id, caps) // compiles schemas, so outside the lock
	r.change(func(offers map[string]*offering) { offers[id] = offer })
	return offer.err(id)
}

// Remove takes away what a provider offers. An unknown ID is no error.
func (r *Registry) Remove(id string) {
	r.change(func(offers map[string]*offering) { delete(offers, id) })
}

func (r *Registry) change(edit func(map[string]*offering)) {
	r.mu.Lock()
	before := r.current.Load()
	offers := maps.Clone(before.offers)
	if offers == nil {
		offers = map[string]*offering{}
	}
	edit(offers)
	r.current.Store(newCatalog(before.revision+1, offers))
	subscribers := slices.Clone(r.subscribers)
	r.mu.Unlock()
	for _, s := range subscribers {
		s.changed()
	}
}

// Subscribe calls changed after each change until cancel is called. It is called
// on the goroutine that made the change, so it must not block; it may use the
// registry. A call that began before cancel may end after it.
func (r *Registry) Subscribe(changed func()) (cancel func()) {
	s := &subscriber{changed}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscribers = append(r.subscribers, s)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.subscribers = slices.DeleteFunc(slices.Clone(r.subscribers), func(other *subscriber) bool { return other == s })
	}
}

// Revision grows with each change. It begins at 0.
func (r *Registry) Revision() uint64 { return r.current.Load().revision }

// Lookup finds a capability by its canonical name, hidden ones included. The
// error is an *Error that raises LookupError; its message names what looks alike
// and how to find more.
func (r *Registry) Lookup(name string) (Capability, Provider, error) {
	c := r.current.Load()
	if e := c.entries[name]; e != nil {
		return e.capability, e.provider, nil
	}
	return Capability{}, nil, c.unknown(name)
}

// ValidateArguments checks arguments, an object's JSON text, against the input
// schema of a capability. The error is an *Error: LookupError as for Lookup, or
// ValueError with the first few things that don't fit, each with its path, and
// how to call the capability.
//
// Of two equal names in an object the last is checked.
func (r *Registry) ValidateArguments(name string, args json.RawMessage) error {
	c := r.current.Load()
	e := c.entries[name]
	if e == nil {
		return c.unknown(name)
	}
	return e.validate(args, func() string { return c.call(e.capability) })
}

// List returns every capability that isn't hidden, sorted by name.
func (r *Registry) List() []Capability {
	entries := r.current.Load().view().entries
	out := make([]Capability, len(entries))
	for i, e := range entries {
		out[i] = e.capability
	}
	return out
}

// Bindings returns the Python aliases of every capability in List, in its order.
func (r *Registry) Bindings() []Binding { return slices.Clone(r.current.Load().view().bindings) }

// Binding returns the aliases of one capability. ok is false for a name that
// isn't in List.
func (r *Registry) Binding(name string) (b Binding, ok bool) {
	v := r.current.Load().view()
	if i, ok := v.position[name]; ok {
		return v.bindings[i], true
	}
	return Binding{}, false
}

// Nearest returns at most n canonical names that name may be a misspelling of,
// an alias of, or a part of, the likeliest first.
func (r *Registry) Nearest(name string, n int) []string {
	return nearest(name, r.current.Load().view().entries, n)
}

// Problems lists what Put left out or warned about, by provider and name.
func (r *Registry) Problems() []Problem {
	var out []Problem
	offers := r.current.Load().offers
	for _, id := range slices.Sorted(maps.Keys(offers)) {
		out = append(out, offers[id].problems...)
	}
	return out
}

// catalog is the state of a registry between two changes. It is immutable; what
// is derived from it is worked out when it is first asked for.
type catalog struct {
	revision uint64
	offers   map[string]*offering // by provider ID
	entries  map[string]*entry    // by canonical name

	once  sync.Once
	views view
	index func() *index
}

// view is what readers who don't know a name see: no hidden capabilities, sorted
// by name.
type view struct {
	entries  []*entry
	bindings []Binding
	position map[string]int // in both
}

func newCatalog(revision uint64, offers map[string]*offering) *catalog {
	c := &catalog{revision: revision, offers: offers, entries: map[string]*entry{}}
	for _, o := range offers {
		for _, e := range o.entries {
			// An ID is the prefix of its names up to the slash, so that names of two
			// providers never meet.
			c.entries[e.capability.Name] = e
		}
	}
	return c
}

func (c *catalog) view() *view {
	c.once.Do(func() {
		v := &c.views
		for _, e := range c.entries {
			if !e.capability.Hidden {
				v.entries = append(v.entries, e)
			}
		}
		slices.SortFunc(v.entries, func(a, b *entry) int { return strings.Compare(a.capability.Name, b.capability.Name) })
		v.bindings = bind(v.entries)
		v.position = make(map[string]int, len(v.entries))
		for i, e := range v.entries {
			v.position[e.capability.Name] = i
		}
		c.index = sync.OnceValue(func() *index { return newIndex(v.entries) })
	})
	return &c.views
}

// call is how to call a capability in this catalog.
func (c *catalog) call(each Capability) string {
	v := c.view()
	if i, ok := v.position[each.Name]; ok {
		return v.bindings[i].Call
	}
	return each.CallShape()
}

// unknown makes the error for a name that nothing has.
func (c *catalog) unknown(name string) *Error {
	fail := func(format string, a ...any) *Error {
		return Errorf(LookupError, UnknownCapabilityError, "unknown capability %s%s", quote(clip(name, 120)), fmt.Sprintf(format, a...))
	}
	for _, o := range c.offers {
		for _, p := range o.problems {
			if p.LeftOut && p.Name == name {
				return fail(": it was left out, because %s", p.Message)
			}
		}
	}
	v := c.view()
	if len(v.entries) == 0 {
		return fail(": no capability is available; enable a plugin in toolplane.toml ([plugins.NAME])")
	}
	search := fmt.Sprintf("search_capabilities finds all %d there are", len(v.entries))
	if len(v.entries) == 1 {
		search = "search_capabilities shows the only one there is"
	}
	names := nearest(name, v.entries, 3)
	if len(names) == 0 {
		return fail(": nothing has a name like it; %s", search)
	}
	others := ""
	if len(names) > 1 {
		others = " Similar, too: " + strings.Join(names[1:], ", ") + "."
	}
	return fail(": did you mean %s? Call it as: %s.%s For more, %s", names[0], v.bindings[v.position[names[0]]].Call, others, search)
}
