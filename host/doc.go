// Package host wires the parts of Toolplane into one running host, and owns the
// order in which they start and end.
//
// Nothing below host/ imports this package; the front ends of cmd/toolplane do.
package host
