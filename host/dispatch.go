package host

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolplane/toolplane/host/bridge"
	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/executor"
)

// callPatience is how long a call waits for its plugin to be loaded.
const callPatience = 30 * time.Second

// dispatcher hands the calls of runs to the bridge. A call of a plugin that's
// still being loaded waits for it, and one of a plugin that couldn't be loaded
// says why, rather than that there's no such capability.
type dispatcher struct {
	bridge  *bridge.Bridge
	plugins *pluginSet
}

// Dispatch implements [executor.Dispatcher].
func (d dispatcher) Dispatch(ctx context.Context, from executor.Origin, name string, args json.RawMessage) (json.RawMessage, *capability.Error) {
	if err := d.plugins.await(ctx, name); err != nil {
		return nil, err
	}
	return d.bridge.Call(ctx, bridge.Caller{Scope: from.Scope, Subject: from.Subject, RunID: from.RunID}, name, args)
}

// await waits for the plugin that a capability belongs to, if it's one that is
// known. Any other name is for the bridge to judge.
func (s *pluginSet) await(ctx context.Context, capabilityName string) *capability.Error {
	name, err := capability.ParseName(capabilityName)
	if err != nil || name.Kind != "plugin" {
		return nil
	}
	item, disabled := s.find(name.Provider)
	if disabled {
		return capability.Errorf(capability.LookupError, "UnknownCapabilityError",
			"the plugin %s is turned off: set enabled = true in [plugins.%s]", name.Provider, name.Provider)
	}
	if item == nil {
		return nil
	}
	if !item.settled() {
		patience := time.NewTimer(callPatience)
		defer patience.Stop()
		select {
		case <-item.done:
		case <-patience.C:
			return capability.Errorf(capability.TimeoutError, "PluginTimeoutError",
				"the plugin %s is still being loaded after %s: try again later", name.Provider, callPatience)
		case <-ctx.Done():
			return capability.AsError(context.Cause(ctx))
		}
	}
	if item.state.State == PluginFailed {
		return capability.Errorf(capability.RuntimeError, "PluginError", "the plugin %s isn't available: %s", name.Provider, item.state.Error)
	}
	return nil
}
