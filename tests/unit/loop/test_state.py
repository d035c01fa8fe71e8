"""A thread's synced state: set whole, changed once, there for whoever resumes."""

import asyncio

import pytest

from app import Agent, ToolContext, tool
from app.authoring.tools import Tool
from app.domain.storable import Json
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel

__all__ = ["no_backoff"]


def using(*tools: Tool, initial_state: object = None) -> Agent:
    script = ScriptedModel(Says(calls=[Asks(each.name, id=each.name) for each in tools]), "Done.")
    return Agent(model=script, tools=tools, initial_state=initial_state)


@tool
async def nothing() -> str:
    """Do nothing."""
    return "nothing"


@pytest.mark.req("STA-02", "STA-09")
async def test_without_a_seed_there_is_no_state() -> None:
    seen: list[Json] = []

    @tool
    async def look(ctx: ToolContext) -> None:
        seen.append(await ctx.get_state())

    async with AgentWorld(using(look)) as world:
        await world.answered()

    assert seen == [None]
    assert world.database.states == {}


@pytest.mark.req("STA-01", "STA-03")
async def test_the_seed_is_replaced_whole_and_never_sown_again() -> None:
    seen: list[Json] = []

    @tool
    async def look_and_set(ctx: ToolContext) -> None:
        seen.append(await ctx.get_state())
        await ctx.set_state({"b": 2})

    async with AgentWorld(using(look_and_set, initial_state={"a": 1})) as world:
        await world.answered()
        await world.answered()

    assert seen == [{"a": 1}]
    assert world.state() == {"b": 2}


@pytest.mark.req("STA-05")
async def test_a_body_that_runs_again_finds_what_it_wrote_and_converges() -> None:
    seen: list[Json] = []

    @tool
    async def fails_after_writing(ctx: ToolContext) -> None:
        seen.append(await ctx.get_state())
        await ctx.set_state({"step": "paid"})
        if ctx.attempt == 1:
            raise ConnectionError("reset")

    async with AgentWorld(using(fails_after_writing)) as world:
        await world.answered()

    assert seen == [None, {"step": "paid"}]
    assert world.state() == {"step": "paid"}


def counted(state: Json) -> Json:
    assert isinstance(state, dict)
    return {"n": int(str(state["n"])) + 1}


@pytest.mark.req("STA-06", "STA-07")
async def test_a_change_is_made_once_however_often_the_body_runs() -> None:
    naive: list[Json] = []

    @tool
    async def count(ctx: ToolContext) -> object:
        naive.append(await ctx.get_state())
        after = await ctx.update_state(counted)
        if ctx.attempt < 3:
            raise ConnectionError("reset")
        return after

    async with AgentWorld(using(count, initial_state={"n": 0})) as world:
        run = await world.answered()

    assert naive == [{"n": 0}, {"n": 1}, {"n": 1}]  # get, add, set would have counted three
    assert world.state() == {"n": 1}
    assert "tool:count:count/state:0" in world.steps(run.id)


@pytest.mark.req("STA-07")
async def test_every_change_of_a_body_counts_once() -> None:
    @tool
    async def twice(ctx: ToolContext) -> None:
        await ctx.update_state(counted)
        await ctx.update_state(counted)
        if ctx.attempt == 1:
            raise ConnectionError("reset")

    @tool
    async def once(ctx: ToolContext) -> None:
        await ctx.update_state(counted)

    async with AgentWorld(using(twice, once, initial_state={"n": 0})) as world:
        await world.answered()

    assert world.state() == {"n": 3}


@pytest.mark.req("STA-01", "STA-07")
async def test_a_takeover_repeats_no_change_and_sows_no_seed() -> None:
    fell = asyncio.Event()

    @tool
    async def count(ctx: ToolContext) -> None:
        await ctx.update_state(counted)
        if not fell.is_set():
            fell.set()
            await asyncio.Event().wait()

    async with AgentWorld(using(count, initial_state={"n": 0})) as world:
        first = world.worker()
        run_id = await world.say()
        await fell.wait()
        await first.kill()
        world.worker()
        await world.take_over(first)
        await world.ended(run_id)

    assert world.state() == {"n": 1}


async def test_a_frozen_body_writes_no_state_after_its_run_was_cancelled() -> None:
    begun, thawed = asyncio.Event(), asyncio.Event()
    refused: list[str] = []

    @tool
    async def stubborn(ctx: ToolContext) -> None:
        begun.set()
        try:
            await thawed.wait()
        except asyncio.CancelledError:
            try:
                await ctx.set_state("late")
            except BaseException as error:
                refused.append(type(error).__name__)
                raise

    async with AgentWorld(using(stubborn)) as world:
        world.worker()
        await world.say()
        await begun.wait()
        await world.store.cancel(world.thread().id, None)
        async with asyncio.timeout(5):
            while not refused:  # noqa: ASYNC110  # the body is on its way out
                await asyncio.sleep(0)

    assert refused == ["FenceLost"]
    assert world.database.states == {}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        pytest.param("x" * (2 << 20), "the state would be 2.0 MiB; the limit is 1 MiB", id="large"),
        pytest.param(object(), "Unable to serialize unknown type", id="no-json"),
    ],
)
async def test_a_state_that_cannot_be_stored_is_told(value: object, said: str) -> None:
    @tool(retries=0)
    async def keep(ctx: ToolContext) -> None:
        await ctx.set_state(value)

    async with AgentWorld(using(keep)) as world:
        await world.answered()

    assert said in world.said()[2][2]
    assert world.database.states == {}


async def test_a_change_that_waits_is_refused() -> None:
    @tool(retries=0)
    async def wait(ctx: ToolContext) -> None:
        async def change(state: Json) -> Json:
            return state

        await ctx.update_state(change)

    async with AgentWorld(using(wait)) as world:
        await world.answered()

    assert "update_state takes a plain function" in world.said()[2][2]
