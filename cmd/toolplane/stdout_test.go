package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// stdoutChild takes standard output for the protocol and then writes to it in
// every way that code could.
func stdoutChild() int {
	out, err := takeStdout()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("noise: fmt")
	println("noise: println")
	_, _ = os.Stdout.WriteString("noise: os.Stdout\n")
	writeDescriptor(1, "noise: descriptor 1\n")
	cmd := exec.Command(os.Args[0], "-test.run=^$") // prints PASS
	cmd.Stdout = os.Stdout
	_ = cmd.Run()
	if _, err := out.WriteString("protocol\n"); err != nil {
		return 1
	}
	return 0
}

// TestStdoutCarriesTheProtocolOnly: whatever else writes there reaches stderr.
func TestStdoutCarriesTheProtocolOnly(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"=stdout")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	if stdout.String() != "protocol\n" {
		t.Errorf("stdout has %q", stdout.String())
	}
	for _, noise := range []string{"noise: fmt", "noise: println", "noise: os.Stdout"} {
		if !strings.Contains(stderr.String(), noise) {
			t.Errorf("stderr lacks %q: %s", noise, stderr.String())
		}
	}
}
