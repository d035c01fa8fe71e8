"""Faults that users of comparable systems reported, each tried on the whole loop.

The numbers are those of the field cases; what needs real processes is in the other rings.
"""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

from app import Agent, ToolContext, tool
from app.authoring.tools import Tool
from app.domain.approval import Decision
from app.domain.message import INTERRUPTED_OUTPUT, MessageStatus
from app.domain.run import FINAL, RunStatus
from app.domain.thread import ThreadStatus
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel

__all__ = ["no_backoff"]


class Stuck:
    """A tool that never ends by itself."""

    def __init__(self, timeout: float | None = None) -> None:
        self.begun = asyncio.Event()
        self.calls = 0

        @tool(timeout=timeout, retries=0)
        async def stuck() -> None:
            self.calls += 1
            self.begun.set()
            await asyncio.Event().wait()

        self.tool: Tool = stuck

    def agent(self, *, timeout: float | None = None, then: str = "Next.") -> Agent:
        model = ScriptedModel(Says(calls=[Asks("stuck")]), then)
        return Agent(model=model, tools=[self.tool], timeout=timeout)


def counting(
    calls: Counter[str], name: str, call: Callable[..., Any], *, takes_s: float = 0
) -> Callable[..., Any]:
    """Return a call that is counted, and slow."""

    async def counted(*args: object) -> object:
        calls[name] += 1
        await asyncio.sleep(takes_s)
        return await call(*args)

    return counted


def results_read(model: ScriptedModel) -> list[str]:
    """Return the tool results in the newest request."""
    return [
        str(part.content)
        for message in model.requests[-1]
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


# ---- loop ----


async def test_b07_a_tools_limit_a_runs_limit_a_cancel_and_a_shutdown_are_four_outcomes() -> None:
    slow = Stuck(timeout=0.01)
    async with AgentWorld(slow.agent()) as world:
        run = await world.answered()
    assert (run.status, run.stopped, run.error) == (RunStatus.COMPLETED, "final", None)
    assert world.said()[2][2].startswith("!stuck took longer than its limit")

    long = Stuck()
    async with AgentWorld(long.agent(timeout=5)) as world:
        world.worker()
        run_id = await world.say()
        await long.begun.wait()
        await world.later(timedelta(seconds=6))
        run = await world.ended(run_id)
    assert (run.status, run.stopped) == (RunStatus.FAILED, "error")
    assert run.error is not None
    assert run.error.code == "TIMED_OUT"

    stopped = Stuck()
    async with AgentWorld(stopped.agent()) as world:
        world.worker()
        run_id = await world.say()
        await stopped.begun.wait()
        await world.store.cancel(world.thread().id, run_id)
        run = await world.ended(run_id)
    assert (run.status, run.stopped, run.error) == (RunStatus.CANCELLED, "cancelled", None)

    handed = Stuck()
    async with AgentWorld(handed.agent()) as world:
        first = world.worker()
        run_id = await world.say()
        await handed.begun.wait()
        await first.terminate(timedelta(0))
        run = world.database.runs[run_id]
    assert (run.status, run.crashes, run.error) == (RunStatus.QUEUED, 0, None)


async def test_b09_a_plain_function_that_takes_long_is_one_call_and_holds_nobody_up() -> None:
    may_end, calls = threading.Event(), Counter[str]()

    @tool
    def slow(ctx: ToolContext) -> str:
        calls[ctx.idempotency_key] += 1
        may_end.wait(10)
        return "slow"

    model = ScriptedModel(Says(calls=[Asks("slow")]), "Done.")
    async with AgentWorld(Agent(model=model, tools=[slow])) as world:
        world.worker()
        run_id = await world.say(key="slow")
        async with asyncio.timeout(5):
            while not calls:  # noqa: ASYNC110  # a thread cannot set an event of this loop
                await asyncio.sleep(0.001)
        await world.signal("are you there?", key="slow")  # the loop is free for others
        may_end.set()
        await world.ended(run_id)

    assert list(calls.values()) == [1]


async def test_b12_a_memo_belongs_to_one_call_of_one_run_and_survives_the_process() -> None:
    ran: list[tuple[str, str]] = []
    fell = asyncio.Event()

    @tool
    async def look_up(ctx: ToolContext, a: int, b: int) -> str:
        ran.append((ctx.thread_key, ctx.tool_call_id))
        if ctx.thread_key == "second" and ctx.tool_call_id == "c3" and not fell.is_set():
            fell.set()
            await asyncio.Event().wait()
        return f"{ctx.thread_key}/{ctx.tool_call_id}: {a + b}"

    arguments = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    asks = [Asks("look_up", arguments[n % 2], f"c{n}") for n in range(3)]
    last = Asks("look_up", arguments[0], "c3")
    model = ScriptedModel(Says(calls=asks), Says(calls=[last]), "Done.")
    async with AgentWorld(Agent(model=model, tools=[look_up])) as world:
        first = world.worker()
        await world.ended(await world.say(key="first"))
        run_id = await world.say(key="second")
        await fell.wait()
        await first.kill()
        world.worker()
        await world.take_over(first)
        await world.ended(run_id)

    assert Counter(ran) == {
        (key, f"c{n}"): 1 + (key == "second" and n == 3)
        for key in ("first", "second")
        for n in range(4)
    }
    for key in ("first", "second"):
        told = [text for role, _, text in world.said(key) if role == "tool"]
        assert told == [f"{key}/c{n}: 3" for n in range(4)]


async def test_b16_a_step_costs_the_same_however_long_the_run_is() -> None:
    calls = Counter[str]()

    @tool
    async def tick() -> str:
        return "tock"

    script = [Says(calls=[Asks("tick")])] * 300
    async with AgentWorld(
        Agent(model=ScriptedModel(*script, "Done."), tools=[tick], max_turns=400)
    ) as world:
        for where, names in (
            (world.store, ("record", "open_turn", "history", "holds")),
            (world.journal, ("complete", "open")),
        ):
            for name in names:
                vars(where)[name] = counting(calls, name, getattr(where, name))
        run = await world.answered()

    assert run.usage.requests == 301
    assert calls == {"record": 601, "complete": 601, "open_turn": 1, "history": 1, "open": 1}


@pytest.mark.parametrize("place", ["journal", "store"])
async def test_b21_a_turn_that_was_streamed_but_not_saved_is_stored_once(place: str) -> None:
    fell = asyncio.Event()

    @tool
    async def tick() -> str:
        return "tock"

    model = ScriptedModel(Says("Let me see.", [Asks("tick")]), "Done.", "Done again.")
    async with AgentWorld(Agent(model=model, tools=[tick])) as world:
        where, name = (world.journal, "complete") if place == "journal" else (world.store, "record")
        call = getattr(where, name)

        async def dying(*args: object) -> object:
            if not fell.is_set():
                fell.set()
                await asyncio.Event().wait()
            return await call(*args)

        vars(where)[name] = dying
        first = world.worker()
        run_id = await world.say()
        await fell.wait()
        await first.kill()
        world.worker()
        await world.take_over(first)
        await world.ended(run_id)
        again = await world.answered("again")

    assert [text for _, _, text in world.said()] == [
        "hello",
        "Let me see. tick({})",
        "tock",
        "Done.",
        "again",
        "Done again.",
    ]
    assert again.stopped == "final"


@pytest.mark.parametrize("end", ["cancelled", "timed out", "replaced", "crashed"])
async def test_b22_a_turn_that_was_cut_off_before_its_result_does_not_break_the_next(
    end: str,
) -> None:
    stuck = Stuck()
    agent = stuck.agent(timeout=5)
    if end == "replaced":
        agent = Agent(model=agent.model, tools=[stuck.tool], on_concurrent_run="replace")
    async with AgentWorld(agent) as world:
        first = world.worker()
        run_id = await world.say()
        await stuck.begun.wait()
        match end:
            case "cancelled":
                await world.store.cancel(world.thread().id, run_id)
            case "timed out":
                await world.later(timedelta(seconds=6))
            case "crashed":
                await first.kill()
                vars(world.store)["_max_attempts"] = 1
                await world.take_over(first)
                vars(world.store)["_max_attempts"] = 5
            case _:
                pass
        world.worker()
        again = await world.answered("go on")

    assert world.database.runs[run_id].status in FINAL
    assert again.stopped == "final"
    model = agent.model
    assert isinstance(model, ScriptedModel)
    assert results_read(model) == [INTERRUPTED_OUTPUT]
    assert world.said()[2] == ("tool", "interrupted", f"!{INTERRUPTED_OUTPUT}")


@pytest.mark.req("CON-04", "CON-05")
@pytest.mark.parametrize("policy", ["queue", "steer"])
async def test_b25_what_is_said_during_a_turn_is_read_once_and_in_order(policy: str) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> str:
        begun.set()
        await may_end.wait()
        return "worked"

    model = ScriptedModel(Says(calls=[Asks("work")]), "Done.")
    agent = Agent(model=model, tools=[work], on_concurrent_run=policy)  # type: ignore[arg-type]  # one of them
    async with AgentWorld(agent) as world:
        first = world.worker()
        run_id = await world.say("0")
        await begun.wait()
        await world.send("1")
        await world.send("2")
        await first.kill()
        await world.send("3")
        world.worker()
        await world.take_over(first)
        await world.send("4")
        await world.send("5")
        may_end.set()
        await world.ended(run_id)
        while world.thread().live_run:
            await world.ended(world.thread().live_run or "")

    said = [text for role, _, text in world.said() if role == "user"]
    read = [
        str(part.content)
        for message in model.requests[-1]
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    assert said == read == ["0", "1", "2", "3", "4", "5"]
    assert {run.status for run in world.database.runs.values()} == {RunStatus.COMPLETED}
    assert await world.store.stranded() == []


async def test_b18_a_changed_agent_takes_up_what_the_old_one_parked() -> None:
    charged: list[int] = []

    @tool(needs_approval=True)
    async def charge(amount: int) -> str:
        charged.append(amount)
        return "charged"

    @tool(name="charge")
    async def charge_now(amount: int, currency: str = "EUR") -> str:
        charged.append(amount)
        return f"charged in {currency}"

    model = ScriptedModel(Says(calls=[Asks("charge", {"amount": 9})]), "Thanks.")
    old = Agent(model=model, tools=[charge], instructions="Old.")
    new = Agent(model=model, tools=[charge_now], instructions="New.", max_turns=2)
    async with AgentWorld(old) as world:
        first = world.worker()
        run = await world.parked(await world.say())
        async with AgentWorld(new) as deployed:
            vars(world)["programs"] = deployed.programs
        await first.terminate()
        world.worker()
        await world.decide("call_1", Decision.APPROVED)
        ended = await world.ended(run.id)

    assert (ended.stopped, charged) == ("final", [9])
    assert world.said()[2:] == [
        ("tool", "complete", "charged in EUR"),
        ("assistant", "complete", "Thanks."),
    ]
    assert [offer.instructions for offer in model.offers] == ["Old.", "New."]


# ---- streaming ----


@pytest.mark.parametrize("ticks", range(0, 60, 3))
async def test_b44_a_stop_at_any_moment_after_a_send_leaves_the_thread_free(ticks: int) -> None:
    @tool
    async def tick() -> str:
        return "tock"

    model = ScriptedModel(Says("One two three", [Asks("tick")]), "Four five six")
    async with AgentWorld(Agent(model=model, tools=[tick])) as world:
        world.worker(slots=1)
        run_id = await world.say()
        for _ in range(ticks):
            await asyncio.sleep(0)
        await world.store.cancel(world.thread().id, run_id)
        assert world.thread().live_run is None
        assert world.database.runs[run_id].status in FINAL
        again = await world.answered("and now?")

    assert again.status is RunStatus.COMPLETED
    assert {row.status for row in world.rows()} <= {
        MessageStatus.COMPLETE,
        MessageStatus.INTERRUPTED,
    }
    assert await world.store.stranded() == []


async def test_b47_a_stream_that_fails_with_words_unsent_ends_the_run_in_words() -> None:
    model = ScriptedModel(Says("One two three", error=ZeroDivisionError("division by zero")))
    async with AgentWorld(Agent(model=model)) as world:
        world.journal.is_away = True  # nothing can be flushed either
        run = await world.answered()

    assert run.error is not None
    assert run.error.message == "the model request failed: division by zero"
    assert world.thread().status is ThreadStatus.FAILED
    assert world.thread().live_run is None


async def test_b53_words_cost_no_write_however_many_there_are() -> None:
    spent: list[dict[str, int]] = []
    for words in (5, 500):
        calls = Counter[str]()
        async with AgentWorld(Agent(model=ScriptedModel("word " * words))) as world:
            for where, name in ((world.store, "record"), (world.journal, "complete")):
                slow = counting(calls, name, getattr(where, name), takes_s=0.02)
                vars(where)[name] = slow
            await world.answered()
        spent.append(dict(calls))

    assert spent == [{"record": 1, "complete": 1}] * 2


async def test_b55_an_open_row_without_a_run_is_told_as_interrupted() -> None:
    model = ScriptedModel(Says(calls=[Asks("nothing")]), "Done.", "Fine.")

    @tool
    async def nothing() -> str:
        return "nothing"

    async with AgentWorld(Agent(model=model, tools=[nothing])) as world:
        await world.answered()
        rows = world.database.messages[world.thread().id]
        old = rows[2]
        part = {name: old.parts[0][name] for name in ("type", "toolCallId", "name")}
        rows[2] = type(old)(
            **{name: getattr(old, name) for name in old.__slots__}
            | {"status": MessageStatus.OPEN, "parts": [part]}
        )
        again = await world.answered("again")

    assert again.stopped == "final"
    assert results_read(model) == [INTERRUPTED_OUTPUT]


async def test_b43_what_a_cut_off_turn_cost_is_still_counted_when_the_run_goes_on() -> None:
    @tool
    async def look() -> str:
        return "nothing"

    broken = Says("Half an", error=ZeroDivisionError("cut off"), failures=3)
    model = ScriptedModel(Says(calls=[Asks("look")]), broken)
    async with AgentWorld(Agent(model=model, tools=[look])) as world:
        failed = await world.answered()
        await world.store.retry(world.thread().id, failed.id)
        ended = await world.ended(failed.id)
        counted = [row.usage for row in world.rows() if row.usage]

    assert (failed.status, ended.status) == (RunStatus.FAILED, RunStatus.COMPLETED)
    assert ended.usage.requests == world.thread().usage.requests == len(counted) == 3


async def test_a_turn_that_a_retry_answered_is_not_told_twice() -> None:
    error = ZeroDivisionError("division by zero")
    model = ScriptedModel(Says("Half an answer", error=error, failures=3), "Whole.", "More.")
    async with AgentWorld(Agent(model=model)) as world:
        failed = await world.answered()
        assert failed.status is RunStatus.FAILED
        await world.store.retry(world.thread().id, failed.id)
        run = await world.ended(failed.id)
        assert run.stopped == "final"
        await world.answered("more")

    assert [text for _, _, text in world.said()] == [
        "hello",
        "Half an answer",
        "Half an answer",
        "more",
        "Whole.",
    ]
    told = json.dumps([str(message) for message in model.requests[-1]])
    assert told.count("Half an answer") == 1
