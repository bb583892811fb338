// Package mcpserver is the agent's side of Toolplane: a Model Context Protocol
// server with a small, fixed set of tools, however many capabilities there are.
//
//   - search_capabilities finds what a snippet can call,
//   - get_capability_schemas describes it,
//   - execute_code runs a snippet that calls it.
//
// The package asks for runs and capabilities through [Options]; it knows neither
// plugins nor stores, and starts nothing.
package mcpserver
