"""Finds capability calls that nobody awaits, wherever they hide."""

import asyncio

from _toolplane.errors import error_class
from _toolplane.site import Site

UnawaitedToolCallError = error_class("UnawaitedToolCallError", "RuntimeError")

_GATHER_CALLBACK = "gather.<locals>._done_callback"
_MAX_LINES = 8


class Watched(asyncio.Future):
    """A future that knows when somebody waits for it: a capability call, or a gather over some.

    To wait is to await it, to add a callback, or to ask for its outcome. What asyncio.gather does with its children
    doesn't count: there the future that gather returned has to be waited for.
    """

    __slots__ = "owner", "site"

    def observed(self):
        """Somebody waits for this future."""
        raise NotImplementedError

    # Each of these returns before an error can be raised: what raises is a method in C, which adds no frame to the
    # error's traceback. A Python method that raises would.

    def __await__(self):
        self.owner = None
        self.observed()
        return asyncio.Future.__await__(self)

    def add_done_callback(self, callback, *, context=None):
        if getattr(callback, "__qualname__", None) != _GATHER_CALLBACK:
            self.owner = None
            self.observed()
        return asyncio.Future.add_done_callback(self, callback, context=context)

    @property
    def result(self):
        if self.owner is None:
            self.observed()
        return super().result

    @property
    def exception(self):
        if self.owner is None:
            self.observed()
        return super().exception


class Gathering(asyncio.tasks._GatheringFuture, Watched):
    """The future that asyncio.gather returns. Whoever waits for it waits for its children."""

    def __init__(self, children, *, loop):
        super().__init__(children, loop=loop)
        self.owner = None
        self.site = None
        self._watched = [child for child in children if isinstance(child, Watched)]
        if self._watched:
            self.site = Site()
        for child in self._watched:
            child.owner = self

    def observed(self):
        for child in self._watched:
            if child.owner is self:
                child.owner = None
                child.observed()
        self._watched = []


asyncio.tasks._GatheringFuture = Gathering


def outermost(call):
    """The future that somebody should have awaited for the call's sake."""
    while call.owner is not None:
        call = call.owner
    return call


def silence(call):
    """Marks the error of a future that nobody awaits as seen, now or when it comes: asyncio would log it."""
    asyncio.Future.add_done_callback(outermost(call), _see)


def _see(future):
    if not future.cancelled():
        asyncio.Future.exception(future)


def complaint(calls):
    """The error for calls that nobody awaited, and the place of the first, as a traceback shows it."""
    sites = list(dict.fromkeys(outermost(call).site for call in calls))
    first = sites[0]
    text = first.text() or f"{calls[0].shown}(…)"
    message = f"{text} on line {first.line} was called but never awaited, so its answer is lost; write: await {text}"
    others = sorted({site.line for site in sites[1:]})
    if others:
        lines = ", ".join(map(str, others[:_MAX_LINES])) + (", …" if len(others) > _MAX_LINES else "")
        message += f" (also on line{'s' if len(others) > 1 else ''} {lines})"
    return UnawaitedToolCallError(message), first.frame()
