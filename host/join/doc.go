// Package join lets the processes of one user share one host.
//
// A host that may be joined leaves a file in the user's state folder: its address
// and a token, readable by the user alone ([Offer]). A process that's to serve the
// same configuration finds it there ([Find]), asks it to prove that it knows the
// token before it tells it anything, and then passes an agent's messages on to it
// ([Bridge]).
//
// The package imports the standard library, host/token, and golang.org/x/sys for
// file locks. It starts no host.
package join
