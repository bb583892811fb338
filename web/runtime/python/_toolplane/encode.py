"""The one way from Python values to JSON text and back."""

import json

from _toolplane.errors import make_error

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode(value, root="value", host_type="InvalidArgumentsError"):
    try:
        return _encoder.encode(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise make_error(host_type, "ValueError", f"{root}: {error}") from None


def decode(text):
    return json.loads(text)
