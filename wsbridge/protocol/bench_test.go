package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// benchArguments returns a JSON object of about n bytes that looks like data: short names, numbers, strings.
func benchArguments(n int) json.RawMessage {
	record := `{"id":9007199254740993,"title":"A title with ünïcode","open":true,"score":1.5},`
	return json.RawMessage(`{"rows":[` + strings.Repeat(record, n/len(record)+1) + `null]}`)
}

func BenchmarkFrame(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		params, err := EncodePayload(ToolCallParams{RunID: "run_1", Name: "plugin:issues/list", Arguments: benchArguments(size)})
		if err != nil {
			b.Fatal(err)
		}
		frame, err := EncodeRequest(7, MethodToolCall, params)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("encode/%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := EncodeRequest(7, MethodToolCall, params); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("decode/%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				m, err := Decode(frame)
				if err != nil {
					b.Fatal(err)
				}
				var p ToolCallParams
				if err := DecodeParams(m.Params, &p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
