package bridge

import (
	"encoding/json"
	"errors"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/fold"
	"github.com/toolplane/toolplane/host/result"
)

// resolve replaces the handles among arguments by the caller's own stored values,
// and tells whether there were any.
func (b *Bridge) resolve(c Caller, args json.RawMessage) (resolved json.RawMessage, found bool, err error) {
	// A value that is named twice, such as its rows and its total, is indexed once.
	documents := map[string]*fold.Document{}
	resolved, err = fold.ResolveHandles(args, fold.HandleLimits{}, func(handle, path string) (json.RawMessage, error) {
		found = true
		if b.results == nil {
			return nil, storeError("the result store is turned off on this host, so no handle can be used: pass the value itself")
		}
		doc := documents[handle]
		if doc == nil {
			value, _, err := b.results.View(owner(c), handle)
			if err != nil {
				return nil, err
			}
			doc = fold.NewDocument(value)
			documents[handle] = doc
		}
		return doc.At(path)
	})
	return resolved, found, err
}

// refuseHandle turns the failure of a handle into an error that can be raised.
// No message repeats the handle.
func refuseHandle(name string, err error) error {
	typ := capability.InvalidArgumentsError
	var store *result.Error
	var off *capability.Error
	if errors.As(err, &store) || errors.As(err, &off) {
		typ = ResultStoreError
	}
	return &capability.Error{Builtin: capability.ValueError, Type: typ, Message: "invalid arguments for " + name + ": " + err.Error(), Cause: err}
}
