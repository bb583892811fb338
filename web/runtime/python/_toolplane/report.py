"""What a failed run says: type, nearest builtin, message, and a traceback without plumbing."""

import traceback

from _toolplane.errors import nearest_builtin

_PLUMBING = "<toolplane>/", "/lib/python314.zip/pyodide/", "/lib/python314.zip/_pyodide/"
# A message or traceback of any length must not become a frame that no one accepts.
_MAX_MESSAGE = 64 << 10
_MAX_TRACEBACK = 128 << 10


def describe(error, host_type=None, message=None):
    """The error object of a result for a raised exception."""
    if message is None:
        try:
            message = str(error)
        except BaseException:
            message = "<the error's text could not be made>"
    if host_type is None:
        host_type = getattr(type(error), "host_type", None) or type(error).__name__
    return {
        "type": _clean(str(host_type), 200),
        "builtin": nearest_builtin(error),
        "message": _clean(message, _MAX_MESSAGE),
        "traceback": _clean(format_traceback(error), _MAX_TRACEBACK),
    }


def format_traceback(error):
    try:
        summary = traceback.TracebackException.from_exception(error, compact=True)
        _drop_plumbing(summary)
        return "".join(summary.format())
    except RecursionError, MemoryError:
        return f"{type(error).__name__}: (no traceback: {type(error).__name__} while making it)\n"


def _drop_plumbing(summary):
    """Drops plumbing frames from the error, its causes and contexts, and the errors of its groups."""
    todo, seen = [summary], set()
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.stack[:] = [frame for frame in one.stack if not frame.filename.startswith(_PLUMBING)]
        if one.stack == [] and isinstance(one.stack, list) and one.exceptions is None:
            pass
        todo += [one.__cause__, one.__context__, *(one.exceptions or ())]


def _clean(text, limit):
    if len(text) > limit:
        half = limit // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode()
