package plugin

import (
	"encoding/binary"
	"slices"
)

// wasmText builds small modules for tests, for what no compiler would produce.
type wasmText struct {
	imports    [][2]string // functions of type 0: () -> ()
	otherKinds []byte      // a raw import entry
	memory     []uint64    // min, or min and max
	funcs      []wasmFunc
	start      int    // index into funcs, plus 1
	table      []byte // raw sections 4 and 9
	elements   []byte
	globals    []byte
}

type wasmFunc struct {
	export string
	params int    // of i32
	result bool   // an i32
	code   []byte // without locals and end
	locals []byte // the vector; none if nil
}

var (
	codeReturn0   = []byte{0x41, 0}                   // i32.const 0
	codeLoop      = []byte{0x03, 0x40, 0x0c, 0, 0x0b} // loop br 0 end
	codeTrap      = []byte{0x00}                      // unreachable
	codeLoopThen0 = append(codeLoop[:len(codeLoop):len(codeLoop)], codeReturn0...)
)

func (m wasmText) bytes() []byte {
	b := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, body []byte) {
		b = append(b, id)
		b = binary.AppendUvarint(b, uint64(len(body)))
		b = append(b, body...)
	}
	name := func(body []byte, s string) []byte {
		return append(binary.AppendUvarint(body, uint64(len(s))), s...)
	}
	// Type 0 is () -> (); each function has a type of its own after it.
	types := binary.AppendUvarint(nil, uint64(1+len(m.funcs)))
	types = append(types, 0x60, 0, 0)
	for _, f := range m.funcs {
		types = append(types, 0x60, byte(f.params))
		for range f.params {
			types = append(types, 0x7f)
		}
		if f.result {
			types = append(types, 1, 0x7f)
		} else {
			types = append(types, 0)
		}
	}
	section(sectionType, types)
	if n := len(m.imports); n > 0 || len(m.otherKinds) > 0 {
		if len(m.otherKinds) > 0 {
			n++
		}
		body := binary.AppendUvarint(nil, uint64(n))
		for _, imp := range m.imports {
			body = append(name(name(body, imp[0]), imp[1]), kindFunc, 0)
		}
		section(sectionImport, append(body, m.otherKinds...))
	}
	funcs := binary.AppendUvarint(nil, uint64(len(m.funcs)))
	for i := range m.funcs {
		funcs = binary.AppendUvarint(funcs, uint64(i+1))
	}
	section(sectionFunction, funcs)
	raw := func(id byte, body []byte) {
		if body != nil {
			section(id, body)
		}
	}
	raw(4, m.table)
	if len(m.memory) > 0 {
		body := []byte{1, byte(len(m.memory) - 1)}
		for _, n := range m.memory {
			body = binary.AppendUvarint(body, n)
		}
		section(sectionMemory, body)
	}
	raw(6, m.globals)
	exports, n := []byte(nil), 0
	for i, f := range m.funcs {
		if f.export != "" {
			exports = append(name(exports, f.export), kindFunc)
			exports = binary.AppendUvarint(exports, uint64(len(m.imports)+i))
			n++
		}
	}
	section(sectionExport, append(binary.AppendUvarint(nil, uint64(n)), exports...))
	if m.start > 0 {
		section(8, binary.AppendUvarint(nil, uint64(len(m.imports)+m.start-1)))
	}
	raw(9, m.elements)
	code := binary.AppendUvarint(nil, uint64(len(m.funcs)))
	for _, f := range m.funcs {
		locals := f.locals
		if locals == nil {
			locals = []byte{0}
		}
		body := append(slices.Clone(locals), f.code...)
		body = append(body, 0x0b)
		code = append(binary.AppendUvarint(code, uint64(len(body))), body...)
	}
	section(10, code)
	return b
}

// servlet is a module with describe and call of the given code.
func servlet(describe, call []byte) wasmText {
	return wasmText{funcs: []wasmFunc{{export: "describe", result: true, code: describe}, {export: "call", result: true, code: call}}}
}
