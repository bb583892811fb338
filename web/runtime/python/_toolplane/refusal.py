"""Says why a value can't be JSON: where it stands, what it is, and the expression that would work.

Walks the value in Python, without recursion, so it's slow and works on anything. encode.py asks only after its fast
path has refused a value.
"""

import asyncio
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import json
import math
import types

from pyodide.ffi import JsProxy

# What every consumer of the JSON text can read: CPython's default limit.
MAX_DIGITS = 4300
_TOO_LARGE = 10**MAX_DIGITS
_MAX_SHOWN_STEPS = 8
_MAX_SHOWN_KEY = 60


class Refusal:
    """Why a value was refused: `message` for a person, `culprit` the object in the way."""

    def __init__(self, message, culprit):
        self.message = message
        self.culprit = culprit


def find(value, root, max_depth, code):
    """The first thing in `value`, in document order, that can't be JSON. None if there's nothing.

    Paths start with `root`, expressions with `code`.
    """
    path, iterators, parents = [], [], []
    current = value
    while True:
        problem = _problem(current, root, path, parents, max_depth, code)
        if problem:
            return Refusal(f"{_show_path(root, path)} {problem}", current)
        if isinstance(current, (dict, list, tuple)):
            parents.append(current)
            iterators.append(iter(current.items() if isinstance(current, dict) else enumerate(current)))
            path.append(None)
        while iterators:
            step = next(iterators[-1], None)
            if step is not None:
                path[-1], current = step
                break
            for stack in (iterators, parents, path):
                stack.pop()
        else:
            return None
        if isinstance(parents[-1], dict):
            problem = _key_problem(path[-1], _expression(code, path[:-1]))
            if problem:
                return Refusal(f"{_show_path(root, path[:-1])} {problem}", path[-1])


def _problem(value, root, path, parents, max_depth, code):
    """What's wrong with a value itself, or None."""
    if value is None or isinstance(value, bool) or is_time(value):
        return None
    if isinstance(value, str):
        if _is_text(value):
            return None
        expression = f'{_expression(code, path)}.encode("utf-8", "replace").decode()'
        return f"is a str with a lone surrogate, which no JSON text can carry; use {expression}"
    if isinstance(value, int):
        if abs(value) < _TOO_LARGE:
            return None
        return f"is an int of more than {MAX_DIGITS:,} digits, the limit; use hex({_expression(code, path)})"
    if isinstance(value, float):
        if math.isfinite(value):
            return None
        shown = float.__repr__(value)
        expression = _expression(code, path)
        return f"is {shown}, a float that JSON doesn't have; use None, or a string such as repr({expression})"
    if isinstance(value, (dict, list, tuple)):
        kind = type(value).__name__
        for i, parent in enumerate(parents):
            if value is parent:
                return f"is the {kind} {_show_path(root, path[:i])} again, and JSON has no cycles; leave it out"
        if len(parents) >= max_depth:
            return f"is a {kind} nested deeper than {max_depth} levels, the limit; flatten the value"
        return None
    return _unknown(value, _expression(code, path))


def is_time(value):
    """Whether it's written as ISO text. pandas' NaT, no time at all, is a datetime too."""
    return isinstance(value, (datetime.date, datetime.time)) and type(value).__name__ != "NaTType"


def _key_problem(key, x):
    """What's wrong with a key of the dict whose expression is `x`, or None."""
    if not isinstance(key, str):
        shown = f"{_short(key)} of type {type(key).__name__}"
        return f"has the key {shown}, and JSON keys are strings; use {{str(k): v for k, v in {x}.items()}}"
    if not _is_text(key):
        return f"has the key {ascii(key)} with a lone surrogate, which no JSON text can carry; rename that key"
    return None


def _is_text(text):
    try:
        str.encode(text)
    except UnicodeEncodeError:
        return False
    return True


def _unknown(value, x):
    """What an object is that JSON doesn't know, and what to write for it. `x` is its Python expression."""
    found = _advice(value, x)
    what = f"of type {type(value).__name__}"
    if isinstance(found, tuple):
        found, what = found
    return f"is {what}, which JSON doesn't have; use {found}"


def _advice(value, x):
    """The expression to use for `value`, optionally with a better word for what it is."""
    kind = type(value)
    foreign = _FOREIGN.get(kind.__module__.partition(".")[0])
    found = foreign and foreign(value, kind.__name__)
    if found:
        return found.format(x=x)
    if isinstance(value, JsProxy):
        return f"{x}.to_py()", "a JavaScript object (JsProxy)"
    if isinstance(value, (types.CoroutineType, asyncio.Future)):
        return f"await {x}", f"of type {kind.__name__} and was never awaited"
    if isinstance(value, collections.abc.Coroutine) or hasattr(kind, "__await__"):
        return f"await {x}"
    if isinstance(value, types.ModuleType):
        return f"what you need of it, such as {x}.__name__", f"the module {value.__name__}"
    if isinstance(value, type):
        return f"{x}.__name__", f"the class {value.__name__}"
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return f"its answer, {x}()", f"the function {value.__name__}"
    if isinstance(value, collections.abc.AsyncIterator):
        return f"[item async for item in {x}]"
    if isinstance(value, enum.Enum):
        return f"{x}.value"
    if hasattr(kind, "model_dump"):
        return f'{x}.model_dump(mode="json")', f"of type {kind.__name__} (a pydantic model)"
    if dataclasses.is_dataclass(value):
        return f"dataclasses.asdict({x})", f"of type {kind.__name__} (a dataclass)"
    for base, expression in _BY_TYPE:
        if isinstance(value, base):
            return expression(value).format(x=x)
    if hasattr(value, "__dict__"):
        return f"vars({x})"
    return f"str({x})"


def _set_expression(value):
    for base in (str, (int, float)):
        if all(isinstance(item, base) for item in value):
            return "sorted({x})"
    return "list({x})"


def _bytes_expression(value):
    raw = "{x}" if isinstance(value, (bytes, bytearray)) else "bytes({x})"
    try:
        bytes(value).decode()
    except UnicodeDecodeError:
        return f"base64.b64encode({raw}).decode()"
    return f"{raw}.decode()"


def _always(expression):
    return lambda value: expression


_BY_TYPE = (
    (collections.abc.Set, _set_expression),
    ((bytes, bytearray, memoryview), _bytes_expression),
    (decimal.Decimal, _always("str({x})")),
    (complex, _always("[{x}.real, {x}.imag]")),
    (datetime.timedelta, _always("{x}.total_seconds()")),
    (BaseException, _always("str({x})")),
    (collections.abc.Mapping, _always("dict({x})")),
    (collections.abc.Iterator, _always("list({x})")),
    ((collections.abc.Sequence, collections.abc.Collection), _always("list({x})")),
)


def _numpy(value, name):
    if name in ("ndarray", "matrix", "MaskedArray"):
        return "{x}.tolist()"
    return "{x}.item()" if hasattr(value, "item") else None


def _pandas(value, name):
    # to_dict and tolist would leave NaN and numpy scalars in; pandas' own JSON has neither.
    if name == "DataFrame":
        return 'json.loads({x}.to_json(orient="records"))'
    if name == "Series":
        return 'json.loads({x}.to_json(orient="values"))'
    if name.endswith("Index"):
        return "{x}.tolist()"
    return "None" if name in ("NaTType", "NAType") else None


def _polars(value, name):
    return {"DataFrame": "{x}.to_dicts()", "Series": "{x}.to_list()"}.get(name)


# By the name of the package, so that none of them need be installed.
_FOREIGN = {"numpy": _numpy, "pandas": _pandas, "polars": _polars}


def _short(value):
    try:
        text = ascii(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _MAX_SHOWN_KEY else text[:_MAX_SHOWN_KEY] + "…"


def _show_path(root, path):
    """value.rows[3]["odd key"]; the middle of a long path is left out."""
    steps = [_show_step(step) for step in path]
    if len(steps) > _MAX_SHOWN_STEPS:
        half = _MAX_SHOWN_STEPS // 2
        steps[half:-half] = ["…"]
    return root + "".join(steps)


def _show_step(step):
    if isinstance(step, int):
        return f"[{step}]"
    if len(step) > _MAX_SHOWN_KEY:
        step = step[:_MAX_SHOWN_KEY] + "…"
    return f".{step}" if step.isidentifier() else f"[{_quote(step)}]"


def _expression(code, path):
    """The same place as Python code."""
    if len(path) > _MAX_SHOWN_STEPS:
        return "it"
    return code + "".join(f"[{step if isinstance(step, int) else _quote(step)}]" for step in path)


def _quote(key):
    return json.dumps(str(key), ensure_ascii=not _is_text(key))
