// Package capability says what a snippet can call: names, schemas, aliases in
// Python, search, and the errors that a call ends with.
//
// A capability has one canonical name, such as plugin:issues/list, which always
// works through call_tool. Its Python aliases, issues_list(...) and
// issues.list(...), are a convenience that is left out where it would be
// ambiguous or shadow something; [Binding] says which and why.
//
// Providers implement [Provider] and put what they offer into a [Registry]. The
// bridge looks capabilities up there, checks arguments and calls them.
//
// Imports: the standard library, a JSON Schema library, and two small ones for
// Unicode normal forms and edit distances; nothing of Toolplane.
package capability
