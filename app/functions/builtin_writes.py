"""``agents:agentEnsureThread``, ``agentAppendMessage``, ``agentPatchThread``: internal writes.

Server code calls them with ``ctx.run``; no client can (R8).  Status, usage and runs are
not among what they write: those belong to the engine.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from app.authoring.contexts import ActionContext
from app.authoring.functions import ServerFunction, action
from app.domain.errors import NotFound
from app.domain.message import MessageStatus, Role, text_part
from app.domain.ports import Ids
from app.domain.record import NewMessage
from app.domain.storable import encode
from app.functions.builtin_reads import Key
from app.functions.ports import ThreadWriter
from app.threads.starting import checked_key, checked_text, checked_title


class ThreadWrites:
    """The functions, over one writer."""

    def __init__(self, writer: ThreadWriter, ids: Ids) -> None:
        self._writer = writer
        self._ids = ids

    def functions(self) -> Sequence[ServerFunction[..., Any]]:
        """Return the declarations."""
        return [
            action(internal=True, name="agent_ensure_thread", idempotent=True)(self.ensure),
            action(internal=True, name="agent_append_message")(self.append),
            action(internal=True, name="agent_patch_thread", idempotent=True)(self.patch),
        ]

    async def ensure(
        self,
        ctx: ActionContext,
        *,
        key: Key,
        agent: Annotated[str, Field(min_length=1)],
        owner: str | None = None,
        title: str | None = None,
    ) -> dict[str, bool]:
        """Make an empty thread unless there is one with this key; its owner stays."""
        del ctx
        line = None if title is None else checked_title(title)
        made = await self._writer.ensure(self._ids.new(), checked_key(key), agent, owner, line)
        return {"created": made}

    async def append(
        self,
        ctx: ActionContext,
        *,
        key: Key,
        text: str,
        role: Literal["user", "assistant", "system"] = "user",
        author: str | None = None,
    ) -> dict[str, Any]:
        """Append a message that no run wrote; the next run's model reads it."""
        message_id = self._ids.new()
        message = NewMessage(
            id=message_id,
            key=f"{message_id}:{role}:0",
            role=Role(role),
            status=MessageStatus.COMPLETE,
            parts=encode([text_part(checked_text(text))]),
            author=author or ctx.auth.user_id,
        )
        seq = await self._writer.append(key, message)
        if seq is None:
            raise NotFound(f"no thread {key!r}")
        return {"id": message_id, "seq": seq}

    async def patch(self, ctx: ActionContext, *, key: Key, title: str) -> None:
        """Give a thread another title."""
        del ctx
        if not await self._writer.rename(key, checked_title(title)):
            raise NotFound(f"no thread {key!r}")
