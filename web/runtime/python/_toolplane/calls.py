"""Capability calls: futures that the host settles."""

import asyncio

import _toolplane_host as _host
from _toolplane.encode import decode, encode
from _toolplane.errors import host_error, make_error

_pending = {}
_last_id = 0


def call_tool(name, args=None, /, **kw):
    """Calls a capability by its canonical name: await call_tool("plugin:issues/get", {"id": 1})."""
    return call(name, kw if args is None else args)


def call(name, arguments, unwrap=None):
    global _last_id
    _last_id += 1
    future = asyncio.Future(loop=asyncio.get_running_loop())
    try:
        text = encode(arguments, "arguments")
        _pending[_last_id] = future, unwrap
        _host.send(_last_id, name, text)
    except Exception as error:
        _pending.pop(_last_id, None)
        future.set_exception(error.with_traceback(None))
    return future


def settle(call_id, ok, payload_json):
    future, unwrap = _pending.pop(call_id, (None, None))
    if future is None or future.done():
        return
    try:
        payload = decode(payload_json)
        if ok:
            future.set_result(payload if unwrap is None else payload[unwrap])
        else:
            future.set_exception(host_error(payload))
    except Exception as error:
        future.set_exception(make_error("InternalError", "RuntimeError", f"the answer can't be read: {error}"))


def drop_all():
    for future, _ in _pending.values():
        future.cancel()
    _pending.clear()
