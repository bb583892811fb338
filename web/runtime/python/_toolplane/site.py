"""Where in the snippet something happened: the line and text of a call, for messages."""

import asyncio.tasks
import linecache
import sys
import traceback

# Frames whose file name starts so are the plumbing's; see load.py.
PLUMBING = "<toolplane>/"
_NOT_THE_USER = PLUMBING, asyncio.tasks.__file__
_MAX_SHOWN = 100


class Site:
    """The user's line that is running now. Cheap to make; the text is looked up when somebody asks."""

    __slots__ = "code", "instruction"

    def __init__(self):
        frame = sys._getframe(1)
        while frame.f_back and frame.f_code.co_filename.startswith(_NOT_THE_USER):
            frame = frame.f_back
        self.code = frame.f_code
        self.instruction = frame.f_lasti // 2

    def __eq__(self, other):
        return self.code is other.code and self.instruction == other.instruction

    def __hash__(self):
        return hash((id(self.code), self.instruction))

    def _place(self):
        for i, place in enumerate(self.code.co_positions()):
            if i == self.instruction:
                return place
        return None, None, None, None

    @property
    def line(self):
        return self._place()[0] or self.code.co_firstlineno

    def frame(self):
        """The place as a traceback shows it."""
        line, end_line, column, end_column = self._place()
        return traceback.FrameSummary(
            self.code.co_filename,
            line,
            self.code.co_name,
            end_lineno=end_line,
            colno=column,
            end_colno=end_column,
        )

    def text(self):
        """The source of the call, on one line; empty if it isn't known."""
        line, end_line, column, end_column = self._place()
        if line is None or column is None:
            return ""
        lines = [part.encode() for part in linecache.getlines(self.code.co_filename)[line - 1 : end_line]]
        if not lines:
            return ""
        lines[-1] = lines[-1][:end_column]
        lines[0] = lines[0][column:]
        shown = " ".join(b"".join(lines).decode("utf-8", "replace").split())
        return shown if len(shown) <= _MAX_SHOWN else shown[:_MAX_SHOWN] + "…"
