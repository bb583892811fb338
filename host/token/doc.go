// Package token keeps the bearer tokens of people, agents and browser extensions.
//
// A token is shown once, when [Store.Create] makes it; the [Store] keeps its
// SHA-256 in a JSON file that only this user can read. A plain fast hash is right
// here: slow, salted ones protect passwords, which can be guessed, and nobody
// guesses 256 random bits. They would make each request slow, too.
//
// Several processes may use one file. Changes are made under a lock and replace
// the file whole, so that a reader, or a process that dies in the middle, leaves or
// finds either the old list or the new one. [Store.Verify] looks at the file each
// time, so that a token that another process revokes is refused from then on.
//
// No method returns, prints or logs a hash, and a [Secret] prints as a
// placeholder however it is printed.
//
// The package imports the standard library, and golang.org/x/sys for file locks.
package token
