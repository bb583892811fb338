"""The names that a snippet finds: call_tool, the result store, and an alias for each capability."""

import difflib
import json

from _toolplane.calls import start_call, to_json
from _toolplane.errors import ToolError, make_error

_SAVE = "toolplane:results/save"
_LOAD = "toolplane:results/load"
_RESET = "toolplane:session/reset"
_MAX_NEAREST = 3


def call_tool(name, args=None, /, **arguments):
    """Calls a capability by its canonical name.

    issue = await call_tool("plugin:issues/get", {"id": 1})
    issue = await call_tool("plugin:issues/get", id=1)
    """

    def encode(max_depth):
        if not isinstance(name, str):
            raise _invalid(f"call_tool takes the capability's name, a string, not a value of type {_type(name)}")
        if args is None:
            return to_json(arguments, "arguments", max_depth)
        if arguments:
            raise _invalid(f"give the arguments of {name} as one dict or as keywords, not as both")
        if not isinstance(args, dict):
            raise _invalid(f"the arguments of {name} are a dict, not a value of type {_type(args)}")
        return to_json(args, "arguments", max_depth)

    return start_call(name, encode, "call_tool")


def save_result(value, label=None):
    """Keeps a JSON value on the host, for this and later runs.

    handle = await save_result(rows, label="open issues")
    """

    def encode(max_depth):
        # One level for the arguments object around the value.
        text = to_json(value, "value", max_depth - 1, "ResultStoreError")
        if label is None:
            return f'{{"value":{text}}}'
        if not isinstance(label, str):
            raise _invalid(f"the label of save_result is a string, not a value of type {_type(label)}")
        return f'{{"value":{text},"label":{to_json(label, "label", max_depth)}}}'

    return start_call(_SAVE, encode, "save_result", unwrap="handle")


def load_result(handle):
    """The value kept under a handle.

    rows = await load_result(handle)
    """

    def encode(max_depth):
        text = to_json(handle, "handle", max_depth)
        if not isinstance(handle, str):
            message = f"load_result takes a handle of save_result, a string, not a value of type {_type(handle)}"
            raise make_error("ResultStoreError", "ValueError", message)
        return f'{{"handle":{text}}}'

    return start_call(_LOAD, encode, "load_result")


def reset_session():
    """Makes the next run begin with an empty namespace. The names of this run stay until it ends.

    await reset_session()
    """
    return start_call(_RESET, lambda max_depth: "{}", "reset_session")


class Scope:
    """The capabilities of one provider: `issues.list(…)` for plugin:issues/list."""

    def __init__(self, name):
        self.__dict__["_Scope__name"] = name

    def __getattr__(self, name):
        tools = sorted(t for t in vars(self) if not t.startswith("_"))
        near = difflib.get_close_matches(name, tools, _MAX_NEAREST, 0.4) or tools[:_MAX_NEAREST]
        shown = ", ".join(f"{self.__name}.{tool}" for tool in near)
        # With `obj` given, Python doesn't guess at a better name once more.
        raise AttributeError(f"{self.__name} has no tool {name}; nearest: {shown}", name=name, obj=None)

    def __setattr__(self, name, value=None):
        raise AttributeError(f"{self.__name}.{name} can't be set or deleted: Toolplane provides {self.__name}")

    __delattr__ = __setattr__

    def __dir__(self):
        return [tool for tool in vars(self) if not tool.startswith("_")]

    def __repr__(self):
        return f"<tools of {self.__name}: {', '.join(dir(self))}>"


FIXED = {
    "call_tool": call_tool,
    "save_result": save_result,
    "load_result": load_result,
    "reset_session": reset_session,
    "ToolError": ToolError,
}

# The names of the current catalog. Replaced as a whole by bind.
current = dict(FIXED)


def bind(catalog_json):
    """Replaces the aliases by those of a catalog, from the next run on.

    The catalog is {"revision", "bindings": [{"name", "flat"?, "scope"?, "tool"?, "params", "call"}]}.
    """
    global current
    bound = dict(FIXED)
    for binding in json.loads(catalog_json)["bindings"]:
        flat, scope, tool = binding.get("flat"), binding.get("scope"), binding.get("tool")
        if flat:
            bound.setdefault(flat, _alias(binding, flat))
        if scope and tool:
            tools = bound.setdefault(scope, Scope(scope))
            if isinstance(tools, Scope):
                vars(tools)[tool] = _alias(binding, f"{scope}.{tool}")
    current = bound


def _alias(binding, shown):
    name = binding["name"]
    shape = binding.get("call") or f"await {shown}(…)"

    def alias(*positional, **arguments):
        def encode(max_depth):
            if positional:
                raise _invalid(f"{shown} takes keyword arguments only; write: {shape}")
            return to_json(arguments, "arguments", max_depth)

        return start_call(name, encode, shown)

    alias.__name__ = shown.rpartition(".")[2]
    alias.__qualname__ = shown
    alias.__module__ = None
    alias.__doc__ = f"Calls {name}.\n\n{shape}"
    return alias


def _invalid(message):
    return make_error("InvalidArgumentsError", "ValueError", message)


def _type(value):
    return type(value).__name__
