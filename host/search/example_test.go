package search_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/search"
)

func Example() {
	index, err := search.New(search.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer index.Close()
	err = index.Rebuild([]capability.Capability{
		{
			Name: "plugin:issues/list", Description: "Lists issues of the tracker.", Tags: []string{"tracker"},
			InputSchema: json.RawMessage(`{"type": "object", "properties": {"count": {"type": "integer", "default": 100}}}`),
		},
		{Name: "plugin:orders/list", Description: "Lists orders of a customer.", Tags: []string{"shop"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := index.Search(context.Background(), search.Query{Text: "listing isues"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Hits[0].Call)

	page, err = index.Search(context.Background(), search.Query{Text: "issues", Tags: []string{"shop"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d of %d; closest: %v; tags: %v\n", page.Total, page.Known, page.Closest, page.Tags)
	// Output:
	// await issues_list(count=<integer=100>)
	// 0 of 2; closest: [plugin:issues/list]; tags: [shop tracker]
}

// An index that follows a registry is searched by anyone at any time.
func ExampleIndex_Follow() {
	registry := capability.NewRegistry()
	index, err := search.New(search.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer index.Close()
	stop := index.Follow(registry)
	defer stop()

	// … providers are put into the registry as they are loaded …

	if err := index.Sync(context.Background()); err != nil { // wait for what is there by now
		fmt.Println(err)
	}
	page, err := index.Search(context.Background(), search.Query{Text: "orders"})
	fmt.Println(page.Total, page.Known, err)
	// Output: 0 0 <nil>
}
