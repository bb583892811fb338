package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolplane/toolplane/plugins/sdk"
)

type greetIn struct {
	Name  string `json:"name" jsonschema:"minLength=1" jsonschema_description:"Whom to greet."`
	Times int    `json:"times" jsonschema:"minimum=1,maximum=10,default=1"`
}

type greetOut struct {
	Greetings []string `json:"greetings"`
}

func greet(_ context.Context, in greetIn) (greetOut, error) {
	if in.Name == "nobody" {
		return greetOut{}, sdk.LookupError("there is nobody called %q", in.Name)
	}
	var out greetOut
	for range in.Times {
		out.Greetings = append(out.Greetings, "Hello, "+in.Name+"!")
	}
	return out, nil
}

// A plugin registers its tools in an init function and has an empty main function.
func ExampleTool() {
	sdk.Tool("greet", "Greets somebody.", greet, sdk.ReadOnly())

	answer, err := sdk.Invoke(context.Background(), "greet", `{"name":"Ada","times":2}`)
	fmt.Println(string(answer), err)
	// Output: {"greetings":["Hello, Ada!","Hello, Ada!"]} <nil>
}

// A snippet can catch this one with `except LookupError:`.
func ExampleLookupError() {
	_, err := greet(context.Background(), greetIn{Name: "nobody"})
	fmt.Println(err)
	// Output: there is nobody called "nobody"
}

// Shout is a value that has its own way to be written.
type Shout string

func (s Shout) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"shout":"`...)
	dst = append(dst, strings.ToUpper(string(s))...)
	return append(dst, `"}`...), nil
}

func ExampleAppender() {
	sdk.Tool("shout", "Shouts a word.", func(_ context.Context, in struct {
		Word string `json:"word" jsonschema:"pattern=^[a-z]+$"`
	}) (Shout, error) {
		return Shout(in.Word), nil
	})

	answer, err := sdk.Invoke(context.Background(), "shout", `{"word":"hey"}`)
	fmt.Println(string(answer), err)
	// Output: {"shout":"HEY"} <nil>
}

// Arguments and answers of this type are carried as they were written, whatever size their numbers have.
func ExampleTool_raw() {
	sdk.Tool("echo", "Answers its arguments.", func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		return in, nil
	})

	answer, err := sdk.Invoke(context.Background(), "echo", `{"n":1.0,"big":10000000000000000000000}`)
	fmt.Println(string(answer), err)
	// Output: {"n":1.0,"big":10000000000000000000000} <nil>
}
