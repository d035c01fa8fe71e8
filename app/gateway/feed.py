"""One watched thread: each change is read once and goes to every socket in the same bytes.

Everything a feed does happens in turns of one task, which runs only while there is work:
a turn is one read and what follows from it.  A subscriber is registered before the read
that answers it, and what happens meanwhile is read in the next turn, so no change falls
between the two; and since only turns send, frames go out in the order of their cursors.

A feed belongs to a key, not to a thread: a chat is watched before its first message is
sent.  While no such thread exists the feed *seeks* it.  A thread of somebody else
answers exactly like a missing one, the cursor included, after a read of the same kind.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence
from enum import Enum, auto

from app.domain.identity import Identity
from app.domain.ports import ShownText, ThreadSnapshot
from app.domain.thread import Thread
from app.gateway.delivery import Delivery
from app.gateway.feed_host import FeedHost
from app.gateway.live_text import Piece
from app.gateway.queries import MessagesQuery, StateQuery
from app.gateway.reading import Reading
from app.gateway.roster import Roster
from app.gateway.speech import Speech
from app.gateway.subscription import Stage, Subscription
from app.gateway.thread_facts import ThreadFacts
from app.threads.limits import PAGE_LIMIT

MAX_CHANGES = 500
"""Changed rows above which a snapshot is cheaper for both sides."""

READ_TIMEOUT_S = 10.0
RETRY_CAP_S = 2.0

_log = logging.getLogger(__name__)


class Turn(Enum):
    """What a turn reads."""

    PAGE = auto()
    """The thread by its key, with its newest messages."""
    CHANGES = auto()
    """What changed since the feed, or somebody who joins with a cursor, last looked."""


class Feed:
    """The gateway's view of the thread with one key."""

    def __init__(self, key: str, host: FeedHost) -> None:
        self.key = key
        self._host = host
        self._facts: ThreadFacts | None = None
        self._roster = Roster()
        self._speech = Speech()
        self._delivery = Delivery(self._roster, self._speech, host.metrics, host.clock)
        self._wanted = 0
        """The newest version that was heard of."""
        self._looks = 0
        """How often somebody asked to read the thread afresh, and how often that was done."""
        self._looked = 0
        self._generation = 0
        self._is_running = False

    @property
    def is_seeking(self) -> bool:
        """Whether there is no thread with this key, as far as the feed knows."""
        return self._facts is None

    @property
    def level(self) -> tuple[str, int] | None:
        """Thread id and the version that members have, if there are members to keep level."""
        if self._facts is None or not self._roster.groups:
            return None
        return self._facts.id, self._facts.version

    # ------------------------------------------------------------ subscribers

    def join(self, subscription: Subscription) -> None:
        """Answer a subscription, and every change from then on."""
        cursor = subscription.cursor
        if cursor is not None and cursor.timeline != self._host.timeline:
            subscription.cursor = None
        self._roster.join(subscription)
        self._wake()

    def join_again(self, subscription: Subscription) -> None:
        """Answer a subscription whose reader has caught up, with one snapshot."""
        if subscription.stage is Stage.BEHIND:
            subscription.cursor = None
            self.join(subscription)

    def leave(self, subscription: Subscription) -> None:
        """Forget a subscription."""
        self._roster.leave(subscription)
        self._sync_tokens()
        if not self._roster:
            self._host.emptied(self, self._facts.id if self._facts is not None else None)

    def judge_again(self, subscription: Subscription) -> None:
        """Look whether the answer is another one for whom the socket speaks for now."""
        if self._facts is None:
            self.look_again()  # what nobody could see is a thread that nobody found
            return
        allowed = self._facts.may_read(subscription.viewer.identity)
        if subscription.stage is Stage.MEMBER and not allowed:
            self._delivery.answer_empty(subscription, self._host.timeline)
            self._sync_tokens()
        elif subscription.stage is Stage.OUTSIDE and allowed:
            subscription.cursor = None
            self.join(subscription)

    def catch_up(self, subscription: Subscription) -> None:
        """Send the text that a member missed while its reader was behind."""
        self._speech.catch_up(subscription)

    # ------------------------------------------------------------ news

    def want(self, version: int) -> bool:
        """Take a hint: the thread has this version.  Return whether that is news."""
        if version <= self._wanted:
            return False
        self._wanted = version
        self._wake()
        return True

    def look_again(self) -> None:
        """Read the thread afresh: it may exist by now, or no more."""
        self._looks += 1
        self._wake()

    def restart(self) -> None:
        """Send everybody a snapshot: versions count in another history now."""
        self._generation += 1
        self._wanted = 0
        for subscription in (*self._roster.members(), *self._roster.joining):
            subscription.cursor = None
            self._roster.join(subscription)
        self.look_again()

    def hear(self, piece: Piece) -> None:
        """Take a token."""
        facts = self._facts
        if facts is None:
            return
        if piece.version > facts.version:
            self.want(piece.version)
        if self._is_level(facts) and facts.is_over(piece.run, piece.turn):
            return
        self._speech.hear(piece)
        self._speak()
        if self._speech.has_gap:
            self._host.refill(facts.id)

    def refill(self, shown: Sequence[ShownText]) -> None:
        """Take the text so far."""
        if self._facts is not None:
            self._speech.refill(shown, self._facts, is_level=self._is_level(self._facts))
            self._speak()

    # ------------------------------------------------------------ turns

    def _wake(self) -> None:
        if not self._is_running and self._work() is not None:
            self._is_running = True
            self._host.tasks.spawn(self._run(), f"feed {self.key}")

    def _work(self) -> Turn | None:
        """Return the turn that is due."""
        facts, roster = self._facts, self._roster
        if self._looks > self._looked and roster:
            return Turn.PAGE
        if facts is None:
            return Turn.PAGE if roster.joining else None
        if any(self._resumes_from(facts, each) is None for each in roster.joining):
            return Turn.PAGE
        is_behind = bool(roster.groups) and not self._is_level(facts)
        return Turn.CHANGES if roster.joining or is_behind else None

    def _resumes_from(self, facts: ThreadFacts, joining: Subscription) -> int | None:
        """Return the version that a delta for it begins at; ``None`` if it needs a page.

        A stranger is never answered from what is known here: he waits for the same read
        as one who asks for a thread that does not exist.
        """
        if not facts.may_read(joining.viewer.identity):
            return None
        if not isinstance(joining.query, MessagesQuery):
            return facts.version
        return joining.cursor.version if joining.cursor is not None else None

    async def _run(self) -> None:
        failures = 0
        try:
            while (turn := self._work()) is not None:
                try:
                    await self._take(turn)
                    failures = 0
                except Exception:  # noqa: BLE001 - a feed outlives whatever its store raises
                    failures += 1
                    _log.warning("feed %s could not be read", self.key, exc_info=failures == 1)
                    await asyncio.sleep(min(RETRY_CAP_S, 0.05 * (1 << min(failures, 6))))
        finally:
            self._is_running = False

    async def _take(self, turn: Turn) -> None:
        generation, looks, wanted = self._generation, self._looks, self._wanted
        batch = tuple(self._roster.joining)
        floor = self._floor(batch)
        limit = max(PAGE_LIMIT, self._roster.largest_page)
        readers = self._readers(batch)
        async with self._host.reads, asyncio.timeout(READ_TIMEOUT_S):
            snapshot = await self._read(turn, floor, limit, readers)
            is_bare = turn is Turn.PAGE and snapshot is not None and _is_bare(snapshot, readers)
            state = None if is_bare else await self._read_state(snapshot)
        if generation != self._generation or not self._roster:
            return  # read in a history that is no more, or for nobody
        if turn is Turn.PAGE:
            self._looked = looks
        if snapshot is None:
            self._lose(batch)
        elif is_bare:
            self._turn_away(snapshot.thread, batch)
        elif turn is Turn.PAGE:
            self._take_page(Reading(snapshot, self._host.timeline, state), batch, limit)
        else:
            self._take_changes(Reading(snapshot, self._host.timeline, state), batch, floor)
            if self._wanted == wanted and self._facts is not None:
                # A hint may promise more than a primary that lost commits still has.
                self._wanted = self._facts.version
        self._sync_tokens()
        self._speak()

    def _readers(self, batch: Sequence[Subscription]) -> frozenset[Identity]:
        """Return for whom a page is read: for who joins, else for everybody."""
        is_look = self._looks > self._looked
        asked = (*batch, *self._roster.everybody()) if is_look else batch
        return frozenset(each.viewer.identity for each in asked)

    async def _read(
        self, turn: Turn, floor: int, limit: int, readers: Collection[Identity]
    ) -> ThreadSnapshot | None:
        reader = self._host.reader
        if turn is Turn.PAGE or self._facts is None:
            return await reader.snapshot(self.key, limit, readers)
        return await reader.delta(self._facts.id, floor, MAX_CHANGES)

    async def _read_state(self, snapshot: ThreadSnapshot | None) -> bytes | None:
        """Return the state's JSON; ``None`` if nobody asks for it who may see it."""
        if snapshot is None or not self._roster.may_get_state(snapshot.thread.owner):
            return None
        state = await self._host.reader.state(snapshot.thread.id)
        return StateQuery.empty if state is None else state.encode()

    def _floor(self, batch: Sequence[Subscription]) -> int:
        """Return the version after which rows have to be read."""
        if self._facts is None:
            return 0
        starts = (self._resumes_from(self._facts, each) for each in batch)
        return min([self._facts.version, *(start for start in starts if start is not None)])

    def _take_page(self, page: Reading, batch: Sequence[Subscription], limit: int) -> None:
        facts, found = self._learn_thread(page)
        is_whole = len(page.snapshot.messages) < limit
        for subscription in (*batch, *found):
            since = subscription.resumes_from
            if subscription.stage is not Stage.JOINING:
                continue
            if not facts.may_read(subscription.viewer.identity):
                self._delivery.answer_empty(subscription, self._host.timeline)
            elif not page.answers(subscription.query):
                continue  # became its owner during the read; the next one will answer
            elif since is None or since.version > page.version:
                self._delivery.answer(subscription, page.whole(subscription), page)
            elif is_whole or since.version == page.version:
                self._delivery.answer(subscription, page.rest(subscription, since), page)

    def _learn_thread(self, page: Reading) -> tuple[ThreadFacts, Sequence[Subscription]]:
        """Take over what a page says; return it, and who can be answered only now."""
        facts, thread_id = self._facts, page.snapshot.thread.id
        if facts is not None and facts.id == thread_id:
            facts.learn(page.snapshot)
            if self._roster.groups:
                self.want(page.version)
            else:
                facts.version = page.version
            return facts, ()
        if facts is not None:
            self._host.lost(self, facts.id)
        self._facts = ThreadFacts(page.snapshot)
        self._wanted = max(page.version, self._host.found(self, thread_id))
        # A stranger is told nothing: another answer would tell him that the key is in use now.
        found = (
            each for each in self._roster.outside if self._facts.may_read(each.viewer.identity)
        )
        waited = (*found, *self._roster.members())
        for subscription in waited:
            subscription.cursor = None
            self._roster.join(subscription)
        return self._facts, waited

    def _take_changes(self, changes: Reading, batch: Sequence[Subscription], floor: int) -> None:
        facts = self._facts
        if facts is None:
            return
        if changes.version < facts.version:
            self.restart()
            return
        facts.learn(changes.snapshot)
        if not changes.snapshot.complete:
            self._fall_back(facts, changes, batch, floor)
            return
        self._delivery.pass_on(changes, facts.version)
        facts.version = changes.version
        for subscription in batch:
            since = subscription.resumes_from
            if subscription.stage is not Stage.JOINING:
                continue
            if not facts.may_read(subscription.viewer.identity):
                continue  # became a stranger during the read; a page will answer
            if not changes.answers(subscription.query):
                continue
            if not isinstance(subscription.query, MessagesQuery):
                self._delivery.answer(subscription, changes.whole(subscription), changes)
            elif since is not None and since.version <= changes.version:
                self._delivery.answer(subscription, changes.rest(subscription, since), changes)
            else:
                subscription.cursor = None

    def _fall_back(
        self, facts: ThreadFacts, changes: Reading, batch: Sequence[Subscription], floor: int
    ) -> None:
        """Have those answered by snapshots for whom too much has changed."""
        if floor < facts.version:  # those who join are far behind, the members are not
            for subscription in batch:
                if subscription.cursor is not None and subscription.cursor.version < facts.version:
                    subscription.cursor = None
            return
        for subscription in (*self._roster.members(self._roster.lists()), *batch):
            subscription.cursor = None
            if subscription.stage is Stage.MEMBER:
                self._roster.join(subscription)
        self._delivery.pass_on_value(changes)
        facts.version = changes.version

    def _lose(self, batch: Sequence[Subscription]) -> None:
        """Say that there is nothing, and seek."""
        if self._facts is not None:
            self._host.lost(self, self._facts.id)
            self._facts = None
        for subscription in (*self._roster.members(), *batch):
            if subscription.stage in {Stage.JOINING, Stage.MEMBER}:
                self._delivery.answer_empty(subscription, self._host.timeline)

    def _turn_away(self, thread: Thread, batch: Sequence[Subscription]) -> None:
        """Answer strangers as if there were no such thread, and learn nothing of it.

        So a feed that strangers alone watch is the same whether or not there is one.
        """
        for subscription in batch:
            is_stranger = not subscription.viewer.identity.may_read(thread.owner)
            if subscription.stage is Stage.JOINING and is_stranger:
                self._delivery.answer_empty(subscription, self._host.timeline)
        if self._facts is not None and self._facts.id != thread.id:
            self._host.lost(self, self._facts.id)
            self._facts = None
            for subscription in self._roster.members():
                self._roster.join(subscription)

    # ------------------------------------------------------------ tokens

    def _is_level(self, facts: ThreadFacts) -> bool:
        return self._wanted <= facts.version

    def _sync_tokens(self) -> None:
        if self._facts is not None:
            self._host.want_tokens(self._facts.id, wanted=self._roster.wants_tokens)

    def _speak(self) -> None:
        if self._facts is not None and self._is_level(self._facts):
            frames = self._speech.send(self._facts, tuple(self._roster.groups.values()))
            self._host.metrics.tokens.inc(frames)


def _is_bare(page: ThreadSnapshot, readers: Collection[Identity]) -> bool:
    """Return whether none of those for whom it was read may read it."""
    return not any(each.may_read(page.thread.owner) for each in readers)
