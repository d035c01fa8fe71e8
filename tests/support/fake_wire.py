"""A socket without a network: remembers what was written, and can stop reading."""

import json
from typing import Any

from app.domain.identity import ANONYMOUS, Identity
from app.gateway.outbox import Outbox, Stragglers
from app.gateway.wire import payload_of
from tests.support.client_view import ClientView


class FakeWire:
    """``app.gateway.wire.Wire``; ``room`` is how many bytes the reader still takes."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.is_stuck = False
        """Whether the reader is behind: tokens are refused."""
        self.room: int | None = None
        """Bytes of facts that are still taken while stuck; ``None`` is no limit."""
        self.is_open = True
        self.closed_with: tuple[int, str] | None = None
        self.pings = 0

    def write(self, frame: bytes) -> bool:
        """See ``Wire.write``."""
        if self.is_stuck or not self.is_open:
            return False
        self._keep(frame)
        return True

    def push(self, frame: bytes) -> bool:
        """See ``Wire.push``."""
        if not self.is_open or (self.is_stuck and self.room is not None and self.room <= 0):
            return False
        if self.is_stuck and self.room is not None:
            self.room -= len(frame)
        self._keep(frame)
        return True

    def ping(self) -> None:
        """See ``Wire.ping``."""
        self.pings += 1

    def close(self, code: int, reason: str) -> None:
        """See ``Wire.close``."""
        if self.is_open:
            self.is_open, self.closed_with = False, (code, reason)

    def abort(self) -> None:
        """See ``Wire.abort``."""
        self.is_open = False

    def of_type(self, name: str) -> list[dict[str, Any]]:
        """Return the frames of one type."""
        return [frame for frame in self.sent if frame["type"] == name]

    def _keep(self, frame: bytes) -> None:
        self.raw.append(frame)
        self.sent.append(json.loads(payload_of(frame)))


class FakeViewer:
    """Somebody with a socket (``Viewer``)."""

    def __init__(self, stragglers: Stragglers, identity: Identity = ANONYMOUS) -> None:
        self.identity = identity
        self.wire = FakeWire()
        self.outbox = Outbox(self.wire, stragglers)

    def view(self, id_: str, before: ClientView | None = None) -> ClientView:
        """Return what a client makes of the frames with this id so far."""
        view = before.resumed() if before is not None else ClientView()
        for frame in self.wire.sent:
            if frame.get("id") == id_:
                view.apply(frame)
        return view
