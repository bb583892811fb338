package jsonvalue_test

import (
	"fmt"

	"github.com/toolplane/toolplane/host/jsonvalue"
)

func ExampleCheck() {
	fmt.Println(jsonvalue.Check([]byte(`{"id": 9007199254740993, "ratio": -0.0}`)))
	fmt.Println(jsonvalue.Check([]byte(`{"rows": [{"when": 1}, {"when": 1e400}]}`)))
	// Output:
	// <nil>
	// value.rows[1].when: the number 1e400 is out of range (a float reaches about 1.8e308); write it as a string
}

func ExampleMembers() {
	members, err := jsonvalue.Members([]byte(`{"label": "orders", "value": [1.0, 10000000000000000000000]}`))
	if err != nil {
		panic(err)
	}
	for _, m := range members {
		fmt.Printf("%s is %s\n", m.Name, m.Value)
	}
	// Output:
	// label is "orders"
	// value is [1.0, 10000000000000000000000]
}
