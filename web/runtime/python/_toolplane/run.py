"""One run at a time: start, settle, finish."""

import asyncio
import json
import random
import sys

import _toolplane_host as _host
from _toolplane import bindings, calls
from _toolplane.compile import compile_snippet, register_source
from _toolplane.encode import encode
from _toolplane.report import describe

_namespace = sys.modules["__main__"].__dict__
_task = None


def start(request_json, seed):
    """Begins a run. Its result goes to the host module's finish."""
    global _task
    if seed:
        random.seed()
    request = json.loads(request_json)
    _task = asyncio.ensure_future(_run(request))


async def _run(request):
    try:
        _namespace.update(bindings.current)
        inputs = request.get("inputs") or {}
        _namespace["inputs"] = inputs
        for name, value in inputs.items():
            if name.isidentifier() and name not in bindings.current:
                _namespace[name] = value
        _namespace["_"] = request.get("previous")
        filename = register_source(request["code"], request.get("filename") or "<snippet>")
        code, implicit = compile_snippet(request["code"], filename, bindings.current)
        value = await eval(code, _namespace)
        result = '{"ok":true,"value":' + encode(value, "value", "ReturnValueError") + "}"
    except BaseException as error:
        result = json.dumps({"ok": False, "error": describe(error)})
    _host.disarm()
    calls.drop_all()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    _host.finish(result)


bind = bindings.bind
settle = calls.settle
