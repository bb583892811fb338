// Package mcpserver is the agent's side of Toolplane: a Model Context Protocol
// server with a small, fixed set of tools, however many capabilities there are.
//
//   - search_capabilities finds what a snippet can call,
//   - get_capability_schemas describes it,
//   - execute_code runs a snippet that calls it,
//   - result_query reads parts of what is too large to be answered whole,
//   - reset_session forgets what runs leave to later ones.
//
// Beside them stand, as tools of their own, the capabilities that the operator
// exposes (see [Exposure]). The resources toolplane://guide and
// toolplane://namespace say how to drive the server and what it has, and
// toolplane://results/{handle} has stored values in full.
//
// # Folding
//
// A value over a threshold is put into the result store, and its preview, shape
// and handle are answered in its place: in the structured content under "folded",
// with a line of text that says how to read on, and with the handle in the _meta
// of the result under "toolplane/result-handle". Only that says that a result is
// folded. A value that looks like a fold stays a value, because nothing here reads
// one to find out.
//
// The package asks for runs, calls and stored values through [Options]; it knows
// neither plugins nor the bridge, and starts nothing.
package mcpserver
