package plugin

import "github.com/tetratelabs/wazero/api"

// The Extism kernel is the small module through whose memory guest and host exchange data. go-sdk lets a guest write
// to any address of it (store_u64 isn't checked, and a failed alloc returns the address 0, where the kernel keeps its
// own state). A kernel whose state is damaged can trap in the next call's "reset", and go-sdk then prints to the
// process's standard output, which belongs to a protocol. So the state is looked at before an instance is used again.
//
// The addresses are those of the kernel in go-sdk 1.7.1; TestKernelLayout fails should they move.
const (
	kernelInitialized = 1  // byte: 1 once in use
	kernelPosition    = 9  // u64: how much is allocated
	kernelLength      = 17 // u64: how much can be allocated without growing
	kernelFirstLength = wasmPage - 64
	kernelMinBytes    = 1 << 20 // its memory when fresh
	kernelBlockBytes  = 128     // what it adds to an allocation, rounded up
)

// kernelSound reports whether the kernel's state is as it leaves it itself.
func kernelSound(mem api.Memory) bool {
	initialized, ok := mem.ReadByte(kernelInitialized)
	if ok && initialized == 0 {
		return true // not used yet
	}
	position, ok1 := mem.ReadUint64Le(kernelPosition)
	length, ok2 := mem.ReadUint64Le(kernelLength)
	return ok && ok1 && ok2 && initialized == 1 && position <= length && length >= kernelFirstLength && length <= uint64(mem.Size())
}

// kernelFits reports whether a sound kernel can take an input of n bytes, after a reset, within the budget.
func kernelFits(mem api.Memory, b *budget, n int) bool {
	room, _ := mem.ReadUint64Le(kernelLength)
	if uint64(n)+kernelBlockBytes <= max(room, kernelFirstLength) {
		return true
	}
	pages := (uint64(n)+kernelBlockBytes)/wasmPage + 1
	return pages*wasmPage <= b.left()
}
