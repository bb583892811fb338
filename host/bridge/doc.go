// Package bridge is the one place where a call by a snippet is allowed, checked
// and carried out.
//
// Whatever executor a snippet runs in, its calls come here with the scope and
// subject that the host knows it to have. The bridge resolves the result store's
// capabilities before it asks the registry, so that a registry that is shared can
// neither take them over nor see them; it checks arguments before a provider runs
// and answers before a snippet sees them; and it turns every failure into one of
// the errors that the wire knows.
//
// It logs what happened, never with what: no arguments, values, messages, labels
// or handles.
//
// An argument {"$result": "res_…", "path": "/rows"} is replaced by what is stored
// there for the caller, so that a large value passes from one capability to another
// without a detour through a snippet or a model.
//
// Imports: capability, result, fold and jsonvalue. It knows no provider and no wire.
package bridge
