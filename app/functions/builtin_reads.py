"""``agents:agentMessages``, ``agentThread``, ``agentState``: what anybody may ask about a thread.

All three answer a missing thread and a foreign one from the same value, so nobody
learns from them whether a key is in use.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, JsonValue

from app.authoring.contexts import QueryContext
from app.authoring.functions import ServerFunction, query
from app.domain.ports import ThreadReader
from app.domain.storable import decode
from app.threads.access import readable_thread
from app.threads.limits import MAX_KEY, MAX_SEQ, PAGE_LIMIT, PAGE_LIMIT_MAX
from app.threads.views import message_view, thread_view

Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY)]


class ThreadReads:
    """The queries, over one reader."""

    def __init__(self, reader: ThreadReader) -> None:
        self._reader = reader

    def functions(self) -> Sequence[ServerFunction[..., Any]]:
        """Return the declarations."""
        return [
            query(name="agent_messages")(self.messages),
            query(name="agent_thread")(self.thread),
            query(name="agent_state")(self.state),
        ]

    async def messages(
        self,
        ctx: QueryContext,
        *,
        key: Key,
        limit: Annotated[int, Field(ge=1, le=PAGE_LIMIT_MAX)] = PAGE_LIMIT,
        before: Annotated[int, Field(ge=1, le=MAX_SEQ)] | None = None,
        stream: bool = True,
    ) -> list[dict[str, Any]]:
        """Return the newest messages below ``before``, oldest first."""
        del stream  # for subscriptions: whether tokens come
        thread = await readable_thread(self._reader, key, ctx.auth)
        if thread is None:
            return []
        page = await self._reader.page(thread.id, before, limit)
        return [message_view(message) for message in page]

    async def thread(self, ctx: QueryContext, *, key: Key) -> dict[str, Any] | None:
        """Return status, title, usage, active run and pending approvals of a thread."""
        snapshot = await self._reader.snapshot(key, 0, [ctx.auth])
        if snapshot is None or not ctx.auth.may_read(snapshot.thread.owner):
            return None
        return thread_view(snapshot)

    async def state(self, ctx: QueryContext, *, key: Key) -> JsonValue:
        """Return the synced state of a thread; null when it has none."""
        thread = await readable_thread(self._reader, key, ctx.auth)
        stored = None if thread is None else await self._reader.state(thread.id)
        return None if stored is None else decode(stored)
