"""The one way from Python values to JSON text and back.

The standard library's C encoder does the work. It would quietly turn the key 1 into "1", and a value nested too deep
for the JavaScript engine's stack would end the interpreter, so a scan of the containers goes first; scalars cost it
next to nothing. Only a refused value is looked at closely, to say where and why (refusal.py).
"""

import collections
import datetime
import json
import math
import sys

from _toolplane import refusal

MAX_DEPTH = 512

_SCALARS = frozenset((str, int, float, bool, type(None)))
_LEAVES = (str, int, float, type(None), datetime.date, datetime.time)


class NotJSON(ValueError):
    """The value has no JSON text. `culprit` is the object in the way."""

    def __init__(self, message, culprit=None):
        super().__init__(message)
        self.culprit = culprit


class _Unsure(Exception):
    """The scan or the encoder met what only a closer look can judge."""


def encode(value, root="value", max_depth=MAX_DEPTH, expression=None):
    """The JSON text of `value`. Raises NotJSON with the path, the type and a way out.

    The path starts with `root`, and so does the code of the way out, unless `expression` is the value's code. A scalar
    has depth 0, `[]` has depth 1. Numbers keep their exact value, a tuple becomes a list, and datetime, date and time
    become ISO text.
    """
    try:
        _scan(value, max_depth)
        if sys.get_int_max_str_digits() != refusal.MAX_DIGITS:
            raise _Unsure
        return _text(value)
    except (_Unsure, TypeError, ValueError, RecursionError):
        found = refusal.find(value, root, max_depth, expression or root)
        if found:
            raise NotJSON(found.message, found.culprit) from None
        try:
            return _text(value)
        except (_Unsure, TypeError, ValueError, RecursionError) as error:
            raise NotJSON(f"{root} can't be written as JSON: {error}") from None


def decode(text):
    """The value of a JSON text. Raises ValueError for anything that isn't JSON, and for a number that overflows."""
    return _decoder.decode(text)


def _scan(value, room):
    """Raises _Unsure unless every container in `value` is plain, has string keys and is nested at most `room` deep."""
    kind = type(value)
    if kind is dict:
        for key in value:
            if type(key) is not str and not isinstance(key, str):
                raise _Unsure
        value = value.values()
    elif kind is not list and kind is not tuple:
        if isinstance(value, dict):
            _check_dict(value)
            value = value.values()
        elif not isinstance(value, (list, tuple)):
            if not isinstance(value, _LEAVES):
                raise _Unsure
            return
    if not room:
        raise _Unsure
    room -= 1
    for item in value:
        if type(item) not in _SCALARS:
            _scan(item, room)


def _check_dict(value):
    """A subclass, such as Counter, has to give the encoder the items that the scan sees."""
    kind = type(value)
    plain = kind.items is dict.items or kind is collections.OrderedDict
    if not plain or not all(isinstance(key, str) for key in value):
        raise _Unsure


def _text(value):
    text = _encoder.encode(value)
    if not text.isascii():
        text.encode()  # refuses lone surrogates
    return text


def _default(value):
    if refusal.is_time(value):
        return value.isoformat()
    raise _Unsure


def _finite(text):
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} overflows")
    return value


def _no_constant(text):
    raise ValueError(f"{text} isn't JSON")


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_default)
_decoder = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
