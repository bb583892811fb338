package plugin

import (
	"errors"
	"fmt"
	"slices"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero/api"
)

// The Extism kernel is the small module through whose memory guest and host exchange data.
const (
	kernelMinBytes = 1 << 20                      // its memory when fresh
	kernelFirst    = wasmPage - 64                // what it hands out of that before it grows
	kernelBlock    = 128                          // more than it adds to an allocation
	kernelUnused   = kernelMinBytes - kernelFirst // what of its memory it never hands out
)

// maxBuffers bounds how many buffers a guest may have in one call. The list of them is on top of its memory.
const maxBuffers = 1 << 18

// buffers are those pieces of the kernel's memory that the guest may write to: what it or the host has allocated in the
// current call and not freed. They are used by the goroutine that runs the instance only.
type buffers struct {
	blocks []block // by ascending start
	last   block   // the one that was written to last: most writes follow another
}

type block struct{ from, to uint64 }

func (b *buffers) begin() { b.blocks, b.last = b.blocks[:0], block{} }

// holds reports whether n bytes from an address on lie in one buffer.
func (b *buffers) holds(at, n uint64) bool {
	if at >= b.last.from && at < b.last.to && n <= b.last.to-at {
		return true
	}
	i, found := slices.BinarySearchFunc(b.blocks, at, func(x block, at uint64) int {
		switch {
		case x.from > at:
			return 1
		case x.to <= at:
			return -1
		}
		return 0
	})
	if found && n <= b.blocks[i].to-at {
		b.last = b.blocks[i]
		return true
	}
	return false
}

// alloc makes a buffer. Unlike the kernel, which answers 0 and which no guest checks, it fails when there is no memory.
func (b *buffers) alloc(inst *instance, cp *extism.CurrentPlugin, n uint64) (uint64, error) {
	if n == 0 {
		return 0, nil
	}
	if len(b.blocks) >= maxBuffers {
		return 0, fmt.Errorf("the plugin has %d buffers at the same time", maxBuffers)
	}
	if n > inst.memory.limit {
		inst.memory.kernelRefused = true
		return 0, errNoMemory
	}
	at, err := cp.AllocWithContext(inst.ctx, n)
	if err != nil {
		return 0, err
	}
	if at == 0 {
		inst.memory.kernelRefused = true
		return 0, errNoMemory
	}
	i, _ := slices.BinarySearchFunc(b.blocks, at, func(x block, at uint64) int {
		if x.from < at {
			return -1
		}
		return 1
	})
	b.blocks = slices.Insert(b.blocks, i, block{at, at + n})
	return at, nil
}

// free gives a buffer back. What isn't a buffer of the guest's is left alone.
func (b *buffers) free(inst *instance, cp *extism.CurrentPlugin, at uint64) error {
	i := slices.IndexFunc(b.blocks, func(x block) bool { return x.from == at })
	if i < 0 {
		return nil
	}
	b.blocks = slices.Delete(b.blocks, i, i+1)
	b.last = block{}
	return cp.FreeWithContext(inst.ctx, at)
}

var errNoMemory = errors.New("no memory for a buffer")

// kernelFits reports whether an input of n bytes, which is put into the kernel after a reset, fits into the budget.
func kernelFits(mem api.Memory, b *budget, n int) bool {
	if uint64(n)+kernelBlock <= uint64(mem.Size())-kernelUnused {
		return true
	}
	pages := (uint64(n)+kernelBlock)/wasmPage + 1
	return pages*wasmPage <= b.left()
}
