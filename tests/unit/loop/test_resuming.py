"""Whatever instruction a worker dies at, another one goes on as if nothing had happened.

The scripted world is cut off before and after each of its writes, in the journal and
in the store; the thread must end the same every time, and each finished body must
have run once.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app import Agent, ToolContext, tool
from app.authoring.tools import Tool
from app.domain.approval import Decision
from app.domain.run import FINAL, RunStatus
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel

__all__ = ["no_backoff"]

SCRIPT = (
    Says(
        "First.",
        [Asks("tick", {"n": 1}, "c1"), Asks("tick", {"n": 2}, "c2"), Asks("nope", id="c3")],
    ),
    Says("Then.", [Asks("tick", {"n": 3}, "c1"), Asks("pay", {"n": 4}, "c2")]),
    Says("Done."),
)


class Counting:
    """Tools whose bodies are counted by idempotency key."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()

        @tool
        async def tick(ctx: ToolContext, n: int) -> int:
            self.ran[ctx.idempotency_key] += 1
            return n

        @tool(needs_approval=True)
        async def pay(ctx: ToolContext, n: int) -> int:
            self.ran[ctx.idempotency_key] += 1
            return n

        self.tools: list[Tool] = [tick, pay]


class Guillotine:
    """Stops the caller for good before or after the n-th call of something."""

    def __init__(self, place: int, *, after: bool) -> None:
        self.fell = asyncio.Event()
        self._left = place
        self._after = after

    def over(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def guarded(*args: object) -> object:
            self._left -= 1
            is_it = self._left == 0
            if is_it and not self._after:
                await self._fall()
            answer = await call(*args)
            if is_it:
                await self._fall()
            return answer

        return guarded

    async def _fall(self) -> None:
        self.fell.set()
        await asyncio.Event().wait()


async def to_the_end(world: AgentWorld, run_id: str) -> None:
    """Drive a run to its end, approving what it asks for."""
    while True:
        await world.until(run_id, RunStatus.AWAITING_INPUT, *FINAL)
        if world.database.runs[run_id].status is not RunStatus.AWAITING_INPUT:
            return
        for approval in await world.reader.approvals(key=world.thread().key):
            await world.decide(approval.tool_call_id, Decision.APPROVED)


async def undisturbed() -> tuple[list[tuple[str, str, str]], list[str]]:
    counting, model = Counting(), ScriptedModel(*SCRIPT)
    async with AgentWorld(Agent(model=model, tools=counting.tools)) as world:
        world.worker()
        run_id = await world.say()
        await to_the_end(world, run_id)
        return world.said(), sorted(world.steps(run_id))


async def cut_off(where: str, place: int, *, after: bool) -> bool:
    """Kill a worker at a write and let another go on; whether there was such a write."""
    counting, model = Counting(), ScriptedModel(*SCRIPT)
    guillotine = Guillotine(place, after=after)
    async with AgentWorld(Agent(model=model, tools=counting.tools)) as world:
        store_or_journal = world.store if where in {"record", "park", "finish"} else world.journal
        setattr(store_or_journal, where, guillotine.over(getattr(store_or_journal, where)))
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
        rows, steps = await undisturbed()
        assert world.said() == rows
        assert sorted(world.steps(run_id)) == steps
        assert world.database.runs[run_id].usage.requests == 3
        assert world.thread().usage == world.database.runs[run_id].usage
        keys = {f"{run_id}/{step}" for step in steps if step.startswith("tool:")}
        assert set(counting.ran) == keys
        assert max(counting.ran.values()) <= 2
        assert await world.store.stranded() == []
        return guillotine.fell.is_set()


@pytest.mark.req("DUR-03", "DUR-06")
@pytest.mark.parametrize("where", ["record", "complete", "park", "finish"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_worker_that_dies_at_a_write_leaves_no_trace(where: str, *, after: bool) -> None:
    place = 1
    while await cut_off(where, place, after=after):
        place += 1

    assert place > 1


@pytest.mark.req("DUR-03")
async def test_a_body_whose_record_reached_the_journal_does_not_run_again() -> None:
    counting, model = Counting(), ScriptedModel(*SCRIPT)
    guillotine = Guillotine(2, after=False)  # llm:turn:0, then the first tool
    async with AgentWorld(Agent(model=model, tools=counting.tools)) as world:
        vars(world.store)["record"] = guillotine.over(world.store.record)
        first = world.worker()
        run_id = await world.say()
        await guillotine.fell.wait()
        await first.kill()
        world.worker()
        await world.take_over(first)
        await to_the_end(world, run_id)

    assert set(counting.ran.values()) == {1}
    assert len(model.requests) == 3


@pytest.mark.parametrize("seed", range(50))
async def test_b11_parallel_calls_keep_their_order_over_a_takeover(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # a test of its own
    ran: Counter[str] = Counter()
    finished: list[str] = []

    @tool
    async def sleepy(ctx: ToolContext, n: int) -> int:
        ran[ctx.tool_call_id] += 1
        for _ in range(chance.randrange(12)):
            await asyncio.sleep(0)
        finished.append(ctx.tool_call_id)
        return n

    model = ScriptedModel(
        Says(calls=[Asks("sleepy", {"n": n}, f"c{n}") for n in range(3)]), "Done."
    )
    guillotine = Guillotine(3, after=True)  # the model, and two of three tools
    async with AgentWorld(Agent(model=model, tools=[sleepy])) as world:
        vars(world.store)["record"] = guillotine.over(world.store.record)
        first = world.worker()
        run_id = await world.say()
        await guillotine.fell.wait()
        recorded = [step.rsplit(":")[-1] for step in world.steps(run_id) if "sleepy" in step]
        await first.kill()
        world.worker()
        await world.take_over(first)
        await world.ended(run_id)

    assert [text for role, _, text in world.said() if role == "tool"] == ["0", "1", "2"]
    assert all(ran[call] == 1 for call in recorded)
    assert len(model.requests) == 2


async def test_b13_a_tool_that_a_deploy_took_away_is_an_error_the_model_sees() -> None:
    counting, model = Counting(), ScriptedModel(Says(calls=[Asks("tick", {"n": 1})]), "Oh.")
    guillotine = Guillotine(1, after=True)
    async with AgentWorld(Agent(model=model, tools=counting.tools)) as world:
        vars(world.store)["record"] = guillotine.over(world.store.record)
        first = world.worker()
        run_id = await world.say()
        await guillotine.fell.wait()
        await first.kill()
        async with AgentWorld(Agent(model=model, tools=counting.tools[1:])) as next_version:
            vars(world)["programs"] = next_version.programs
        world.worker()
        await world.take_over(first)
        run = await world.ended(run_id)

    assert run.stopped == "final"
    assert world.said()[2] == ("tool", "complete", "!There is no tool 'tick'. The tools are: pay.")
    assert counting.ran == {}


async def test_instructions_survive_a_takeover() -> None:
    asked: list[int] = []

    def instructions() -> str:
        asked.append(1)
        return f"asked {len(asked)} times"

    counting, model = Counting(), ScriptedModel(Says(calls=[Asks("tick", {"n": 1})]), "Done.")
    guillotine = Guillotine(2, after=True)
    agent = Agent(model=model, tools=counting.tools, instructions=instructions)
    async with AgentWorld(agent) as world:
        vars(world.store)["record"] = guillotine.over(world.store.record)
        first = world.worker()
        run_id = await world.say()
        await guillotine.fell.wait()
        await first.kill()
        world.worker()
        await world.take_over(first)
        await world.ended(run_id)

    assert asked == [1]
    assert [offer.instructions for offer in model.offers] == ["asked 1 times"] * 2
