"""``agents:agentSignal``, ``agentSendEvent``: how HTTP reaches a conversation from outside.

Internal: on a socket a person sends (``agentRun``), and what is to happen on a busy thread is the
agent's to say.  Mutations, so that a request repeated under its key is one signal and one answer.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from app.authoring.contexts import MutationContext
from app.authoring.functions import ServerFunction, mutation
from app.authoring.producer import Producer, Producers, attribute_name
from app.domain.errors import NotFound
from app.domain.ports import GovernanceReader, ThreadReader
from app.functions.builtin_reads import Key
from app.threads.access import check_may_signal, readable_run
from app.threads.governing import check_may_use


class SignalFunctions:
    """The functions, over one reader."""

    def __init__(self, reader: ThreadReader, governance: GovernanceReader) -> None:
        self._reader = reader
        self._governance = governance

    def functions(self) -> Sequence[ServerFunction[..., Any]]:
        """Return the declarations."""
        return [
            mutation(internal=True, name="agent_signal")(self.signal),
            mutation(internal=True, name="agent_send_event")(self.send_event),
        ]

    async def signal(
        self,
        ctx: MutationContext,
        *,
        agent: Annotated[str, Field(min_length=1)],
        key: Key,
        message: str,
        mode: Literal["queue", "inject"] = "queue",
    ) -> dict[str, JsonValue]:
        """Put a message into a conversation as the caller; ``woke`` says that it was idle."""
        thread = await self._reader.find(key)
        check_may_signal(thread, ctx.auth)
        producer = _producer(ctx.agents, agent)
        if producer is None or thread is None or thread.agent != agent:
            raise NotFound("no such session")
        governed = await self._governance.governed([agent])
        check_may_use(agent, governed.of(agent), ctx.auth)
        signalled = await producer.signal(key, message, mode, by=ctx.auth)
        answer: dict[str, JsonValue] = {"woke": signalled.woke}
        if signalled.run_id is not None:
            answer["runId"] = signalled.run_id
        return answer

    async def send_event(
        self,
        ctx: MutationContext,
        *,
        run_id: Annotated[str, Field(min_length=1)],
        name: str,
        payload: JsonValue = None,
    ) -> dict[str, bool]:
        """Give an event to an unfinished run; ``delivered`` says that there is one."""
        found = await readable_run(self._reader, run_id, ctx.auth)
        if found is None:
            raise NotFound("no such run")
        run, _ = found
        producer = _producer(ctx.agents, run.agent)
        if producer is None:
            return {"delivered": False}
        return {"delivered": await producer.send_event(run_id, name, payload, by=ctx.auth)}


def _producer(agents: Producers, slug: str) -> Producer | None:
    """Return the producer of an agent, or ``None`` when there is no such agent any more."""
    found = getattr(agents, attribute_name(slug), None)
    return found if isinstance(found, Producer) and found.slug == slug else None
