"""What the gateway needs of a socket, whatever server holds it.

A frame is encoded once and the same bytes go to every socket.  A write never waits: it
is taken, or it is refused because the reader is behind, and the caller decides what that
means.  Two limits give facts the right of way: what may be thrown away (token deltas) is
refused first, facts and answers a good deal later.
"""

from struct import pack
from typing import Protocol

SOFT_LIMIT = 64 * 1024
"""Unsent bytes from which on tokens are refused."""

HARD_LIMIT = 256 * 1024
"""Unsent bytes from which on everything is refused; one frame may overshoot."""

_FIN_TEXT = 0x81


class Wire(Protocol):
    """One open socket.  Hashable, so that a group is a plain dictionary of wires."""

    @property
    def is_open(self) -> bool:
        """Whether frames can still reach the peer."""
        ...

    def write(self, frame: bytes) -> bool:
        """Send what ``encode_text`` returned; false when the reader is behind."""
        ...

    def push(self, frame: bytes) -> bool:
        """Send it as long as ``HARD_LIMIT`` allows."""
        ...

    def ping(self) -> None:
        """Ask the peer for a sign of life."""
        ...

    def close(self, code: int, reason: str) -> None:
        """Say why and close; a peer that does not answer is cut off after a while."""
        ...

    def abort(self) -> None:
        """Cut the peer off."""
        ...


class Listener(Protocol):
    """What hears a socket.  Called in the event loop; must not raise."""

    def message(self, data: bytes, *, is_text: bool) -> None:
        """Take one whole message."""
        ...

    def heard(self) -> None:
        """Note that the peer lives; called with any bytes that it sends."""
        ...

    def drained(self) -> None:
        """Note that a reader who was behind has caught up."""
        ...

    def leave(self) -> None:
        """Begin to go: the server shuts down."""
        ...

    def closed(self) -> None:
        """Let go of everything; called once, last."""
        ...


def encode_text(payload: bytes) -> bytes:
    """Return one whole unmasked text frame.

    It sets no RSV bit, so it is legal even where compression was negotiated.

    Source: RFC 6455, section 5.2.
    """
    size = len(payload)
    if size < 126:
        return bytes((_FIN_TEXT, size)) + payload
    if size < 65536:
        return pack("!BBH", _FIN_TEXT, 126, size) + payload
    return pack("!BBQ", _FIN_TEXT, 127, size) + payload


def payload_of(frame: bytes) -> str:
    """Return what ``encode_text`` was given, for servers that make their own frames."""
    match frame[1]:
        case 126:
            return frame[4:].decode()
        case 127:
            return frame[10:].decode()
        case _:
            return frame[2:].decode()
