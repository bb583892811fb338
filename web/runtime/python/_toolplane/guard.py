"""What would hang or end the interpreter is a clear error instead: input(), breakpoint(), os._exit(), asyncio.run()."""

import asyncio
import builtins
import collections.abc
import inspect
import io
import os
import sys

import _toolplane_host as _host
from pyodide.webloop import WebLoop

from _toolplane.unawaited import Watched


class UnavailableError(RuntimeError):
    """Something that a snippet can't have, such as a keyboard."""


UnavailableError.__module__ = "builtins"


def _no_input(prompt="", /):
    raise UnavailableError(
        'input() has nobody to ask in a snippet; pass values as inputs and read them as inputs["name"]'
    )


def _no_breakpoint(*_, **__):
    raise UnavailableError("breakpoint() has no debugger in a snippet; print what you want to see, or return it")


def _no_exit(status=None):
    raise UnavailableError("a snippet can't end the interpreter; to end the snippet early, return")


class _NoStdin(io.TextIOBase):
    """Standard input: any read is an error, not a wait."""

    encoding = "utf-8"
    name = "<stdin>"

    def readable(self):
        return True

    def fileno(self):
        return 0

    def close(self):
        pass  # exit() closes it; the next run needs it

    def read(self, size=-1, /):
        _no_input()

    readline = __next__ = read


def _no_run(main, **_):
    if isinstance(main, Watched):
        text = main.site.text()
    else:
        text = f"{getattr(main, '__qualname__', 'main')}()"
        if inspect.iscoroutine(main):
            main.close()  # or it would be reported as never awaited
    message = "asyncio.run() can't be used in a snippet, which runs in an event loop already"
    raise RuntimeError(f"{message}; write: await {text}")


def install():
    """Puts the guards in place. Once, before the base snapshot."""
    builtins.input = _no_input
    sys.breakpointhook = sys.__breakpointhook__ = _no_breakpoint
    os._exit = os.abort = _no_exit
    asyncio.run = _no_run
    WebLoop.run_until_complete = lambda self, main: _no_run(main)
    _accept_calls_as_tasks()


def _accept_calls_as_tasks():
    """Lets asyncio.create_task and TaskGroup.create_task take a capability call, as if it were a coroutine.

    A future's iterator is all that a task needs: it has send, throw and close, in C, so errors gain no frame.
    """
    future = asyncio.Future()
    collections.abc.Coroutine.register(type(future.__await__()))
    future.cancel()
    create_task = WebLoop.create_task

    def create_task_of_call(self, coro, **options):
        return create_task(self, coro.__await__() if isinstance(coro, Watched) else coro, **options)

    WebLoop.create_task = create_task_of_call
    ensure_future = asyncio.ensure_future

    def ensure_future_of_call(coro_or_future, *, loop=None):
        # It gives a future back as it is. Whoever asks means to let the call run on its own.
        if isinstance(coro_or_future, Watched):
            coro_or_future.observed()
        return ensure_future(coro_or_future, loop=loop)

    asyncio.ensure_future = ensure_future_of_call


def new_streams():
    """Fresh standard streams: the last run may have closed, detached or replaced them. Returns those to flush.

    Line by line, so that what was printed before an endless loop is seen. Whatever is printed can be encoded.
    """
    sys.stdin = sys.__stdin__ = _NoStdin()
    sys.stdout = sys.__stdout__ = _writer(1, "<stdout>")
    sys.stderr = sys.__stderr__ = _writer(2, "<stderr>")
    return sys.stdout, sys.stderr


def _writer(descriptor, name):
    raw = io.FileIO(descriptor, "w", closefd=False)
    raw.name = name
    return io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", "backslashreplace", line_buffering=True)


def flush(streams):
    """Writes out what the streams, and those that the user put in their place, still hold."""
    for stream in (sys.stdout, sys.stderr, *streams):
        try:
            stream.flush()
        except BaseException as error:  # closed, full, None, or an object of the user's
            if isinstance(error, OSError):
                _drop(stream)


def _drop(stream):
    """Empties a stream that found no room. Otherwise it would print to the run that happens to free it."""
    drop = getattr(_host, "drop_output", None)
    if drop:
        try:
            drop()
            stream.flush()
        except BaseException:
            pass
