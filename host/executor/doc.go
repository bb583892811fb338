// Package executor runs Python snippets in connected pages.
//
// An executor page is a web page that owns a WebSocket to the host and a pool
// of pyodide workers that have no network, no storage and no token. The package
// has three parts:
//
//   - [Hub] accepts the pages' WebSockets, checks their tokens, sends them runs
//     and answers the capability calls of those runs. It decides in whose scope
//     a call is made: in that of the run that the host itself sent over that
//     very connection, whatever the page says.
//   - [Headless] starts a headless Chromium on demand, speaks to it over a pipe
//     (no debugging port), opens the executor page in it and hands it a token.
//     It starts a new browser when the old one is gone, and leaves no process
//     and no profile behind.
//   - [Executor] is what the rest of the host uses: it queues runs, picks a
//     page, keeps the time and always answers with a [Result].
//
// The package imports the wire (wsbridge), its payload types
// (wsbridge/protocol) and the error and registry types (host/capability). It
// knows no provider, no store and no configuration file.
package executor
