package plugin

import "github.com/tetratelabs/wazero/experimental"

// budget is the memory cap of one instance. It covers the guest's own memory and that of the Extism kernel, through
// which guest and host exchange data, together, and it remembers whether it refused to grow either: that is how a
// guest's death is told to be a lack of memory, whatever language it was written in.
//
// It is used by the goroutine that runs the instance only.
type budget struct {
	limit, used uint64
	memories    int

	kernelRefused bool // the kernel couldn't grow: input, output or a buffer didn't fit
	guestRefused  bool // the guest couldn't grow
}

// Allocate implements experimental.MemoryAllocator. go-sdk instantiates the kernel first.
func (b *budget) Allocate(_, _ uint64) experimental.LinearMemory {
	b.memories++
	return &linearMemory{budget: b, kernel: b.memories == 1}
}

func (b *budget) left() uint64 { return b.limit - b.used }

func (b *budget) refused() bool { return b.kernelRefused || b.guestRefused }

// linearMemory is a Go slice. Free leaves it to the garbage collector: a guest that can't be interrupted may still be
// running in it.
type linearMemory struct {
	budget *budget
	kernel bool
	buf    []byte
}

// Reallocate implements experimental.LinearMemory.
func (m *linearMemory) Reallocate(size uint64) []byte {
	have := uint64(len(m.buf))
	if size <= have {
		m.buf = m.buf[:size]
		m.budget.used -= have - size
		return m.buf
	}
	if size-have > m.budget.left() {
		if m.kernel {
			m.budget.kernelRefused = true
		} else {
			m.budget.guestRefused = true
		}
		return nil
	}
	m.budget.used += size - have
	if size > uint64(cap(m.buf)) {
		// Some room to grow, so that growing page by page doesn't copy each time, but never beyond the budget.
		grown := make([]byte, size, size+min(size/4, m.budget.left()))
		copy(grown, m.buf)
		m.buf = grown
	}
	m.buf = m.buf[:size]
	return m.buf
}

// Free implements experimental.LinearMemory.
func (m *linearMemory) Free() {}
