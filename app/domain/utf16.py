"""Text in UTF-16 code units, the way JavaScript measures it: offsets of live text are in these.

A provider may cut a character outside the basic plane between two deltas.  Half a character can
be neither stored nor sent, so it waits for its other half (or becomes U+FFFD, which is one unit
as well: offsets stay true).
"""

from app.domain.storable import storable_text

_HIGH_FIRST, _HIGH_LAST = "\ud800", "\udbff"


def units_of(text: str) -> int:
    """Return the length of ``text`` in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def from_unit(text: str, start: int) -> str:
    """Return ``text`` without its first ``start`` UTF-16 code units."""
    if start <= 0 or text.isascii():
        return text[max(start, 0) :]
    return text.encode("utf-16-le", "surrogatepass")[2 * start :].decode(
        "utf-16-le", "surrogatepass"
    )


def whole_characters(text: str) -> tuple[str, str]:
    """Return the storable front of ``text`` and the half of a character it may end with."""
    if text.isascii():
        return storable_text(text), ""
    half = ""
    if _HIGH_FIRST <= text[-1] <= _HIGH_LAST:
        text, half = text[:-1], text[-1]
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return storable_text(joined), half
