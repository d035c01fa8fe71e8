"""Whatever can be watched, behind one door: threads from their feeds, the team's queries live."""

from collections.abc import Iterable

from app.domain.cursor import Cursor
from app.gateway.feeds import Feeds
from app.gateway.live_queries import LiveQueries
from app.gateway.queries import FunctionQuery, Query
from app.gateway.subscription import AnySubscription, QuerySubscription, Subscription, Viewer


class Watches:
    """Hands each subscription to who serves it."""

    def __init__(self, feeds: Feeds, queries: LiveQueries) -> None:
        self.feeds = feeds
        self.queries = queries

    def begin(
        self, id_: str, query: Query, cursor: Cursor | None, viewer: Viewer, address: str
    ) -> AnySubscription:
        """Begin a subscription: it is answered, and told of every change from then on."""
        if isinstance(query, FunctionQuery):
            watch = QuerySubscription(id_, query, viewer, address)
            self.queries.join(watch)
            return watch
        subscription = Subscription(id_, query, cursor, viewer)
        self.feeds.join(subscription)
        return subscription

    def end(self, watch: AnySubscription) -> None:
        """Forget a subscription."""
        if isinstance(watch, QuerySubscription):
            self.queries.leave(watch)
        else:
            self.feeds.leave(watch)

    def join_again(self, watch: AnySubscription) -> None:
        """Answer a subscription whose reader has caught up."""
        if isinstance(watch, QuerySubscription):
            self.queries.join_again(watch)
        else:
            self.feeds.join_again(watch)

    def judge_again(self, watches: Iterable[AnySubscription]) -> None:
        """Look whether the answer is another one for whom their socket speaks for now."""
        for watch in watches:
            if isinstance(watch, QuerySubscription):
                self.queries.judge_again(watch)
            else:
                self.feeds.judge_again(watch)

    async def settled(self, watches: Iterable[AnySubscription]) -> None:
        """Return when these show what a call of their viewer's has done.

        Of threads only those are looked for that did not exist yet: what runs do to them comes
        with its hint.
        """
        watched = tuple(watches)
        for watch in watched:
            if isinstance(watch, Subscription):
                self.feeds.look_again(watch)
        await self.queries.settled(w for w in watched if isinstance(w, QuerySubscription))
