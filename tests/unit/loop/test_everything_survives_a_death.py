"""A run with all kinds of waits dies at each of its writes; the thread ends the same.

Child, gated call, parallel calls, a state that counts, a message from outside: killed before
and after each write to the journal and the store, of the parent and of the child alike.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest

from app import Agent, ToolContext, tool
from app.domain.approval import Decision
from app.domain.run import FINAL, RunStatus
from app.domain.signal import NewSignal, SignalMode
from app.domain.storable import Json
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel
from tests.unit.loop.test_resuming import Guillotine

__all__ = ["no_backoff"]

OF_THE_JOURNAL = {"complete", "open", "drop"}


def one_more(state: Json) -> Json:
    assert isinstance(state, dict)
    return {"n": int(str(state["n"])) + 1}


@dataclass
class Everything:
    """An agent that does all of it, and how often its bodies ran."""

    ran: Counter[str] = field(default_factory=Counter)
    world: AgentWorld | None = None

    def agents(self) -> tuple[Agent, Agent]:
        @tool
        async def count(ctx: ToolContext) -> str:
            self.ran[ctx.idempotency_key] += 1
            await ctx.update_state(one_more)
            return "counted"

        @tool
        async def hear(ctx: ToolContext) -> str:
            self.ran[ctx.idempotency_key] += 1
            assert self.world is not None
            thread = self.world.thread()
            signal = NewSignal("s1", thread.id, SignalMode.INJECT, "psst", "user:bob", "r1", "m1")
            await self.world.store.signal(signal)
            return "heard"

        @tool(needs_approval=True)
        async def pay(ctx: ToolContext) -> str:
            self.ran[ctx.idempotency_key] += 1
            return "paid"

        helper = Agent(
            slug="helper",
            model=ScriptedModel(Says("Hm.", [Asks("count", id="h1")]), "Helped."),
            tools=[count],
            initial_state={"n": 10},
        )
        script = (
            Says(
                "First.",
                [
                    Asks("helper", {"message": "help"}, "c1"),
                    Asks("count", id="c2"),
                    Asks("hear", id="c3"),
                    Asks("pay", id="c4"),
                ],
            ),
            Says("Then.", [Asks("count", id="c5")]),
            Says("Done."),
        )
        boss = Agent(
            model=ScriptedModel(*script), tools=[helper, count, hear, pay], initial_state={"n": 0}
        )
        return boss, helper


async def to_the_end(world: AgentWorld, run_id: str) -> None:
    """Drive a run to its end, approving what it asks for."""
    while True:
        await world.until(run_id, RunStatus.AWAITING_INPUT, *FINAL)
        if world.database.runs[run_id].status is not RunStatus.AWAITING_INPUT:
            return
        for approval in await world.reader.approvals(key=world.thread().key):
            await world.decide(approval.tool_call_id, Decision.APPROVED)
        await asyncio.sleep(0)


def outcome(world: AgentWorld) -> object:
    """Return what must be the same whoever died."""
    children = [run for run in world.database.runs.values() if run.parent is not None]
    texts = [
        [(row.role.value, row.status.value, str(row.parts)) for row in world.database.messages[one]]
        for one in [world.thread().id, *(child.thread_id for child in children)]
    ]
    steps = [sorted(world.steps(run)) for run in world.database.runs]
    return texts, steps, dict(world.database.states), len(world.database.runs)


async def cut_off(where: str, place: int, *, after: bool) -> tuple[object, bool]:
    """Kill a worker at a write and let another go on; whether there was such a write."""
    everything, guillotine = Everything(), Guillotine(place, after=after)
    async with AgentWorld(*everything.agents()) as world:
        everything.world = world
        port = world.journal if where in OF_THE_JOURNAL else world.store
        if where != "nothing":
            setattr(port, where, guillotine.over(getattr(port, where)))
        first = world.worker()
        run_id = await world.say()
        playing = asyncio.create_task(to_the_end(world, run_id))
        falling = asyncio.create_task(guillotine.fell.wait())
        await asyncio.wait({playing, falling}, return_when=asyncio.FIRST_COMPLETED)
        if guillotine.fell.is_set():
            await first.kill()
            world.worker()
            await world.take_over(first)
        falling.cancel()
        await playing
        assert {run.status for run in world.database.runs.values()} == {RunStatus.COMPLETED}
        assert max(everything.ran.values()) <= 2
        assert sum(everything.ran.values()) <= 6 + 3  # those in flight at the death ran twice
        assert await world.store.stranded() == []
        return outcome(world), guillotine.fell.is_set()


@pytest.mark.req("DUR-03", "DUR-06", "DUR-12", "STA-07", "TOOL-06")
@pytest.mark.parametrize(
    "where",
    ["record", "park", "finish", "spawn", "update_state", "open_turn", "complete", "open", "drop"],
)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_death_at_any_write_changes_nothing_of_the_end(where: str, *, after: bool) -> None:
    undisturbed, _ = await cut_off("nothing", 1, after=False)

    place, fell = 1, True
    while fell:
        found, fell = await cut_off(where, place, after=after)
        assert found == undisturbed, f"{where} {place}"
        place += 1

    assert place > 2
