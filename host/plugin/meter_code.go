package plugin

import (
	"encoding/binary"
	"errors"
)

// survey is what has to be known of a function before it is rewritten.
type survey struct {
	loops map[int]int // where each loop's body starts → how long it is
	bulk  bool
	calls bool
	first int // the length of the loop that each run enters before it branches or calls; 0: there is none
}

func surveyCode(r wasmReader) (survey, error) {
	s := survey{loops: map[int]int{}}
	var open []int // of each block, where its body starts if it is a loop, else -1
	straight, first := true, -1
	for r.err == nil {
		op, _ := r.instruction()
		switch op {
		case 0x02: // block
			open = append(open, -1)
		case 0x04: // if
			open = append(open, -1)
			straight = false
		case opLoop:
			open = append(open, r.at)
			if straight && first < 0 {
				first = r.at
			}
		case opEnd:
			if len(open) == 0 {
				s.first = s.loops[first]
				return s, r.err
			}
			if from := open[len(open)-1]; from >= 0 {
				s.loops[from] = r.at - from
			}
			open = open[:len(open)-1]
		case opCall, opReturnCall, opCallIndirect, opReturnCallIndirect:
			s.calls = true
			straight = false
		case 0x00, 0x05, 0x0c, 0x0d, 0x0e, 0x0f: // unreachable, else, br, br_if, br_table, return
			straight = false
		case opMemoryInit, opMemoryCopy, opMemoryFill, opTableInit, opTableCopy, opTableFill:
			s.bulk = true
		}
	}
	return s, r.err
}

// function rewrites one function's locals and code.
func (im *meter) function(out, body []byte, params int) []byte {
	r := wasmReader{b: body}
	groups := r.count()
	locals := uint64(params)
	from := r.at
	for range groups {
		locals += uint64(r.u32())
		r.byte()
	}
	declared := body[from:min(r.at, len(body))]
	if r.err != nil || locals > 50_000 {
		im.note(errors.New("a function's locals can't be read"))
		return out
	}
	s, err := surveyCode(r)
	if err != nil {
		im.note(err)
		return out
	}
	if s.bulk {
		out = binary.AppendUvarint(out, uint64(groups)+1)
		out = append(append(out, declared...), 1, 0x7f) // the size of a bulk operation: an i32
	} else {
		out = append(binary.AppendUvarint(out, uint64(groups)), declared...)
	}
	// A loop that is the whole function, as in most of Go's, counts for it.
	if size := len(body) - r.at; size-s.first > meterFree || s.first == 0 && (s.calls || s.bulk || len(s.loops) > 0) {
		out = im.count(out, codeUnits(size))
	}
	for r.at < len(body) && r.err == nil {
		at := r.at
		op, index := r.instruction()
		switch op {
		case opGlobalGet, opGlobalSet:
			if index >= im.counter { // or the module could refill its own counter
				im.note(errors.New("a function uses a global that the module doesn't have"))
			}
			out = append(out, body[at:r.at]...)
		case opCallIndirect, opReturnCallIndirect:
			out = append(im.count(out, meterIndirectCall), body[at:r.at]...)
		case opCall, opReturnCall, opRefFunc:
			if op != opRefFunc && index < im.check {
				out = im.count(out, meterHostCall)
			}
			out = binary.AppendUvarint(append(out, byte(op)), im.moved(index))
		case opLoop:
			out = im.count(append(out, body[at:r.at]...), codeUnits(s.loops[r.at]))
		case opMemoryInit, opMemoryCopy, opMemoryFill, opTableInit, opTableCopy, opTableFill:
			out = append(im.countSize(out, locals), body[at:r.at]...)
		default:
			out = append(out, body[at:r.at]...)
		}
	}
	im.note(r.err)
	return out
}

// codeUnits is what running through so many bytes of code costs.
func codeUnits(size int) int64 { return int64(1 + size/meterUnit) }

// count takes units off the counter.
func (im *meter) count(out []byte, units int64) []byte {
	out = im.counterOp(out, opGlobalGet)
	out = appendSigned(append(out, opI32Const), -units)
	out = append(out, 0x6a) // i32.add
	return im.checkpoint(out)
}

// countSize takes the size of a bulk operation, which is on top of the stack, off the counter.
func (im *meter) countSize(out []byte, local uint64) []byte {
	out = binary.AppendUvarint(append(out, opLocalTee), local)
	out = im.counterOp(out, opGlobalGet)
	out = binary.AppendUvarint(append(out, opLocalGet), local)
	out = append(out, opI32Const, 5, 0x76, 0x6b) // >> 5, subtract
	return im.checkpoint(out)
}

// checkpoint sets the counter to the value on the stack, and asks the host if that is used up.
func (im *meter) checkpoint(out []byte) []byte {
	out = im.counterOp(out, opGlobalSet)
	out = im.counterOp(out, opGlobalGet)
	out = append(out, opI32Const, 0, 0x4c, 0x04, 0x40) // <= 0, if
	out = appendSigned(append(out, opI32Const), meterFuel)
	out = im.counterOp(out, opGlobalSet)
	out = binary.AppendUvarint(append(out, opCall), uint64(im.check))
	return append(out, opEnd)
}

func (im *meter) counterOp(out []byte, op byte) []byte {
	return binary.AppendUvarint(append(out, op), uint64(im.counter))
}

// appendSigned appends a number in signed LEB128.
func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
