package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero/api"
)

// Guests import Extism's functions from extism:host/env. go-sdk serves them, and trusts guests more than we do: a guest
// may write to any address of the kernel's memory, where the kernel keeps its lists, so that it then loops for ever in
// code that isn't metered, or fails in a way that go-sdk prints to standard output; a buffer that couldn't be made has
// the address 0, where the kernel's state is; HTTP follows redirects to anywhere.
//
// So those functions that make, free or write buffers are taken from envNamespace instead, where ours are. The rest (the
// reading ones) stays with go-sdk.
const envNamespace = "toolplane:host/env"

type hostFunction struct {
	name    string
	params  []api.ValueType
	results []api.ValueType
	f       func(inst *instance, cp *extism.CurrentPlugin, stack []uint64) error
}

var (
	typeI64    = []api.ValueType{api.ValueTypeI64}
	typeI64I64 = []api.ValueType{api.ValueTypeI64, api.ValueTypeI64}
	typeI64I32 = []api.ValueType{api.ValueTypeI64, api.ValueTypeI32}
	typeI32    = []api.ValueType{api.ValueTypeI32}
)

var envFunctions = []hostFunction{
	{"alloc", typeI64, typeI64, func(inst *instance, cp *extism.CurrentPlugin, stack []uint64) (err error) {
		stack[0], err = inst.buffers.alloc(inst, cp, stack[0])
		return err
	}},
	{"free", typeI64, nil, func(inst *instance, cp *extism.CurrentPlugin, stack []uint64) error {
		return inst.buffers.free(inst, cp, stack[0])
	}},
	{"store_u8", typeI64I32, nil, func(inst *instance, cp *extism.CurrentPlugin, stack []uint64) error {
		if !inst.buffers.holds(stack[0], 1) || !cp.Memory().WriteByte(uint32(stack[0]), byte(stack[1])) {
			return errOutside
		}
		return nil
	}},
	{"store_u64", typeI64I64, nil, func(inst *instance, cp *extism.CurrentPlugin, stack []uint64) error {
		if !inst.buffers.holds(stack[0], 8) || !cp.Memory().WriteUint64Le(uint32(stack[0]), stack[1]) {
			return errOutside
		}
		return nil
	}},
	{"reset", nil, nil, func(*instance, *extism.CurrentPlugin, []uint64) error {
		return errors.New("a plugin can't reset the buffers of its own call")
	}},
	{"config_get", typeI64, typeI64, configGet(func(value string) ([]byte, error) { return []byte(value), nil })},
	{"var_get", typeI64, typeI64, varGet},
	{"var_set", typeI64I64, nil, varSet},
	{"log_trace", typeI64, nil, logAt(extism.LogLevelTrace)},
	{"log_debug", typeI64, nil, logAt(extism.LogLevelDebug)},
	{"log_info", typeI64, nil, logAt(extism.LogLevelInfo)},
	{"log_warn", typeI64, nil, logAt(extism.LogLevelWarn)},
	{"log_error", typeI64, nil, logAt(extism.LogLevelError)},
	{"http_request", typeI64I64, typeI64, httpRequest},
	{"http_status_code", nil, typeI32, httpStatusCode},
	{"http_headers", nil, typeI64, httpHeaders},
}

var errOutside = errors.New("the plugin wrote outside of its buffers")

// redirectImport says which of a guest's imports are taken from elsewhere.
func redirectImport(module, name string) (string, bool) {
	if module == extismNamespace {
		for _, f := range envFunctions {
			if f.name == name {
				return envNamespace, true
			}
		}
	}
	return "", false
}

// hostFunctions are all functions of ours, for one plugin.
func hostFunctions() []extism.HostFunction {
	var all []extism.HostFunction
	add := func(namespace string, f hostFunction) {
		h := extism.NewHostFunctionWithStack(f.name, func(ctx context.Context, cp *extism.CurrentPlugin, stack []uint64) {
			inst, ok := ctx.Value(instanceKey{}).(*instance)
			if !ok {
				panic(errors.New("called outside a call"))
			}
			if err := f.f(inst, cp, stack); err != nil {
				panic(fmt.Errorf("%s: %w", f.name, err)) // wazero turns it into the call's error
			}
		}, f.params, f.results)
		h.SetNamespace(namespace)
		all = append(all, h)
	}
	for _, f := range envFunctions {
		add(envNamespace, f)
	}
	// Early servlets read their configuration through this one, which answers the value as a JSON string.
	add(servletNamespace, hostFunction{"config_get", typeI64, typeI64, configGet(func(value string) ([]byte, error) { return json.Marshal(value) })})
	add(meterNamespace, hostFunction{meterFunction, nil, nil, func(inst *instance, _ *extism.CurrentPlugin, _ []uint64) error {
		return inst.ctx.Err() // ends the call
	}})
	return all
}

func configGet(encode func(string) ([]byte, error)) func(*instance, *extism.CurrentPlugin, []uint64) error {
	return func(inst *instance, cp *extism.CurrentPlugin, stack []uint64) error {
		key, err := cp.ReadString(stack[0])
		if err != nil {
			return err
		}
		value, ok := inst.p.spec.Config[key]
		if stack[0] = 0; !ok {
			return nil
		}
		b, err := encode(value)
		if err != nil {
			return err
		}
		stack[0], err = inst.allocate(cp, b)
		return err
	}
}

func varGet(inst *instance, cp *extism.CurrentPlugin, stack []uint64) error {
	name, err := cp.ReadString(stack[0])
	if err != nil {
		return err
	}
	stack[0], err = inst.allocate(cp, inst.vars[name])
	return err
}

// varSet keeps a value for later calls of the instance; the value 0 removes it.
func varSet(inst *instance, cp *extism.CurrentPlugin, stack []uint64) error {
	name, err := cp.ReadString(stack[0])
	if err != nil {
		return err
	}
	if stack[1] == 0 {
		delete(inst.vars, name)
		return nil
	}
	value, err := cp.ReadBytes(stack[1])
	if err != nil {
		return err
	}
	const overhead = 64 // of an entry, so that empty ones are bounded, too
	size := len(name) + len(value) + overhead
	for k, v := range inst.vars {
		if k != name {
			size += len(k) + len(v) + overhead
		}
	}
	if limit := inst.p.maxVarBytes(); int64(size) > limit {
		return fmt.Errorf("the plugin's variables take more than %d bytes (1 MiB, or a sixteenth of memory_mb)", limit)
	}
	if inst.vars == nil {
		inst.vars = map[string][]byte{}
	}
	inst.vars[name] = value
	return nil
}

func logAt(level extism.LogLevel) func(*instance, *extism.CurrentPlugin, []uint64) error {
	return func(inst *instance, cp *extism.CurrentPlugin, stack []uint64) error {
		text, err := cp.ReadString(stack[0])
		if err != nil {
			return err
		}
		inst.log(level, text)
		return inst.buffers.free(inst, cp, stack[0]) // as go-sdk does: PDKs leave it to the host
	}
}

// allocate hands bytes to the guest in a buffer of its own.
func (inst *instance) allocate(cp *extism.CurrentPlugin, b []byte) (uint64, error) {
	if len(b) == 0 {
		return 0, nil
	}
	at, err := inst.buffers.alloc(inst, cp, uint64(len(b)))
	if err == nil && !cp.Memory().Write(uint32(at), b) {
		err = errOutside
	}
	return at, err
}
