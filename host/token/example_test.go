package token_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolplane/toolplane/host/token"
)

func Example() {
	dir, err := os.MkdirTemp("", "toolplane-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := token.Open(token.Options{Path: filepath.Join(dir, "tokens.json")})
	if err != nil {
		fmt.Println(err)
		return
	}
	secret, made, err := store.Create("editor on my laptop", token.CreateOptions{Kind: token.Agent})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("shown once, by Reveal alone:", len(secret.Reveal()), "characters; printed as", secret)

	entry, ok := store.Verify(secret.Reveal())
	fmt.Println(entry.Name, entry.Kind, ok)

	if err := store.Revoke(made.ID); err != nil {
		fmt.Println(err)
	}
	_, ok = store.Verify(secret.Reveal())
	fmt.Println("after it was revoked:", ok)
	// Output:
	// shown once, by Reveal alone: 46 characters; printed as tp_[redacted]
	// editor on my laptop agent true
	// after it was revoked: false
}

// A token that is configured, or made for a process that this one starts, needs no
// store.
func ExampleWrap() {
	secret, err := token.Wrap("a-token-from-an-environment-variable")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(secret.Matches("a-token-from-an-environment-variable"), secret.Matches("another"), secret)

	_, err = token.Wrap("too-short")
	fmt.Println(err)
	// Output:
	// true false tp_[redacted]
	// a token must have 32 to 512 characters, this one has 9; make one with: toolplane token new
}

// The origin that an extension was paired from is the only one that may use its token.
func ExampleEntry_AllowsOrigin() {
	entry := token.Entry{Origin: "chrome-extension://abcdefghijklmnop"}
	fmt.Println(entry.AllowsOrigin("chrome-extension://abcdefghijklmnop"), entry.AllowsOrigin("https://example.com"))
	// Output: true false
}
