"""What a failed run says: type, nearest builtin, message, and a traceback of the user's own lines."""

import errno
import sys
import traceback

import _toolplane_host as _host
from _toolplane.errors import make_error, nearest_builtin
from _toolplane.site import PLUMBING

# Frames of these aren't the user's. The message says what the standard library found; its lines say nothing more.
_NOT_THE_USER = PLUMBING, "<frozen ", f"{sys.prefix}/lib/python", "/lib/python"
# A result must fit in a frame whatever the error's text.
_MAX_MESSAGE = 64 << 10
_MAX_TRACEBACK = 128 << 10


def describe(error, frame=None):
    """The error object of a result. `frame` is the place of an error that wasn't raised, as a FrameSummary."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and _output_full():
        # What a print beyond the limit raises. The page says how much that is.
        said = make_error("OutputLimitError", "MemoryError", "the run printed more than its limit")
        error = said.with_traceback(error.__traceback__)
    return {
        "type": _clean(type(error).__name__, 200),
        "builtin": nearest_builtin(error),
        "message": _clean(_message(error), _MAX_MESSAGE),
        "traceback": _clean(_traceback(error, frame), _MAX_TRACEBACK),
    }


def _message(error):
    if isinstance(error, SystemExit):
        code = "" if error.code is None else ascii(error.code)
        return f"the snippet called sys.exit({code}); to end it early, return"
    if isinstance(error, SyntaxError):
        return f"{error.msg} (line {error.lineno})" if error.lineno else str(error.msg)
    try:
        message = str(error)
    except BaseException:
        return "(the error's own text could not be made)"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"{message}: files in the sandbox are kept in memory{_allowed()}; remove some, or work on less at a time"
    if message:
        return message
    if isinstance(error, MemoryError):
        return _out_of_memory()
    if isinstance(error, KeyboardInterrupt):
        return "the snippet was interrupted"
    return _line_of(error)


def _output_full():
    full = getattr(_host, "output_full", None)
    return full is not None and full()


def _out_of_memory():
    way_out = (
        "work on a part of the data at a time, del what isn't needed any more, "
        "or keep data on the host with save_result and load it in pieces"
    )
    return f"the snippet ran out of memory{_allowed()}: {way_out}"


def _allowed():
    limit = getattr(_host, "memory_limit", None)
    return f", of which it may use {limit()} MiB ([executor] max_memory_mb)" if limit else ""


def _line_of(error):
    """Something to say for an error without text, such as a failed assert: the user's line that raised it."""
    frames = filter(_is_user_frame, traceback.extract_tb(error.__traceback__))
    last = next(reversed(list(frames)), None)
    return f"{type(error).__name__} on line {last.lineno}: {last.line}" if last else ""


def _traceback(error, frame):
    try:
        summary = traceback.TracebackException.from_exception(error, compact=True)
        _keep_user_frames(summary)
        if frame is not None:
            summary.stack[:] = [frame]
        return "".join(summary.format())
    except Exception as failure:  # no memory, no stack, or an object of the user's that plays tricks
        return f"{type(error).__name__} (no traceback: {type(failure).__name__})\n"


def _keep_user_frames(summary):
    """Drops the other frames of the error, its causes and contexts, and the errors of its groups."""
    todo, seen = [summary], set()
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.stack[:] = filter(_is_user_frame, one.stack)
        # A cause from deep within the standard library, such as the CancelledError below a TimeoutError, is no news.
        if _is_foreign(one.__cause__):
            one.__cause__ = None
        if _is_foreign(one.__context__):
            one.__context__ = None
        todo += [one.__cause__, one.__context__, *(one.exceptions or ())]


def _is_user_frame(frame):
    return not frame.filename.startswith(_NOT_THE_USER)


def _is_foreign(summary):
    return summary is not None and summary.stack and not any(map(_is_user_frame, summary.stack))


def _clean(text, limit):
    if len(text) > limit:
        half = limit // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode()
