"""The live text of one feed, on its way to the members who want it.

Laws: facts first (text that belongs to a version which the feed has not passed on yet
waits for it); a turn whose message the feed has, and a run that is over, are never
heard; who joins in the middle gets the text so far, in one piece a part, and then the
same pieces as everybody.
"""

from collections.abc import Iterable, Sequence

from app.domain.ports import ShownText
from app.gateway.bodies import json_bytes, token_body, token_frame
from app.gateway.group import Group
from app.gateway.live_text import LiveText, Piece
from app.gateway.subscription import Stage, Subscription
from app.gateway.thread_facts import ThreadFacts


class Speech:
    """What is being said in a thread, and who has yet to hear how it began."""

    __slots__ = ("_newcomers", "_text")

    def __init__(self) -> None:
        self._text = LiveText()
        self._newcomers: dict[Subscription, None] = {}

    @property
    def has_gap(self) -> bool:
        """Whether the text so far has to be read again."""
        return self._text.has_gap

    def hear(self, piece: Piece) -> None:
        """Take a piece; ``send`` passes it on."""
        self._text.hear(piece)

    def refill(self, shown: Sequence[ShownText], facts: ThreadFacts, *, is_level: bool) -> None:
        """Take the text so far, unless it is known to come too late."""
        self._text.refill(
            text for text in shown if not (is_level and facts.is_over(text.run_id, text.turn))
        )

    def welcome(self, subscription: Subscription) -> None:
        """Note a member who has to hear how it began."""
        if subscription.streams:
            self._newcomers[subscription] = None

    def send(self, facts: ThreadFacts, groups: Iterable[Group]) -> int:
        """Pass on what may be heard; return how many frames that were."""
        place = self._text.place
        if place is None or facts.is_over(place.run, place.turn):
            self._text.clear()
            self._newcomers.clear()
            return 0
        newcomers, self._newcomers = self._newcomers, {}
        for subscription in newcomers:
            if subscription.stage is Stage.MEMBER:
                self._tell(subscription, self._text.so_far())
        pieces = [(piece, token_body(piece)) for piece in self._text.take_unsent()]
        listening = [group for group in groups if group.streams] if pieces else []
        for group in listening:
            for piece, body in pieces:
                group.send_token(piece, body)
        return len(pieces) * sum(len(group.members) for group in listening)

    def catch_up(self, subscription: Subscription) -> None:
        """Send a member who was behind what it missed."""
        marks, subscription.marks = subscription.marks, None
        if marks is not None and subscription.stage is Stage.MEMBER:
            self._tell(subscription, self._text.since(marks))

    def _tell(self, subscription: Subscription, pieces: Iterable[Piece]) -> None:
        id_ = json_bytes(subscription.id)
        for piece in pieces:
            if not subscription.viewer.wire.write(token_frame(id_, token_body(piece))):
                subscription.miss(piece)
