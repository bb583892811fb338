package main

import "os"

// takeStdout returns standard output, and points what Go calls standard output
// at standard error.
func takeStdout() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}
