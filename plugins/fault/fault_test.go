package main

import (
	"encoding/base64"
	"encoding/json"
	"testing"
)

func TestDescribeTextIsValid(t *testing.T) {
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       map[string]any
		}
	}
	if err := json.Unmarshal([]byte(describeText()), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != len(faults) {
		t.Errorf("%d tools, want %d", len(list.Tools), len(faults))
	}
	for _, tool := range list.Tools {
		if tool.Name == "" || tool.Description == "" || tool.InputSchema["type"] != "object" {
			t.Errorf("got %+v", tool)
		}
	}
}

func TestAnswer(t *testing.T) {
	for _, tc := range []struct{ tool, arguments, want string }{
		{"noop", `{}`, `{"content":[],"structuredContent":null}`},
		{"echo", `{"a":1.0,"a":2}`, `{"content":[],"structuredContent":{"a":1.0,"a":2}}`},
		{"raw_answer", `{"text":"[1,"}`, `{"content":[],"structuredContent":[1,}`},
		{"raw_answer", `{"base64":"` + base64.StdEncoding.EncodeToString([]byte("\xff")) + `"}`, "{\"content\":[],\"structuredContent\":\xff}"},
		{"raw_output", `{"text":"hello"}`, `hello`},
		{"report", `{"message":"m"}`, `{"content":[{"type":"text","text":"m"}],"isError":true}`},
		{"report", `{"message":"m","kind":"ValueError"}`, `{"content":[],"structuredContent":{"error":{"kind":"ValueError","message":"m"}},"isError":true}`},
		{"bad_json", `{}`, `{"content":[],"structuredContent":{"unfinished":}`},
		{"bad_utf8", `{}`, "{\"content\":[],\"structuredContent\":\"caf\xe9\"}"},
		{"nothing", `{}`, ``},
		{"huge_output", `{"bytes":3}`, `{"content":[],"structuredContent":"xxx"}`},
	} {
		var args arguments
		if err := json.Unmarshal([]byte(tc.arguments), &args); err != nil {
			t.Fatal(err)
		}
		out, ok := answer(tc.tool, json.RawMessage(tc.arguments), args)
		if !ok || string(out) != tc.want {
			t.Errorf("%s(%s): %s, want %s", tc.tool, tc.arguments, out, tc.want)
		}
	}
}
