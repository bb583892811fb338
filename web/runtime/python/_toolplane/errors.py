"""The errors that a snippet sees: one base class, and one class for each type of error that the host names."""

import builtins

# The builtins that an error may be: what `except ValueError:` and its like can rely on.
BUILTINS = ("ValueError", "PermissionError", "LookupError", "TimeoutError", "MemoryError", "RuntimeError")

# Classes are kept so that two errors of one type are of one class. The bound only guards against a host that makes
# up types without end.
_MAX_CLASSES = 256
_classes = {}


class ToolError(Exception):
    """Base of every error that comes from Toolplane.

    Each error is of a class named by its type, which is a subclass of ToolError and of one builtin (ValueError,
    PermissionError, LookupError, TimeoutError, MemoryError or RuntimeError). `host_type` is the type's name and `data`
    is what else the host said.
    """

    host_type = "ToolError"
    data = {}

    def __str__(self):
        return str(self.args[0]) if self.args else ""


# A traceback prints a class of this module without a prefix.
ToolError.__module__ = "builtins"


def error_class(host_type, builtin):
    """The class for a type of error. An unknown builtin counts as RuntimeError, an unusable name as the builtin's."""
    if builtin not in BUILTINS:
        builtin = "RuntimeError"
    if not (isinstance(host_type, str) and host_type.isidentifier()):
        host_type = builtin
    key = host_type, builtin
    found = _classes.get(key)
    if found is None:
        bases = (ToolError, getattr(builtins, builtin))
        body = {"__module__": "builtins", "host_type": host_type, "__str__": ToolError.__str__}
        found = type(host_type, bases, body)
        if len(_classes) < _MAX_CLASSES:
            _classes[key] = found
    return found


def make_error(host_type, builtin, message, data=None):
    error = error_class(host_type, builtin)(message)
    error.data = {} if data is None else data
    return error


def host_error(payload):
    """The exception for an error that the host answered: {"message", "data": {"builtin", "type", …}}."""
    if not isinstance(payload, dict):
        payload = {"message": str(payload)}
    data = payload.get("data")
    data = data if isinstance(data, dict) else {}
    extra = {k: v for k, v in data.items() if k not in ("builtin", "type")}
    return make_error(data.get("type"), data.get("builtin"), str(payload.get("message", "")), extra)


def nearest_builtin(error):
    """Name of the builtin that `error` counts as for a caller outside Python."""
    for name in BUILTINS:
        if isinstance(error, getattr(builtins, name)):
            return name
    return "RuntimeError"
