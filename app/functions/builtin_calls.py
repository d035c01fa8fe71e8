"""``agents:agentRun``, ``agentCancel``, ``agentRetry``: what clients do.

They check for themselves who may do it (R8).  What a later issue brings is refused
by name rather than ignored.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, JsonValue

from app.authoring.contexts import ActionContext, MutationContext
from app.authoring.functions import ServerFunction, action, mutation
from app.domain.errors import InvalidArgument
from app.domain.ports import GovernanceReader
from app.functions.agent_runs import AgentCard, AgentRuns
from app.functions.builtin_reads import Key
from app.models.catalog import check_allowed
from app.threads.access import (
    check_may_retry,
    check_may_start,
    meant_thread,
)
from app.threads.governing import check_may_use
from app.threads.output_schema import require_object


class AgentCallFunctions:
    """The calls, over the agents that were loaded."""

    def __init__(
        self, runs: AgentRuns, agents: Mapping[str, AgentCard], governance: GovernanceReader
    ) -> None:
        self._runs = runs
        self._agents = agents
        self._governance = governance

    def functions(self) -> Sequence[ServerFunction[..., Any]]:
        """Return the declarations."""
        return [
            mutation(name="agent_run")(self.run),
            action(name="agent_cancel", idempotent=True)(self.cancel),
            action(name="agent_retry")(self.retry),
        ]

    async def run(
        self,
        ctx: MutationContext,
        *,
        agent: str,
        input: str,  # noqa: A002  # the wire's word
        key: Key | None = None,
        title: str | None = None,
        model: str | None = None,
        mode: JsonValue = None,
        goal: JsonValue = None,
        output_schema: JsonValue = None,
        attachments: JsonValue = None,
    ) -> dict[str, JsonValue]:
        """Start a run as the caller, on a new thread or the next one of an old thread.

        What happens on a busy thread is the agent's to say: ``steered`` is a send that the live
        run ``id`` will read, ``position`` the place of a run that waits until the thread is free.
        ``output_schema`` is a JSON Schema of an object: the run ends with an ``output`` that fits.
        """
        _refuse_later_options(mode=mode, goal=goal, attachments=attachments)
        form = None if output_schema is None else require_object(output_schema)
        card = self._agents.get(agent)
        check_may_start(agent, card.access if card else None, ctx.auth)
        governed = await self._governance.governed([agent])
        check_may_use(agent, governed.of(agent), ctx.auth)
        if model is not None and card is not None:
            check_allowed(model, governed.models, coded=card.model)
        started = await ctx.agents.run(
            agent,
            input=input,
            owner=ctx.auth.user_id,
            thread_key=key,
            title=title,
            model=model,
            output_schema=form,
        )
        answer: dict[str, JsonValue] = {"id": started.id, "key": started.thread_key}
        if started.steered:
            answer["steered"] = True
        if started.position is not None:
            answer["position"] = started.position
        return answer

    async def cancel(
        self,
        ctx: ActionContext,
        *,
        key: Key,
        run_id: Annotated[str, Field(min_length=1)] | None = None,
    ) -> dict[str, bool]:
        """End the run that the caller means as cancelled; another or a finished one stays."""
        thread = await meant_thread(self._runs.reader, key, ctx.auth, run_id)
        if thread is None:
            return {"cancelled": False}
        ended = await self._runs.store.cancel(thread.id, run_id)
        return {"cancelled": ended is not None}

    async def retry(
        self,
        ctx: ActionContext,
        *,
        key: Key,
        run_id: Annotated[str, Field(min_length=1)] | None = None,
    ) -> dict[str, bool]:
        """Let the thread's newest run, which failed, go on from its last finished step."""
        thread = await meant_thread(self._runs.reader, key, ctx.auth, run_id)
        if thread is None:
            return {"retried": False}
        card = self._agents.get(thread.agent)
        check_may_retry(thread, card.access if card else None, ctx.auth)
        governed = await self._governance.governed([thread.agent])
        check_may_use(thread.agent, governed.of(thread.agent), ctx.auth)
        return {"retried": await self._runs.store.retry(thread.id, run_id) is not None}


def _refuse_later_options(**options: JsonValue) -> None:
    for name, value in options.items():
        if value is not None:
            raise InvalidArgument(f"{name}: not supported by this version")
