// Command issues is a plugin with a realistic issue tracker of 100,000 issues, made up from their numbers: the same each
// time, on each machine, and with nothing stored. It shows what moving large data by handle is good for, and tests it.
package main

import (
	"context"
	"math/big"
	"strings"

	"github.com/toolplane/toolplane/plugins/sdk"
)

type listIn struct {
	Count  int      `json:"count" jsonschema:"default=100,minimum=1,maximum=100000" jsonschema_description:"How many issues to return at most."`
	Offset int      `json:"offset" jsonschema:"default=0,minimum=0" jsonschema_description:"How many matching issues to skip."`
	State  string   `json:"state,omitempty" jsonschema:"enum=open,enum=closed" jsonschema_description:"Only issues in this state."`
	Label  string   `json:"label,omitempty" jsonschema_description:"Only issues with this label, such as bug or area/search."`
	Fields []string `json:"fields,omitempty" jsonschema_description:"Only these fields of each issue, such as [\"number\", \"state\"]; all of them if left out."`
}

type getIn struct {
	ID big.Int `json:"id" jsonschema:"minimum=1" jsonschema_description:"The issue's id, or its number."`
}

type searchIn struct {
	Query string `json:"query" jsonschema:"minLength=1,maxLength=1000" jsonschema_description:"Words that the title, the labels or the author must contain, all of them."`
	Limit int    `json:"limit" jsonschema:"default=20,minimum=1,maximum=1000" jsonschema_description:"How many issues to return at most."`
}

func init() {
	sdk.Tool("list", "Lists issues by ascending number, with how many match in all.", list, sdk.Title("List issues"), sdk.ReadOnly())
	sdk.Tool("get", "Gets one issue by its id or number.", get, sdk.Title("Get an issue"), sdk.ReadOnly())
	sdk.Tool("search", "Searches titles, labels and authors; the best matches come first.", search, sdk.Title("Search issues"), sdk.ReadOnly())
}

func main() {}

func list(_ context.Context, in listIn) (page, error) {
	p := page{fields: allFields}
	if in.Fields != nil {
		var err error
		if p.fields, err = parseFields(in.Fields); err != nil {
			return page{}, err
		}
	}
	label := -1
	if in.Label != "" {
		if label = labelIndex(in.Label); label < 0 {
			return page{}, sdk.ValueError("there is no label %q; the labels are %s", in.Label, strings.Join(labels, ", "))
		}
	}
	for number := 1; number <= trackerSize; number++ {
		if in.State != "" || label >= 0 {
			r := newRecord(number)
			if in.State != "" && r.open != (in.State == "open") || label >= 0 && r.labels&(1<<label) == 0 {
				continue
			}
		}
		if p.Total++; p.Total > in.Offset && len(p.numbers) < in.Count {
			p.numbers = append(p.numbers, int32(number))
		}
	}
	return p, nil
}

func get(_ context.Context, in getIn) (single, error) {
	number := 0
	if in.ID.IsInt64() {
		number = numberOf(in.ID.Int64())
	}
	if number == 0 {
		return single{}, sdk.LookupError("there is no issue with the id or number %s; numbers are from 1 to %d", in.ID.String(), trackerSize)
	}
	return single{record: newRecord(number)}, nil
}
