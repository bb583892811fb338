// Command fault is a plugin that misbehaves in every way that the host has to survive. It is for tests only, and doesn't
// use the SDK, which wouldn't let it.
//
// Its config changes how it describes itself: describe = "loop", "trap", "exit", "error" or "nothing", else the text to
// answer.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

func main() {}

// arguments of all tools, each of which uses some.
type arguments struct {
	Bytes   int    `json:"bytes"`
	Code    int    `json:"code"`
	Message string `json:"message"`
	MS      int    `json:"ms"`
	URL     string `json:"url"`
	Body    string `json:"body"`
	Text    string `json:"text"`
	Base64  string `json:"base64"`
	Kind    string `json:"kind"`
	Key     string `json:"key"`
}

type fault struct {
	name, description string
	properties        string // of the input schema
}

var faults = []fault{
	{"noop", "Answers null.", ``},
	{"echo", "Answers its arguments as they were sent.", `"*"`},
	{"raw_answer", "Answers structured content that is the given bytes, whatever they are.", `"text":{"type":"string"},"base64":{"type":"string"}`},
	{"raw_output", "Outputs the given bytes instead of an MCP result.", `"text":{"type":"string"},"base64":{"type":"string"}`},
	{"report", "Reports an error as an MCP result.", `"message":{"type":"string"},"kind":{"type":"string"}`},
	{"loop", "Never ends.", ``},
	{"runaway", "Runs for a second or more in code without a loop or a call.", `"bytes":{"type":"integer","minimum":1,"default":16777216}`},
	{"slow", "Sleeps.", `"ms":{"type":"integer","minimum":0}`},
	{"trap", "Executes an unreachable instruction.", ``},
	{"panic", "Panics.", `"message":{"type":"string"}`},
	{"recurse", "Calls itself without end.", ``},
	{"exit", "Ends its own process.", `"code":{"type":"integer"}`},
	{"grow_memory", "Allocates memory without end.", ``},
	{"grow_kernel", "Asks the host for a buffer that is larger than its memory.", ``},
	{"corrupt_kernel", "Overwrites the state of the buffers that it shares with the host, and answers null.", ``},
	{"error_code", "Returns an error code, with or without a message.", `"code":{"type":"integer"},"message":{"type":"string"}`},
	{"empty_error", "Returns an error code and an empty message.", ``},
	{"bad_utf8", "Answers text that isn't UTF-8.", ``},
	{"bad_json", "Answers text that isn't JSON.", ``},
	{"nothing", "Answers nothing.", ``},
	{"huge_output", "Answers a string of so many bytes.", `"bytes":{"type":"integer","minimum":0}`},
	{"stdout_noise", "Prints to its standard output and error, and logs, as much as asked, and answers null.", `"bytes":{"type":"integer","minimum":0,"default":100}`},
	{"http_get", "Gets a URL.", `"url":{"type":"string"},"body":{"type":"string"}`},
	{"count", "Counts the calls of this instance.", ``},
	{"config", "Answers a value of its configuration.", `"key":{"type":"string"}`},
	{"env", "Answers the value of an environment variable.", `"key":{"type":"string"}`},
	{"var", "Keeps so many bytes in an Extism variable and answers how many came back.", `"bytes":{"type":"integer","minimum":0}`},
	{"read_file", "Answers the text of a file.", `"key":{"type":"string"}`},
}

// describeText is what describe answers unless the config says otherwise.
func describeText() string {
	var b strings.Builder
	b.WriteString(`{"tools":[`)
	for i, f := range faults {
		if i > 0 {
			b.WriteByte(',')
		}
		schema := `{"type":"object"}`
		if f.properties != `"*"` {
			schema = `{"type":"object","properties":{` + f.properties + `},"additionalProperties":false}`
		}
		fmt.Fprintf(&b, `{"name":%q,"description":%q,"inputSchema":%s}`, f.name, f.description, schema)
	}
	b.WriteString(`]}`)
	return b.String()
}

// answer is the output of the faults that are only a matter of what is answered. ok is false for the others.
func answer(name string, raw json.RawMessage, args arguments) (out []byte, ok bool) {
	switch name {
	case "noop", "stdout_noise":
		return structured([]byte("null")), true
	case "echo":
		return structured(raw), true
	case "raw_answer":
		return structured(args.payload()), true
	case "raw_output":
		return args.payload(), true
	case "report":
		return report(args.Kind, args.Message), true
	case "bad_utf8":
		return structured([]byte("\"caf\xe9\"")), true
	case "bad_json":
		return structured([]byte(`{"unfinished":`)), true
	case "nothing":
		return nil, true
	case "huge_output":
		return structured([]byte(`"` + strings.Repeat("x", args.Bytes) + `"`)), true
	}
	return nil, false
}

func structured(value []byte) []byte {
	b := append([]byte(`{"content":[],"structuredContent":`), value...)
	return append(b, '}')
}

func report(kind, message string) []byte {
	quoted, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	if kind == "" {
		return []byte(`{"content":[{"type":"text","text":` + string(quoted) + `}],"isError":true}`)
	}
	return fmt.Appendf(nil, `{"content":[],"structuredContent":{"error":{"kind":%q,"message":%s}},"isError":true}`, kind, quoted)
}

// payload is the text, or what the base64 stands for: JSON can't carry bytes that aren't UTF-8.
func (a arguments) payload() []byte {
	if a.Base64 == "" {
		return []byte(a.Text)
	}
	b, err := base64.StdEncoding.DecodeString(a.Base64)
	if err != nil {
		panic(err)
	}
	return b
}
