package plugin

import (
	"testing"

	extism "github.com/extism/go-sdk"
)

// TestKernelLayout holds go-sdk's kernel to the layout that kernel.go relies on: it follows the kernel's state through
// an instance's life, and sees the damage that a guest does to it.
func TestKernelLayout(t *testing.T) {
	p := open(t, newRuntime(t), Spec{})
	inst, err := p.newInstance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer inst.close()
	mem := inst.guest.Memory()
	if b, ok := mem.ReadByte(kernelInitialized); !ok || b != 0 || !kernelSound(mem) || mem.Size() != kernelMinBytes {
		t.Fatalf("a fresh kernel of %d bytes has %d at %d", mem.Size(), b, kernelInitialized)
	}
	input := make([]byte, 100_000)
	if _, err := inst.guest.SetInput(input); err != nil {
		t.Fatal(err)
	}
	position, _ := mem.ReadUint64Le(kernelPosition)
	length, _ := mem.ReadUint64Le(kernelLength)
	if b, _ := mem.ReadByte(kernelInitialized); b != 1 || position < 100_000 || position > 100_000+kernelBlockBytes || length < position || length > uint64(mem.Size()) || !kernelSound(mem) {
		t.Errorf("after an input of 100,000 bytes: initialized %d, position %d, length %d (go-sdk's kernel %s)", b, position, length, extism.RuntimeVersion())
	}
	// What fits by its own account doesn't grow it.
	size := mem.Size()
	if _, err := inst.guest.SetInput(make([]byte, length-kernelBlockBytes)); err != nil || mem.Size() != size {
		t.Errorf("an input of the kernel's length less %d grew it from %d to %d bytes (%v)", kernelBlockBytes, size, mem.Size(), err)
	}
	for at := uint32(1); at < 24; at += 8 {
		old, _ := mem.ReadUint64Le(at)
		mem.WriteUint64Le(at, 1<<60+1)
		if at > 1 && kernelSound(mem) { // the first word's low byte is still 1
			t.Errorf("damage at %d goes unnoticed", at)
		}
		mem.WriteUint64Le(at, old)
	}
}

func TestBudget(t *testing.T) {
	b := &budget{limit: 10 * wasmPage}
	kernel, guest := b.Allocate(0, 0), b.Allocate(0, 0)
	if len(kernel.Reallocate(4*wasmPage)) != 4*wasmPage || len(guest.Reallocate(5*wasmPage)) != 5*wasmPage {
		t.Fatal("memory within the budget was refused")
	}
	if b.left() != wasmPage || b.refused() {
		t.Errorf("%d bytes left, refused %v", b.left(), b.refused())
	}
	if guest.Reallocate(7*wasmPage) != nil || !b.guestRefused || b.kernelRefused {
		t.Error("the guest's growth over the budget wasn't refused")
	}
	if kernel.Reallocate(6*wasmPage) != nil || !b.kernelRefused {
		t.Error("the kernel's growth over the budget wasn't refused")
	}
	m := guest.Reallocate(6 * wasmPage)
	if len(m) != 6*wasmPage || cap(m) > 6*wasmPage || b.left() != 0 {
		t.Errorf("%d bytes, capacity %d, %d left", len(m), cap(m), b.left())
	}
	for i, c := range m {
		if c != 0 {
			t.Fatalf("byte %d of grown memory is %d", i, c)
		}
	}
}
