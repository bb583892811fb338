// Package plugin runs WebAssembly plugins (Extism modules) as providers of capabilities.
//
// A Runtime compiles modules and keeps the compiled code on disk. Open turns one module and its permissions into a
// Plugin: it asks the module which tools it has, and then serves calls from a bounded pool of instances. A plugin gets
// nothing that its Spec doesn't grant: no host to talk to, no folder, no variable, no more memory, time or output than
// the Spec says.
//
// A guest is taken to be hostile. Whatever it does (loop, trap, exit, grow, flood its output, answer nonsense), the
// caller gets an error of host/capability in time, other plugins and other calls of the same plugin go on, and nothing
// that the guest prints reaches this process's standard output, which belongs to the protocol of `toolplane serve mcp`.
//
// The package knows no wire and no dispatch: it may import host/capability and host/jsonvalue only.
package plugin
