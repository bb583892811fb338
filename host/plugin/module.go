package plugin

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// module is what is read from a WebAssembly binary without compiling it: enough to tell its shape, to report what it
// asks for, to refuse early with a clear message, and to redirect imports.
type module struct {
	types   []funcType
	imports []moduleImport
	funcs   []uint32 // type indices of the module's own functions
	exports []moduleExport
	memory  memoryLimits

	importSection span // the whole section, header included; empty if there is none
}

type span struct{ from, to int }

type funcType struct{ params, results []byte }

type moduleImport struct {
	module, name string
	kind         byte
	typ          uint32 // of a function
	desc         span   // the entry after its two names
}

type moduleExport struct {
	name  string
	kind  byte
	index uint32
}

type memoryLimits struct {
	minPages, maxPages uint64
	hasMax             bool
}

const (
	wasmPage = 64 << 10

	kindFunc   = 0
	kindTable  = 1
	kindMemory = 2
	kindGlobal = 3
	kindTag    = 4

	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionMemory   = 5
	sectionExport   = 7
)

var errTruncated = errors.New("it ends too early")

// parseModule reads the sections that module needs. It doesn't validate the rest: compiling does.
func parseModule(b []byte) (*module, error) {
	switch {
	case len(b) < 8 || string(b[:4]) != "\x00asm":
		return nil, errors.New("this isn't a WebAssembly module: it doesn't start with \\0asm")
	case binary.LittleEndian.Uint32(b[4:]) == 0x1000d:
		return nil, errors.New("this is a WebAssembly component; build a core module instead (for Go: GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared)")
	case binary.LittleEndian.Uint32(b[4:]) != 1:
		return nil, fmt.Errorf("WebAssembly version %d isn't supported, only 1", binary.LittleEndian.Uint32(b[4:]))
	}
	m := &module{}
	r := &wasmReader{b: b, at: 8}
	for r.at < len(b) && r.err == nil {
		start := r.at
		id, size := r.byte(), int(r.u32())
		if r.err != nil || size > len(b)-r.at {
			return nil, fmt.Errorf("the WebAssembly module is damaged: section %d at byte %d: %w", id, start, errTruncated)
		}
		body := &wasmReader{b: b[:r.at+size], at: r.at}
		r.at += size
		switch id {
		case sectionType:
			m.readTypes(body)
		case sectionImport:
			m.importSection = span{start, r.at}
			m.readImports(body)
		case sectionFunction:
			for n := body.count(); n > 0 && body.err == nil; n-- {
				m.funcs = append(m.funcs, body.u32())
			}
		case sectionMemory:
			if n := body.count(); n > 0 {
				m.memory = body.limits()
			}
		case sectionExport:
			for n := body.count(); n > 0 && body.err == nil; n-- {
				m.exports = append(m.exports, moduleExport{body.name(), body.byte(), body.u32()})
			}
		}
		if body.err != nil {
			return nil, fmt.Errorf("the WebAssembly module is damaged: section %d at byte %d: %w", id, start, body.err)
		}
	}
	return m, r.err
}

func (m *module) readTypes(r *wasmReader) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		if form := r.byte(); form != 0x60 && r.err == nil {
			r.fail(fmt.Errorf("type form %#x isn't supported (garbage-collected types?)", form))
			return
		}
		m.types = append(m.types, funcType{params: r.bytes(), results: r.bytes()})
	}
}

func (m *module) readImports(r *wasmReader) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		imp := moduleImport{module: r.name(), name: r.name()}
		imp.desc.from = r.at
		switch imp.kind = r.byte(); imp.kind {
		case kindFunc:
			imp.typ = r.u32()
		case kindTable:
			r.byte()
			r.limits()
		case kindMemory:
			m.memory = r.limits()
		case kindGlobal:
			r.byte()
			r.byte()
		case kindTag:
			r.byte()
			r.u32()
		default:
			r.fail(fmt.Errorf("import %q %q has the unknown kind %d", imp.module, imp.name, imp.kind))
		}
		imp.desc.to = r.at
		m.imports = append(m.imports, imp)
	}
}

// exportedFunc returns the signature of an exported function.
func (m *module) exportedFunc(name string) (funcType, bool) {
	for _, e := range m.exports {
		if e.kind == kindFunc && e.name == name {
			return m.funcType(e.index), true
		}
	}
	return funcType{}, false
}

// funcType returns the signature of a function by its index, imports first.
func (m *module) funcType(index uint32) funcType {
	for _, imp := range m.imports {
		if imp.kind != kindFunc {
			continue
		}
		if index == 0 {
			return m.typeAt(imp.typ)
		}
		index--
	}
	if int(index) < len(m.funcs) {
		return m.typeAt(m.funcs[index])
	}
	return funcType{}
}

func (m *module) typeAt(i uint32) funcType {
	if int(i) < len(m.types) {
		return m.types[i]
	}
	return funcType{}
}

// redirectImports returns the binary b, which m was parsed from, with each imported function that redirect answers for
// taken from another module name. It returns b itself when nothing changes.
func (m *module) redirectImports(b []byte, redirect func(module, name string) (to string, ok bool)) []byte {
	changed := false
	body := binary.AppendUvarint(nil, uint64(len(m.imports)))
	for _, imp := range m.imports {
		from := imp.module
		if to, ok := redirect(imp.module, imp.name); ok && imp.kind == kindFunc {
			from, changed = to, true
		}
		for _, s := range []string{from, imp.name} {
			body = binary.AppendUvarint(body, uint64(len(s)))
			body = append(body, s...)
		}
		body = append(body, b[imp.desc.from:imp.desc.to]...)
	}
	if !changed {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	out = append(out, b[:m.importSection.from]...)
	out = append(out, sectionImport)
	out = binary.AppendUvarint(out, uint64(len(body)))
	out = append(out, body...)
	return append(out, b[m.importSection.to:]...)
}

// valueTypeName names a value type as the WebAssembly text format does.
func valueTypeName(t byte) string {
	switch t {
	case 0x7f:
		return "i32"
	case 0x7e:
		return "i64"
	case 0x7d:
		return "f32"
	case 0x7c:
		return "f64"
	case 0x7b:
		return "v128"
	case 0x70:
		return "funcref"
	case 0x6f:
		return "externref"
	}
	return fmt.Sprintf("type %#x", t)
}

// wasmReader reads the binary format. The first failure sticks and makes every later read return zero.
type wasmReader struct {
	b   []byte
	at  int
	err error
}

func (r *wasmReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *wasmReader) byte() byte {
	if r.err != nil || r.at >= len(r.b) {
		r.fail(errTruncated)
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

func (r *wasmReader) uint(bits int) uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b[r.at:])
	switch {
	case n == 0:
		r.fail(errTruncated)
		return 0
	case n < 0 || bits < 64 && v>>bits != 0:
		r.fail(errors.New("a number is out of range"))
		return 0
	}
	r.at += n
	return v
}

func (r *wasmReader) u32() uint32 { return uint32(r.uint(32)) }

// count reads the length of a vector. Each element takes a byte at least, so that a lie can't make us allocate.
func (r *wasmReader) count() int {
	n := int(r.u32())
	if n > len(r.b)-r.at {
		r.fail(errTruncated)
		return 0
	}
	return n
}

func (r *wasmReader) bytes() []byte {
	n := r.count()
	r.at += n
	return r.b[r.at-n : r.at : r.at]
}

func (r *wasmReader) name() string {
	b := r.bytes()
	if !utf8.Valid(b) {
		r.fail(errors.New("a name isn't valid UTF-8"))
	}
	return string(b)
}

func (r *wasmReader) limits() memoryLimits {
	flags := r.byte()
	if flags > 3 && r.err == nil {
		r.fail(errors.New("64-bit memories and tables aren't supported"))
	}
	l := memoryLimits{minPages: r.uint(32), hasMax: flags&1 != 0}
	if l.hasMax {
		l.maxPages = r.uint(32)
	}
	return l
}
