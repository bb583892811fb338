package plugin

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A guest has to be stopped when its time is over, and it must not keep Go's garbage collector from stopping the world:
// while one goroutine is in compiled WebAssembly code, a collection that has started waits for it, and with it the whole
// process. wazero's own checks (WithCloseOnContextDone) leave WebAssembly code at each iteration of each loop, which
// makes guests 5 to 15 times slower, and don't cover code without loops: a long sequence of memory.fill, or functions
// that call each other exponentially often, run on for as long as they like.
//
// So each module is rewritten before it is compiled. A counter, a global of the module, goes down at each loop iteration
// and function entry by how much code may follow, and at each bulk operation by its size; when it is used up, the module
// calls the host, which refills it or ends the call. That costs about a nanosecond a loop iteration, and the host is
// asked every few milliseconds at most.

const (
	// meterFuel is what the counter starts from. A unit stands for meterUnit bytes of code, some 10 instructions.
	meterFuel = 1 << 20
	meterUnit = 32
	// meterFree is the size of functions without calls, loops and bulk operations that aren't counted: their callers are.
	meterFree = 128
	// A call of the host may take much longer than its code: at least each 64th is followed by a check. The target of an
	// indirect call may be the host as well.
	meterHostCall     = meterFuel / 64
	meterIndirectCall = meterFuel / 4096

	meterNamespace = "toolplane:host/meter"
	meterFunction  = "check"
)

// metered returns the module wasm, which m was parsed from, with counters in it. Custom sections are dropped.
func (m *module) metered(wasm []byte) ([]byte, error) {
	sections, err := splitSections(wasm)
	if err != nil {
		return nil, err
	}
	im := meter{m: m}
	for _, imp := range m.imports {
		switch imp.kind {
		case kindFunc:
			im.check++
		case kindGlobal:
			im.counter++
		}
	}
	out := append(make([]byte, 0, len(wasm)+len(wasm)/4), wasm[:8]...)
	// The order in which sections stand is not that of their numbers.
	for _, id := range []byte{sectionType, sectionImport, sectionFunction, 4, sectionMemory, 13, 6, sectionExport, 8, 9, 12, 10, 11} {
		body, ok := sections[id]
		switch id {
		case sectionType:
			body, ok = im.appendToVector(body, []byte{0x60, 0, 0}), true
		case sectionImport:
			body, ok = im.appendToVector(body, im.importEntry()), true
		case 6:
			body, ok = im.globals(body), true
		case sectionExport:
			body = im.exports(body)
		case 8:
			body = im.start(body)
		case 9:
			body = im.elements(body)
		case 10:
			body = im.code(body)
		}
		if im.err != nil {
			return nil, fmt.Errorf("section %d: %w", id, im.err)
		}
		if ok {
			out = append(out, id)
			out = binary.AppendUvarint(out, uint64(len(body)))
			out = append(out, body...)
		}
	}
	return out, nil
}

func splitSections(wasm []byte) (map[byte][]byte, error) {
	sections := map[byte][]byte{}
	r := &wasmReader{b: wasm, at: 8}
	for r.at < len(wasm) {
		id, body := r.byte(), r.bytes()
		if r.err != nil {
			return nil, r.err
		}
		if id == 0 {
			continue
		}
		if _, twice := sections[id]; twice || id > 13 {
			return nil, fmt.Errorf("section %d is unknown or stands there twice", id)
		}
		sections[id] = body
	}
	return sections, nil
}

// meter rewrites the sections of one module.
type meter struct {
	m       *module
	check   uint32 // the index of the added import: functions from there on move up by one
	counter uint32 // the index of the added global
	err     error
}

// note keeps the first error.
func (im *meter) note(err error) {
	if im.err == nil {
		im.err = err
	}
}

// finish checks that a section was read to its end.
func (im *meter) finish(r *wasmReader) {
	im.note(r.err)
	if r.at != len(r.b) {
		im.note(fmt.Errorf("it has %d bytes too many", len(r.b)-r.at))
	}
}

func (im *meter) moved(function uint32) uint64 {
	if function >= im.check {
		return uint64(function) + 1
	}
	return uint64(function)
}

// appendToVector adds an entry to a section that is a vector.
func (im *meter) appendToVector(body, entry []byte) []byte {
	if body == nil {
		body = []byte{0}
	}
	r := &wasmReader{b: body}
	n := r.u32()
	im.note(r.err)
	out := binary.AppendUvarint(nil, uint64(n)+1)
	out = append(out, body[r.at:]...)
	return append(out, entry...)
}

func (im *meter) importEntry() []byte {
	var b []byte
	for _, s := range []string{meterNamespace, meterFunction} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return binary.AppendUvarint(append(b, kindFunc), uint64(len(im.m.types)))
}

func (im *meter) globals(body []byte) []byte {
	if body == nil {
		body = []byte{0}
	}
	r := &wasmReader{b: body}
	n := r.count()
	im.counter += uint32(n)
	out := binary.AppendUvarint(nil, uint64(n)+1)
	for ; n > 0 && r.err == nil; n-- {
		out = append(out, r.byte(), r.byte())
		out = im.expression(out, r)
	}
	im.finish(r)
	out = append(out, 0x7f, 1, opI32Const)
	out = appendSigned(out, meterFuel)
	return append(out, opEnd)
}

// expression copies a constant expression.
func (im *meter) expression(out []byte, r *wasmReader) []byte {
	for r.err == nil {
		from := r.at
		op, index := r.instruction()
		if op == opRefFunc {
			out = binary.AppendUvarint(append(out, opRefFunc), im.moved(index))
			continue
		}
		if out = append(out, r.b[from:r.at]...); op == opEnd {
			break
		}
	}
	return out
}

func (im *meter) exports(body []byte) []byte {
	if body == nil {
		return nil
	}
	r := &wasmReader{b: body}
	n := r.count()
	out := binary.AppendUvarint(nil, uint64(n))
	for ; n > 0 && r.err == nil; n-- {
		from := r.at
		r.bytes()
		kind := r.byte()
		out = append(out, body[from:r.at]...)
		if index := r.u32(); kind == kindFunc {
			out = binary.AppendUvarint(out, im.moved(index))
		} else {
			out = binary.AppendUvarint(out, uint64(index))
		}
	}
	im.finish(r)
	return out
}

func (im *meter) start(body []byte) []byte {
	if body == nil {
		return nil
	}
	r := &wasmReader{b: body}
	index := r.u32()
	im.finish(r)
	return binary.AppendUvarint(nil, im.moved(index))
}

// elements copies the element segments, which list functions by index or by expression.
func (im *meter) elements(body []byte) []byte {
	if body == nil {
		return nil
	}
	r := &wasmReader{b: body}
	n := r.count()
	out := binary.AppendUvarint(nil, uint64(n))
	for ; n > 0 && r.err == nil; n-- {
		flags := r.u32()
		if flags > 7 {
			r.fail(fmt.Errorf("an element segment has the unknown flags %d", flags))
			break
		}
		out = binary.AppendUvarint(out, uint64(flags))
		if active := flags&1 == 0; active {
			if flags&2 != 0 {
				out = binary.AppendUvarint(out, uint64(r.u32())) // the table
			}
			out = im.expression(out, r)
		}
		if flags&3 != 0 {
			out = append(out, r.byte()) // the kind or type of the elements
		}
		items := r.count()
		out = binary.AppendUvarint(out, uint64(items))
		for ; items > 0 && r.err == nil; items-- {
			if flags&4 != 0 {
				out = im.expression(out, r)
			} else {
				out = binary.AppendUvarint(out, im.moved(r.u32()))
			}
		}
	}
	im.finish(r)
	return out
}

func (im *meter) code(body []byte) []byte {
	if body == nil {
		return nil
	}
	r := &wasmReader{b: body}
	n := r.count()
	if n != len(im.m.funcs) {
		im.note(errors.New("it doesn't have the code of each function"))
		return nil
	}
	out := make([]byte, 0, len(body)+len(body)/4)
	out = binary.AppendUvarint(out, uint64(n))
	var function []byte
	for i := range n {
		one := r.bytes()
		if r.err != nil {
			break
		}
		function = im.function(function[:0], one, len(im.m.typeAt(im.m.funcs[i]).params))
		out = binary.AppendUvarint(out, uint64(len(function)))
		out = append(out, function...)
	}
	im.finish(r)
	return out
}
