// Package sdk makes a Toolplane plugin out of Go functions.
//
// A plugin is a main package that offers tools and has an empty main function:
//
//	package main
//
//	import (
//		"context"
//
//		"github.com/toolplane/toolplane/plugins/sdk"
//	)
//
//	type greetIn struct {
//		Name  string `json:"name" jsonschema:"minLength=1" jsonschema_description:"Whom to greet."`
//		Times int    `json:"times" jsonschema:"minimum=1,maximum=10,default=1"`
//	}
//
//	type greetOut struct {
//		Greetings []string `json:"greetings"`
//	}
//
//	func init() {
//		sdk.Tool("greet", "Greets somebody.", func(_ context.Context, in greetIn) (greetOut, error) {
//			if in.Name == "nobody" {
//				return greetOut{}, sdk.LookupError("there is nobody called %q", in.Name)
//			}
//			...
//		})
//	}
//
//	func main() {}
//
// It is built with the standard Go toolchain:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o greet.wasm .
//
// The module exports describe and call, the convention of MCP servlets, so it runs on other hosts of such servlets too.
// The input and output schemas come from the Go types; see [Tool] for the tags. On the machine that develops it, the
// same package is an ordinary Go program: [Invoke] calls a tool from a test.
//
// A module's instance runs one call at a time and may serve many, also of different users: keep no user's data in
// package variables.
package sdk
