"""JSON that every store, provider and browser can take.

Postgres refuses NUL and lone surrogates, JSON has no NaN.  A value is made
storable once, where it enters, so that the journal, the table, the wire and the
model's history all hold the same bytes (field case B19).
"""

import json
import math
import re

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

REPLACEMENT = "\ufffd"
_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_SURROGATE = re.compile("[\ud800-\udfff]")


def storable_text(text: str) -> str:
    """Return ``text`` with NUL and lone surrogates replaced by U+FFFD."""
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    return text if text.isascii() else _SURROGATE.sub(REPLACEMENT, text)


def encode(value: object) -> str:
    """Return compact JSON for ``value``.

    NUL and lone surrogates become U+FFFD; NaN and the infinities become null.

    Raises:
        TypeError: ``value`` holds something that JSON cannot carry.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"))
    if "\\u0000" in text:
        text = _ESCAPED_NUL.sub(rf"\1{REPLACEMENT}", text)
    return text if text.isascii() else _SURROGATE.sub(REPLACEMENT, text)


def decode(text: str | bytes) -> Json:
    """Return the value of JSON that ``encode`` wrote."""
    value: Json = json.loads(text)
    return value


def _finite(value: object) -> object:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case _:
            return value
