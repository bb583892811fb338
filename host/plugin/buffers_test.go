package plugin

import (
	"bytes"
	"testing"

	extism "github.com/extism/go-sdk"
)

// TestKernelFits holds go-sdk's kernel to what kernelFits says of it, through an instance's life.
func TestKernelFits(t *testing.T) {
	p := open(t, newRuntime(t), Spec{MemoryMB: 16})
	inst, err := p.newInstance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer inst.close()
	mem := inst.guest.Memory()
	if mem.Size() != kernelMinBytes {
		t.Fatalf("a fresh kernel has %d bytes of memory (go-sdk's kernel %s)", mem.Size(), extism.RuntimeVersion())
	}
	for _, n := range []int{0, 1, 65_000, kernelFirst - kernelBlock, kernelFirst, 100_000, 1 << 20, 1<<20 + 200_000} {
		room := int(mem.Size()) - kernelUnused - kernelBlock
		size := mem.Size()
		if !kernelFits(mem, &inst.memory, n) {
			t.Errorf("%d bytes don't fit into %d of %d", n, inst.memory.used, inst.memory.limit)
		}
		at, err := inst.guest.SetInput(bytes.Repeat([]byte{1}, n))
		if err != nil || n > 0 && at == 0 {
			t.Errorf("%d bytes: address %d, %v", n, at, err)
		}
		if n <= room && mem.Size() != size {
			t.Errorf("%d bytes should have fit into the kernel's %d, but it grew", n, room)
		}
	}
	for n := 1 << 20; inst.memory.left() > 0; n += 100_000 {
		fits := kernelFits(mem, &inst.memory, n)
		if fits {
			if at, err := inst.guest.SetInput(make([]byte, n)); err != nil || at == 0 || inst.memory.refused() {
				t.Fatalf("%d bytes should have fit: address %d, %v", n, at, err)
			}
			continue
		}
		if n < 4<<20 {
			t.Errorf("%d bytes don't fit into a budget of %d with %d left", n, inst.memory.limit, inst.memory.left())
		}
		break
	}
}

func TestBuffers(t *testing.T) {
	b := buffers{blocks: []block{{100, 110}, {200, 208}, {300, 301}}}
	for _, tc := range []struct {
		at, n uint64
		want  bool
	}{
		{100, 8, true}, {102, 8, true}, {103, 8, false}, {110, 1, false}, {99, 1, false}, {200, 8, true}, {201, 8, false},
		{300, 1, true}, {300, 8, false}, {0, 8, false}, {1<<64 - 1, 8, false}, {1<<64 - 8, 8, false}, {207, 1, true}, {109, 1, true},
	} {
		if got := b.holds(tc.at, tc.n); got != tc.want {
			t.Errorf("%d bytes at %d: %v, want %v", tc.n, tc.at, got, tc.want)
		}
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
