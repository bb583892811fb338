package wsbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/toolplane/toolplane/wsbridge"
)

// One round trip over the loopback network: frame codec, queues, socket and handler, both ways.
func BenchmarkEcho(b *testing.B) {
	for _, size := range []int{10, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			_, client := pair(b, wsbridge.Options{Handler: echo}, wsbridge.Options{})
			params := sized(size)
			b.SetBytes(int64(2 * len(params)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.Call(context.Background(), "echo", params); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEchoParallel(b *testing.B) {
	_, client := pair(b, wsbridge.Options{Handler: echo}, wsbridge.Options{})
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := client.Call(context.Background(), "echo", json.RawMessage(`{"n":1}`)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
