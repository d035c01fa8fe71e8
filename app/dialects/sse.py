"""One server-sent event around JSON; see ``app.gateway.event_wire`` for what breaks a line."""

from app.domain.storable import encode

_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
"""No line breaks to the standard, but to many a reader that splits text into lines."""


def event_bytes(value: object) -> bytes:
    """Return an event whose data is ``value``."""
    text = encode(value)
    text = text if text.isascii() else text.translate(_BREAKS)
    return f"data: {text}\n\n".encode()
