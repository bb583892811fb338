package fold_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolplane/toolplane/host/fold"
)

func ExampleFold() {
	row := `{"id": 9007199254740993, "title": "Size \ud83d\ude00", "owner": null}`
	answer := json.RawMessage(`{"rows": [` + strings.Repeat(row+", ", 999) + row + `], "total": 1000}`)

	folded, ok := fold.Fold(answer, fold.Limits{Items: 1})
	fmt.Println(ok, folded.Bytes, "bytes")
	fmt.Println(string(folded.Preview))
	fmt.Println(string(folded.Shape))

	_, ok = fold.Fold(json.RawMessage(row), fold.Limits{})
	fmt.Println(ok)
	// Output:
	// true 71025 bytes
	// {"rows":[{"id":9007199254740993,"title":"Size \ud83d\ude00","owner":null}],"total":1000}
	// {"type":"object","keys":{"rows":{"type":"array","length":1000,"items":{"type":"object","keys":{"id":{"type":"integer"},"title":{"type":"string","length":6},"owner":{"type":"null"}}}},"total":{"type":"integer"}}}
	// false
}

func ExampleQuery() {
	doc := fold.NewDocument(json.RawMessage(`{"rows": [{"id": 1, "owner": {"name": "Ada"}}, {"id": 2.0}, {"id": 3}]}`))

	answer, err := fold.Query(doc, fold.QueryOptions{Path: "$.rows", Limit: new(2), Fields: []string{"id", "owner.name"}})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s %s, %d of %d, next %d\n", answer.Path, answer.Value, 2, *answer.Total, *answer.NextOffset)

	_, err = fold.Query(doc, fold.QueryOptions{Path: "/rows/0/ovner"})
	var refused *fold.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Code)
		fmt.Println(refused)
	}
	// Output:
	// $.rows [{"id":1,"owner.name":"Ada"},{"id":2.0}], 2 of 3, next 2
	// RESULT_PATH_NOT_FOUND
	// $.rows[0] is an object without "ovner"; the nearest key is "owner" (of 2)
}

func ExampleParsePath() {
	path, err := fold.ParsePath(`rows[2]["odd key"]`)
	fmt.Println(path, path.Pointer(), err)

	_, err = fold.ParsePath(`rows[2].odd key`)
	fmt.Println(err)
	// Output:
	// $.rows[2]["odd key"] /rows/2/odd key <nil>
	// the path "rows[2].odd key" can't be read at character 12: ' ' can't follow here; a dot or a bracket can; for example rows[2]["odd key"]
}

func ExampleResolveHandles() {
	doc := fold.NewDocument(json.RawMessage(`{"rows": [1.0, 9007199254740993]}`))
	load := func(_, path string) (json.RawMessage, error) {
		// A host looks the handle up in the caller's own scope.
		return doc.At(path)
	}
	arguments := json.RawMessage(`{"table": {"$result": "res_7Xk", "path": "/rows"}, "note": {"$result": "res_7Xk", "kept": true}}`)
	resolved, err := fold.ResolveHandles(arguments, fold.HandleLimits{}, load)
	fmt.Println(string(resolved), err)
	// Output:
	// {"table": [1.0, 9007199254740993], "note": {"$result": "res_7Xk", "kept": true}} <nil>
}
