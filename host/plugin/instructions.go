package plugin

import (
	"errors"
	"fmt"
)

// Opcodes that are told apart here; the others only have to be skipped.
const (
	opLoop               = 0x03
	opEnd                = 0x0b
	opCall               = 0x10
	opCallIndirect       = 0x11
	opReturnCall         = 0x12
	opReturnCallIndirect = 0x13
	opLocalGet           = 0x20
	opLocalTee           = 0x22
	opGlobalGet          = 0x23
	opGlobalSet          = 0x24
	opI32Const           = 0x41
	opRefFunc            = 0xd2

	// Prefixed opcodes are numbered prefix<<16 | number.
	opMemoryInit = 0xfc0008
	opMemoryCopy = 0xfc000a
	opMemoryFill = 0xfc000b
	opTableInit  = 0xfc000c
	opTableCopy  = 0xfc000e
	opTableFill  = 0xfc0011
)

// instruction reads one instruction of WebAssembly 2.0 with tail calls, and returns its opcode and, for those that name
// a function or a variable, its index. Anything else that wazero might be told to accept is an error: it couldn't be
// metered.
func (r *wasmReader) instruction() (op, index uint32) {
	op = uint32(r.byte())
	switch {
	case op >= 0x02 && op <= 0x04: // block, loop, if
		r.leb(5)
	case op == 0x0c || op == 0x0d: // br, br_if
		r.u32()
	case op == 0x0e: // br_table
		for n := r.count() + 1; n > 0 && r.err == nil; n-- {
			r.u32()
		}
	case op == opCall || op == opReturnCall || op == opRefFunc:
		index = r.u32()
	case op == opCallIndirect || op == opReturnCallIndirect:
		r.u32()
		r.u32()
	case op == 0x1c: // select with types
		r.bytes()
	case op >= opLocalGet && op <= 0x26: // variables, table.get, table.set
		index = r.u32()
	case op >= 0x28 && op <= 0x3e: // loads and stores
		r.memarg()
	case op == 0x3f || op == 0x40: // memory.size, memory.grow
		r.u32()
	case op == opI32Const:
		r.leb(5)
	case op == 0x42: // i64.const
		r.leb(10)
	case op == 0x43: // f32.const
		r.skip(4)
	case op == 0x44: // f64.const
		r.skip(8)
	case op == 0xd0: // ref.null
		r.leb(5)
	case op == 0xfc:
		op = op<<16 | r.u32()
		r.miscImmediates(op)
	case op == 0xfd:
		op = op<<16 | r.u32()
		r.vectorImmediates(op)
	case op <= 0x01, op == 0x05, op == opEnd, op == 0x0f, op == 0x1a, op == 0x1b, // unreachable … select
		op >= 0x45 && op <= 0xc4, op == 0xd1: // numbers, ref.is_null
	default:
		r.fail(fmt.Errorf("the instruction %#x isn't supported", op))
	}
	return op, index
}

func (r *wasmReader) miscImmediates(op uint32) {
	switch op & 0xffff {
	case 0, 1, 2, 3, 4, 5, 6, 7: // saturating truncations
	case 9, 11, 13, 15, 16, 17: // data.drop, memory.fill, elem.drop, table.grow, table.size, table.fill
		r.u32()
	case 8, 10, 12, 14: // memory.init, memory.copy, table.init, table.copy
		r.u32()
		r.u32()
	default:
		r.fail(fmt.Errorf("the instruction 0xfc %d isn't supported", op&0xffff))
	}
}

func (r *wasmReader) vectorImmediates(op uint32) {
	switch n := op & 0xffff; {
	case n <= 11 || n == 92 || n == 93: // loads and stores
		r.memarg()
	case n == 12 || n == 13: // v128.const, i8x16.shuffle
		r.skip(16)
	case n >= 21 && n <= 34: // lanes
		r.skip(1)
	case n >= 84 && n <= 91: // loads and stores of lanes
		r.memarg()
		r.skip(1)
	case n > 255:
		r.fail(fmt.Errorf("the instruction 0xfd %d isn't supported", n))
	}
}

func (r *wasmReader) memarg() {
	if align := r.u32(); align >= 32 {
		r.fail(errors.New("multiple memories aren't supported"))
	}
	r.uint(64)
}

// leb skips a signed number.
func (r *wasmReader) leb(maxBytes int) {
	for range maxBytes {
		if r.byte()&0x80 == 0 {
			return
		}
	}
	r.fail(errors.New("a number is too long"))
}

func (r *wasmReader) skip(n int) {
	if r.err == nil && n > len(r.b)-r.at {
		r.fail(errTruncated)
		return
	}
	if r.err == nil {
		r.at += n
	}
}
