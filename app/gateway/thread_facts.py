"""What a feed knows of its thread, apart from what it has passed on."""

from collections.abc import Iterable

from app.domain.identity import Identity
from app.domain.message import Message, MessageStatus, Role
from app.domain.ports import ThreadSnapshot


class ThreadFacts:
    """Owner, version, and how far the live run has spoken."""

    __slots__ = ("_spoken_run", "_spoken_turn", "id", "live_run", "owner", "version")

    def __init__(self, snapshot: ThreadSnapshot) -> None:
        self.id = snapshot.thread.id
        self.owner = snapshot.thread.owner
        """Fixed by the first run, so it is read once."""
        self.version = snapshot.thread.version
        """What the feed's members have been sent."""
        self.live_run: str | None = None
        self._spoken_run: str | None = None
        self._spoken_turn = -1
        self.learn(snapshot)

    def may_read(self, identity: Identity) -> bool:
        """Return whether the thread answers to this person."""
        return identity.may_read(self.owner)

    def learn(self, snapshot: ThreadSnapshot) -> None:
        """Take over what a read says of the run; ``version`` is the feed's to set."""
        self.live_run = snapshot.thread.live_run
        for turn in _recorded_turns(snapshot.messages, self.live_run):
            if self._spoken_run != self.live_run:
                self._spoken_run, self._spoken_turn = self.live_run, turn
            self._spoken_turn = max(self._spoken_turn, turn)

    def is_over(self, run: str, turn: int) -> bool:
        """Return whether tokens of this turn come too late: its message is there, or its end."""
        if run != self.live_run:
            return True
        return run == self._spoken_run and turn <= self._spoken_turn


def _recorded_turns(messages: Iterable[Message], run: str | None) -> Iterable[int]:
    """Yield the turns of ``run`` whose message is stored.

    A tool's row is stored together with the message that calls it.  An interrupted message
    is no record of its turn: after a retry the turn is spoken again.
    """
    for row in messages:
        if row.run_id != run or row.turn is None:
            continue
        is_answer = row.role is Role.ASSISTANT and row.status is not MessageStatus.INTERRUPTED
        if is_answer or row.role is Role.TOOL:
            yield row.turn
