"""The subscriptions of one feed, by where they stand.

joining --answered--> member (of a group) --reader too slow--> behind --drained--> joining
   |  ^                    |
   |  +---- restart -------+
   +--nothing to see--> outside --thread found, or now allowed--> joining
"""

from collections.abc import Iterator

from app.domain.cursor import Cursor
from app.gateway.group import Group
from app.gateway.queries import MessagesQuery, StateQuery, ThreadQueries
from app.gateway.subscription import Stage, Subscription


class Roster:
    """Who watches, and in which group.  Moves subscriptions; sends nothing."""

    __slots__ = ("_all", "_stateful", "_streaming", "groups", "joining", "outside")

    def __init__(self) -> None:
        self._all: set[Subscription] = set()
        self._streaming = 0
        self._stateful: set[Subscription] = set()
        self.joining: dict[Subscription, None] = {}
        self.outside: dict[Subscription, None] = {}
        self.groups: dict[tuple[str, ThreadQueries], Group] = {}

    def __len__(self) -> int:
        """Return how many subscriptions there are."""
        return len(self._all)

    @property
    def wants_tokens(self) -> bool:
        """Whether anybody who was let in wants the tokens."""
        return self._streaming > 0

    def may_get_state(self, owner: str | None) -> bool:
        """Return whether anybody asks for the state of a thread with this owner, and may."""
        return any(each.viewer.identity.may_read(owner) for each in self._stateful)

    @property
    def largest_page(self) -> int:
        """The most messages that anybody without a value asks for."""
        queries = [each.query for each in (*self.joining, *self.outside)]
        return max((each.limit for each in queries if isinstance(each, MessagesQuery)), default=0)

    def lists(self) -> Iterator[Group]:
        """Yield the groups of list queries."""
        return (each for each in self.groups.values() if isinstance(each.query, MessagesQuery))

    def join(self, subscription: Subscription) -> None:
        """Add it, or have one that is here answered again."""
        if subscription not in self._all:
            self._all.add(subscription)
            if isinstance(subscription.query, StateQuery):
                self._stateful.add(subscription)
        self._take_out(subscription)
        self._stand(subscription, Stage.JOINING)
        self.joining[subscription] = None

    def admit(self, subscription: Subscription, cursor: Cursor, value: bytes | None) -> None:
        """Make a subscription that was sent this a member of its group."""
        self._take_out(subscription)
        self._stand(subscription, Stage.MEMBER)
        key = (subscription.id, subscription.query)
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = Group(*key, cursor)
            group.value = value
        group.members[subscription.viewer.wire] = subscription

    def turn_away(self, subscription: Subscription) -> None:
        """Put it where it sees nothing."""
        self._take_out(subscription)
        self._stand(subscription, Stage.OUTSIDE)
        self.outside[subscription] = None

    def set_back(self, subscription: Subscription) -> None:
        """Let it wait for its reader."""
        self._take_out(subscription)
        self._stand(subscription, Stage.BEHIND)
        subscription.marks = None

    def leave(self, subscription: Subscription) -> None:
        """Remove it."""
        if subscription in self._all:
            self._take_out(subscription)
            self._stand(subscription, Stage.GONE)
            self._all.remove(subscription)
            self._stateful.discard(subscription)

    def everybody(self) -> Iterator[Subscription]:
        """Yield all, wherever they stand."""
        return iter(self._all)

    def members(self, groups: Iterator[Group] | None = None) -> list[Subscription]:
        """Return the members of these groups, or of all."""
        found = self.groups.values() if groups is None else groups
        return [member for group in found for member in group.members.values()]

    def _take_out(self, subscription: Subscription) -> None:
        self.joining.pop(subscription, None)
        self.outside.pop(subscription, None)
        key = (subscription.id, subscription.query)
        group = self.groups.get(key)
        if group is not None and group.members.get(subscription.viewer.wire) is subscription:
            del group.members[subscription.viewer.wire]
            if not group.members:
                del self.groups[key]

    def _stand(self, subscription: Subscription, stage: Stage) -> None:
        counted = {Stage.MEMBER, Stage.BEHIND}
        if subscription.streams:
            self._streaming += (stage in counted) - (subscription.stage in counted)
        subscription.stage = stage
