"""Capability calls: each is a future that the host settles.

A call starts when it's made, so that asyncio.gather over calls runs them at once, and it's given up when the run ends.
It never raises: whatever goes wrong, also before anything was sent, is raised by `await`. Awaiting a C future adds no
frame to a traceback, a Python function that raises would.
"""

import asyncio

import _toolplane_host as _host
from _toolplane import unawaited
from _toolplane.encode import MAX_DEPTH, NotJSON, decode, encode
from _toolplane.errors import host_error, make_error
from _toolplane.site import Site
from _toolplane.unawaited import UnawaitedToolCallError, Watched

# Ids are never used twice in an interpreter's life: a late answer to an earlier run's call finds nothing.
_last_id = 0
_current = None


class _UnawaitedAttribute(UnawaitedToolCallError, AttributeError):
    """So that hasattr and getattr with a default work on a call as on anything else."""


_UnawaitedAttribute.__name__ = _UnawaitedAttribute.__qualname__ = UnawaitedToolCallError.__name__
_UnawaitedAttribute.__module__ = "builtins"


class ToolCall(Watched):
    """A capability call on its way. `await` it for the answer."""

    __slots__ = "_id", "_run", "shown", "unwrap"

    def __init__(self, run, shown, unwrap):
        super().__init__(loop=asyncio.get_running_loop())
        self._id = None
        self._run = run
        self.owner = None
        self.shown = shown
        self.site = Site()
        self.unwrap = unwrap
        run.unobserved[self] = None

    def observed(self):
        self._run.unobserved.pop(self, None)

    def cancel(self, msg=None):
        cancelled = super().cancel(msg)
        if cancelled and self._run.pending.pop(self._id, None) is not None:
            _tell_cancelled(self._id)
        return cancelled

    def fail(self, error):
        error.__context__ = None
        self.set_exception(error.with_traceback(None))

    # What one does with an answer, done with the call: the error at that very line is the one that helps.

    def _complain(self, *_):
        error, _ = unawaited.complaint([self])
        raise error

    __getitem__ = __setitem__ = __contains__ = __len__ = __iter__ = _complain

    def __bool__(self):
        return True  # asyncio may ask, and __len__ would answer

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"'ToolCall' object has no attribute '{name}'")
        error, _ = unawaited.complaint([self])
        raise _UnawaitedAttribute(str(error))

    def __repr__(self):
        text = self.site.text() or f"{self.shown}(…)"
        if self in self._run.unobserved:
            return f"<not awaited: {text} on line {self.site.line}; write: await {text}>"
        return f"<{text} on line {self.site.line}, {self._state.lower()}>"


class Calls:
    """The capability calls of one run. None as a limit means there's none."""

    def __init__(self, max_depth=None, max_calls=None, max_in_flight=None):
        self.max_depth = max_depth or MAX_DEPTH
        self.max_calls = max_calls
        self.max_in_flight = max_in_flight
        self.made = 0
        self.pending = {}
        self.unobserved = {}
        self.over = False

    def begin(self, call, name, arguments_json):
        global _last_id
        if self.over:
            raise make_error("RunOverError", "RuntimeError", f"{call.shown} was called after its run had ended")
        if self.max_calls and self.made >= self.max_calls:
            message = (
                f"this run has made {self.made} capability calls, the limit ([executor] max_calls); "
                "ask for more with each call, or split the work over several runs"
            )
            raise make_error("CallLimitError", "RuntimeError", message)
        if self.max_in_flight and len(self.pending) >= self.max_in_flight:
            message = (
                f"{len(self.pending)} capability calls are in flight, the limit ([executor] max_calls_in_flight); "
                f"await some before you start more, for example gather at most {self.max_in_flight} at a time"
            )
            raise make_error("CallLimitError", "RuntimeError", message)
        self.made += 1
        _last_id += 1
        call._id = _last_id
        self.pending[call._id] = call
        try:
            _host.send(call._id, name, arguments_json)
        except Exception as error:
            self.pending.pop(call._id, None)
            raise make_error("HostError", "RuntimeError", f"{call.shown} couldn't be sent: {error}") from None

    def close(self):
        """Gives up what is still in flight. Nothing can be called any more."""
        self.over = True
        for call in self.unobserved:
            unawaited.silence(call)
        for call in list(self.pending.values()):
            call.cancel()


def open_run(limits):
    """Makes the calls of a new run the current ones."""
    global _current
    _current = Calls(limits.get("max_depth"), limits.get("max_calls"), limits.get("max_calls_in_flight"))
    return _current


def start_call(name, arguments, shown, unwrap=None):
    """Calls a capability. `arguments` is its arguments' JSON text, or a function that makes it from the nesting cap."""
    run = _current
    call = ToolCall(run, shown, unwrap)
    try:
        run.begin(call, name, arguments(run.max_depth))
    except Exception as error:
        call.fail(error)
    return call


def to_json(value, root, max_depth, host_type="InvalidArgumentsError", expression=None):
    """The JSON text of a user's value. What isn't JSON is a ValueError of type `host_type`, but a call that should
    have been awaited first is an UnawaitedToolCallError. For `root` and `expression` see encode."""
    try:
        return encode(value, root, max_depth, expression)
    except NotJSON as error:
        if isinstance(error.culprit, ToolCall):
            raise unawaited.complaint([error.culprit])[0] from None
        raise make_error(host_type, "ValueError", str(error)) from None


def settle(call_id, ok, payload_json):
    """The host's answer to a call: the value's JSON text, or {"message", "data": {"builtin", "type", …}}."""
    call = _current.pending.pop(call_id, None) if _current else None
    if call is None or call.done():
        return
    try:
        payload = decode(payload_json)
        if ok:
            call.set_result(payload if call.unwrap is None else payload[call.unwrap])
        else:
            call.fail(host_error(payload))
    except MemoryError as error:
        call.fail(error)
    except Exception as error:
        message = f"the answer to {call.shown} can't be read: {error}"
        call.fail(make_error("AnswerError", "RuntimeError", message))


def _tell_cancelled(call_id):
    cancel = getattr(_host, "cancel", None)
    if cancel:
        try:
            cancel(call_id)
        except Exception:
            pass  # only a hint: the call's answer is dropped either way
