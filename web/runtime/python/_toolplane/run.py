"""One run at a time, from start to finish."""

import asyncio
import builtins
import inspect
import random
import sys
from time import monotonic

import _toolplane_host as _host
from _toolplane import bindings, calls, guard, unawaited
from _toolplane.compile import compile_snippet, forget_sources, register_source
from _toolplane.encode import decode, encode
from _toolplane.report import describe

_namespace = sys.modules["__main__"].__dict__
# Room to describe an error in when user data fills the memory.
_BALLAST = 1 << 20
# How long tasks that the snippet left behind may take to be cancelled, in seconds.
_MAX_CLEANUP = 0.5
# The result when not even an error could be described.
_FAILED = (
    '{"ok":false,"error":{"type":"MemoryError","builtin":"MemoryError",'
    '"message":"the run could not be finished: no memory was left to describe its error, or the snippet took apart '
    'what Python needs for that","traceback":""}}'
)

_run = None
_bound = {}
# What `_` is in the next run of the session that this interpreter holds.
_previous = None


class Run:
    """What belongs to one run."""

    def __init__(self):
        self.abort = None
        self.ballast = bytearray(_BALLAST)
        self.calls = calls.open_run({})
        self.first = False
        self.lent = {}
        self.streams = ()
        self.task = None


def start(request_json, first):
    """Begins a run: {"code", "filename", "inputs", "previous"?, "limits"}. Its result goes to the host's finish, once.

    `first` tells that the interpreter is pristine; else the run goes on with the namespace of the one before.
    """
    global _run
    if first:
        random.seed()  # it repeats in every interpreter that came from one snapshot
        forget_sources()
    _run = Run()
    _run.first = first
    _run.task = asyncio.get_running_loop().create_task(_supervise(_run, request_json))


def settle(call_id, ok, payload_json):
    """The host's answer to a capability call; see calls.settle."""
    try:
        calls.settle(call_id, ok, payload_json)
    except KeyboardInterrupt as interrupt:  # it came in here, where no task sees it
        _abort(interrupt)


async def _supervise(run, request_json):
    result = _FAILED
    try:
        try:
            result = await _result(run, request_json)
        except BaseException as error:
            result = _failure(run, error)
        await _cancel_leftovers(run)
        if run.abort:
            result = _failure(run, run.abort)
    except BaseException as error:  # an interrupt that came while the plumbing ran
        result = _failure(run, error)
    finally:
        try:
            guard.flush(run.streams)  # may run code of the user's
            _host.disarm()
            run.ballast = None
            run.calls.close()
            _take_back(run)
        finally:
            _host.finish(result)


async def _result(run, request_json):
    run.streams = guard.new_streams()
    request = decode(request_json)
    run.calls = calls.open_run(request.get("limits") or {})
    _lend(run, request)
    source = request["code"]
    filename = register_source(source, request.get("filename") or "<snippet>")
    snippet = compile_snippet(source, filename, bindings.current)
    value = await eval(snippet.code, _namespace)
    if run.calls.unobserved:
        error, frame = unawaited.complaint(list(run.calls.unobserved))
        return _error_json(describe(error, frame))
    try:
        text = calls.to_json(value, "value", run.calls.max_depth, "ReturnValueError", snippet.returned)
    except ValueError as error:
        _close_unstarted(value)
        hint = " (or end the last line with ; for no value)" if snippet.implicit else ""
        error.args = (f"the run's value can't be returned: {error}{hint}",)
        return _error_json(describe(error.with_traceback(None)))
    global _previous
    _previous = value
    return f'{{"ok":true,"value":{text}}}'


def _close_unstarted(value):
    """A returned coroutine has had its error; Python's warning that nobody awaited it would only repeat that."""
    if inspect.iscoroutine(value) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
        value.close()


def _lend(run, request):
    """Puts the bindings, the inputs and the previous value into the namespace."""
    global _bound, _previous
    for name, binding in _bound.items():
        if name not in bindings.current and _namespace.get(name) is binding:
            del _namespace[name]  # of an earlier catalog
    _bound = bindings.current
    _namespace.update(_bound)
    if run.first:
        _previous = request.get("previous")
    _namespace["_"] = _previous
    inputs = request.get("inputs") or {}
    lent = {name: value for name, value in inputs.items() if _free(name)}
    lent["inputs"] = inputs
    for name, value in lent.items():
        run.lent[name] = value, name in _namespace, _namespace.get(name)
    _namespace.update(lent)


def _free(name):
    return name.isidentifier() and name not in bindings.current and not hasattr(builtins, name)


def _take_back(run):
    """Inputs are for their run only. One that the snippet assigned to stays."""
    for name, (value, existed, before) in run.lent.items():
        if name in _namespace and _namespace[name] is value:
            if existed:
                _namespace[name] = before
            else:
                del _namespace[name]
    run.lent = {}  # the namespace may outlive this run: nothing of the inputs may


async def _cancel_leftovers(run):
    """Cancels the tasks that the snippet left running. Those that don't end in time are left to the host."""
    deadline = monotonic() + _MAX_CLEANUP
    while left := asyncio.all_tasks() - {run.task}:
        room = deadline - monotonic()
        if room <= 0:
            return
        for task in left:
            task.cancel()
        try:
            await asyncio.wait(left, timeout=room)
        except asyncio.CancelledError:
            continue  # one of them cancelled this task


def _failure(run, error):
    if isinstance(error, asyncio.CancelledError) and run.abort:
        error = run.abort
    if isinstance(error, MemoryError):
        run.ballast = None
    described = describe(error)
    if "'ToolCall'" in described["message"] and run.calls.unobserved:
        # The snippet's own error, such as adding a number to a call. Say what's behind it.
        cause, _ = unawaited.complaint(list(run.calls.unobserved))
        described["message"] += f"; {cause}"
        described["traceback"] += f"{cause}\n"
    return _error_json(described)


def _error_json(error):
    return encode({"ok": False, "error": error})


def _abort(error):
    """Ends the run for an exception that asyncio lets through a task to the event loop."""
    if _run and _run.task and not _run.task.done():
        _run.abort = error
        _run.task.cancel()


def _install():
    loop = asyncio.get_running_loop()
    loop._system_exit_handler = lambda code: _abort(SystemExit(code))
    loop._keyboard_interrupt_handler = lambda: _abort(KeyboardInterrupt())
    guard.install()


bind = bindings.bind
_install()
