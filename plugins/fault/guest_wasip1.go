package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
	"unsafe"

	pdk "github.com/extism/go-pdk"
)

// trap executes an unreachable instruction.
//
//go:noescape
func trap()

// fill writes zeros to memory 1,024 times over, without a loop.
//
//go:noescape
func fill(at unsafe.Pointer, n uintptr)

//go:wasmimport extism:host/env store_u64
func storeU64(offset, value uint64)

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmexport describe
func describe() int32 {
	mode, _ := pdk.GetConfig("describe")
	switch mode {
	case "":
		pdk.OutputString(describeText())
	case "nothing":
	case "loop":
		loop()
	case "trap":
		trap()
	case "exit":
		os.Exit(3)
	case "error":
		pdk.SetErrorString("no licence found")
		return 1
	default:
		pdk.OutputString(mode)
	}
	return 0
}

type request struct {
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"params"`
}

var calls int

//go:wasmexport call
func call() int32 {
	calls++
	var r request
	if err := json.Unmarshal(pdk.Input(), &r); err != nil {
		pdk.SetError(err)
		return 1
	}
	var args arguments
	if r.Params.Name != "echo" {
		if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
			pdk.SetError(err)
			return 1
		}
	}
	if r.Params.Name == "stdout_noise" {
		noise(args.Bytes)
	}
	if out, ok := answer(r.Params.Name, r.Params.Arguments, args); ok {
		pdk.Output(out)
		return 0
	}
	return misbehave(r.Params.Name, args)
}

func misbehave(name string, args arguments) int32 {
	var value any
	switch name {
	case "loop":
		loop()
	case "runaway":
		b := make([]byte, max(args.Bytes, 1<<20))
		fill(unsafe.Pointer(&b[0]), uintptr(len(b)))
	case "slow":
		time.Sleep(time.Duration(args.MS) * time.Millisecond)
	case "trap":
		trap()
	case "panic":
		panic(args.Message)
	case "recurse":
		value = recurse(1)
	case "exit":
		os.Exit(args.Code)
	case "grow_memory":
		grow()
	case "grow_kernel":
		// What the PDKs do with a buffer that couldn't be made: they don't notice that its offset is 0.
		m := pdk.Allocate(1 << 30)
		m.Store([]byte(strings.Repeat("{}", 32)))
		pdk.OutputMemory(m)
		return 0
	case "corrupt_kernel":
		for at := uint64(1); at < 64; at += 8 {
			storeU64(at, 1<<60+1)
		}
		return 0
	case "error_code":
		if args.Message != "" {
			pdk.SetErrorString(args.Message)
		}
		return int32(args.Code)
	case "empty_error":
		pdk.SetErrorString("")
		return 1
	case "http_get":
		req := pdk.NewHTTPRequest(pdk.MethodGet, args.URL)
		if args.Body != "" {
			req = pdk.NewHTTPRequest(pdk.MethodPost, args.URL).SetBody([]byte(args.Body))
		}
		resp := req.Send()
		value = map[string]any{"status": resp.Status(), "body": string(resp.Body()), "headers": resp.Headers()}
	case "count":
		value = calls
	case "config":
		value, _ = pdk.GetConfig(args.Key)
	case "env":
		value = os.Getenv(args.Key)
	case "var":
		pdk.SetVar("v", []byte(strings.Repeat("v", args.Bytes)))
		value = len(pdk.GetVar("v"))
	case "read_file":
		b, err := os.ReadFile(args.Key)
		if err != nil {
			pdk.SetError(err)
			return 1
		}
		value = string(b)
	default:
		pdk.SetErrorString("there is no fault called " + name)
		return 1
	}
	b, err := json.Marshal(value)
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	pdk.Output(structured(b))
	return 0
}

var sink int

func loop() {
	for {
		sink++
	}
}

//go:noinline
func recurse(n int) int { return recurse(n+1) + recurse(n+2) }

var kept [][]byte

func grow() {
	for {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = byte(i)
		}
		kept = append(kept, b)
	}
}

func noise(n int) {
	for written := 0; written < n; written += 64 {
		line := fmt.Sprintf("noise %057d\n", written)
		fmt.Print(line)
		fmt.Fprint(os.Stderr, line)
		pdk.Log(pdk.LogInfo, line)
	}
}
