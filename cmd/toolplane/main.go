// Command toolplane runs Python snippets in a browser sandbox, where they call
// plugins and pass large data by handle.
//
// There's one file for each command. They turn flags into options of the
// packages config and host, and print what comes back.
package main

import (
	"os"
)

func main() {
	ctx, stop := interruptible(os.Exit)
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	code := a.main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
