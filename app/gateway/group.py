"""The sockets of one feed that asked for the same query under the same id.

They get the same bytes, so a frame is built once for all of them.  The SDK names a
subscription by its query and arguments, so in practice a query has one group.
"""

from app.domain.cursor import Cursor
from app.gateway.bodies import json_bytes, token_frame
from app.gateway.live_text import Piece
from app.gateway.queries import MessagesQuery, ThreadQueries
from app.gateway.subscription import Subscription
from app.gateway.wire import Wire


class Group:
    """Members that are level: each has everything up to ``cursor`` at least."""

    __slots__ = ("cursor", "id", "members", "query", "streams", "value")

    def __init__(self, id_: str, query: ThreadQueries, cursor: Cursor) -> None:
        self.id = json_bytes(id_)
        self.query = query
        self.streams = isinstance(query, MessagesQuery) and query.stream
        self.cursor = cursor
        """The cursor of the frame that all members were sent last."""
        self.value: bytes | None = None
        """The value that all members have, of a query that is no list."""
        self.members: dict[Wire, Subscription] = {}

    def send_fact(self, frame: bytes) -> list[Subscription]:
        """Send to all; return those whose reader is too far behind for it."""
        missed = [wire for wire in self.members if not (wire.write(frame) or wire.push(frame))]
        return [self.members[wire] for wire in missed]

    def send_token(self, piece: Piece, body: bytes) -> None:
        """Send a piece to all; who is behind gets it joined with what follows, later."""
        frame = token_frame(self.id, body)
        missed = [wire for wire in self.members if not wire.write(frame)]
        for wire in missed:
            self.members[wire].miss(piece)
