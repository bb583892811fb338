package result_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolplane/toolplane/host/result"
)

func Example() {
	store := result.New(result.Options{MaxEntryBytes: 1 << 20})
	defer store.Close()
	owner := result.Owner{Scope: "stdio", Subject: "ada"}

	entry, err := store.Save(owner, "open issues", json.RawMessage(`[{"id": 9007199254740993}]`))
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.HasPrefix(entry.Handle, "res_"), entry.Bytes, "bytes")

	value, err := store.Load(owner, entry.Handle)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(value))

	_, err = store.Load(result.Owner{Scope: "another"}, entry.Handle)
	fmt.Println(err)
	// Output:
	// true 37 bytes
	// [{"id": 9007199254740993}]
	// no saved value is found under this handle: it may have expired, or belong to another session; save the value again with save_result and use the new handle
}
