"""One subscription of one socket, and where it stands."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol, TypeAlias

from app.domain.cursor import Cursor
from app.domain.identity import Identity
from app.gateway.live_text import Marks, Piece
from app.gateway.queries import FunctionQuery, MessagesQuery, ThreadQueries
from app.gateway.wire import Wire


class Stage(Enum):
    """Where a subscription stands."""

    JOINING = auto()
    """Waits for its answer."""
    OUTSIDE = auto()
    """Was told that there is nothing: no such thread, or not for this person."""
    MEMBER = auto()
    """Gets what its group gets."""
    BEHIND = auto()
    """Its reader was too slow; it will join again when the reader has caught up."""
    GONE = auto()


class Slow(Protocol):
    """Keeps what a socket could not take."""

    def missed_fact(self, subscription: "AnySubscription") -> None:
        """Note that the subscription needs a snapshot when the reader has caught up."""
        ...

    def missed_token(self, subscription: "Subscription") -> None:
        """Note that it needs the text from where its marks are."""
        ...

    def answered(self, subscription: "AnySubscription") -> None:
        """Note that the subscription is up to date again."""
        ...


class Viewer(Protocol):
    """Whoever subscribes: a socket that speaks for somebody."""

    @property
    def identity(self) -> Identity:
        """For whom it speaks at this moment."""
        ...

    @property
    def wire(self) -> Wire:
        """Where its frames go."""
        ...

    @property
    def outbox(self) -> Slow:
        """Where its misses are noted."""
        ...


class Subscription:
    """What a viewer asked to know of a thread, under an id of its own."""

    __slots__ = ("cursor", "id", "marks", "query", "stage", "viewer")

    def __init__(
        self, id_: str, query: ThreadQueries, cursor: Cursor | None, viewer: Viewer
    ) -> None:
        self.id = id_
        self.query = query
        self.cursor = cursor
        """What the viewer has; dropped when only a snapshot can help."""
        self.viewer = viewer
        self.stage = Stage.JOINING
        self.marks: Marks | None = None
        """Where its text stopped, while its reader is behind."""

    @property
    def streams(self) -> bool:
        """Whether it wants tokens."""
        return isinstance(self.query, MessagesQuery) and self.query.stream

    @property
    def resumes_from(self) -> Cursor | None:
        """From where a delta can answer; only lists have deltas."""
        return self.cursor if isinstance(self.query, MessagesQuery) else None

    def push(self, frame: bytes) -> bool:
        """Send a fact to this viewer alone; false when the reader is too far behind."""
        return self.viewer.wire.push(frame)

    def miss(self, piece: Piece) -> None:
        """Note a piece of text that the reader could not take."""
        if self.marks is None:
            self.marks = Marks(piece.place)
        self.marks.note(piece)
        self.viewer.outbox.missed_token(self)


@dataclass(slots=True, eq=False)
class QuerySubscription:
    """What a viewer asked of a function, under an id of its own.

    ``address`` is where the viewer comes from; ``is_behind``: its reader was too slow for the
    last answer.
    """

    id: str
    query: FunctionQuery
    viewer: Viewer
    address: str = ""
    is_behind: bool = False


AnySubscription: TypeAlias = Subscription | QuerySubscription
"""A subscription of either kind."""
