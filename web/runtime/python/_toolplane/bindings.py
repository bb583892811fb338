"""The names that a snippet finds: call_tool, the store, and an alias for each capability."""

import json
import types

from _toolplane.calls import call, call_tool
from _toolplane.errors import ToolError


def save_result(value, label=None):
    """Keeps a JSON value on the host. Returns its handle: handle = await save_result(rows, label="rows")."""
    arguments = {"value": value} if label is None else {"value": value, "label": label}
    return call("toolplane:results/save", arguments, "handle")


def load_result(handle):
    """The value kept under a handle: rows = await load_result(handle)."""
    return call("toolplane:results/load", {"handle": handle})


FIXED = {"call_tool": call_tool, "save_result": save_result, "load_result": load_result, "ToolError": ToolError}
current = dict(FIXED)


def bind(catalog_json):
    """Replaces the aliases by those of a catalog."""
    bound = dict(FIXED)
    for binding in json.loads(catalog_json).get("bindings", ()):
        alias = _alias(binding)
        if binding.get("flat"):
            bound.setdefault(binding["flat"], alias)
        if binding.get("scope") and binding.get("tool"):
            setattr(bound.setdefault(binding["scope"], types.SimpleNamespace()), binding["tool"], alias)
    current.clear()
    current.update(bound)


def _alias(binding):
    name = binding["name"]

    def alias(**arguments):
        return call(name, arguments)

    alias.__doc__ = binding.get("call")
    return alias
