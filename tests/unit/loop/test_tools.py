"""What a tool does wrong is said to the model; only faults of the moment are tried again."""

import asyncio
import dataclasses
import datetime as dt
import math
import uuid
from collections.abc import Callable

import pydantic
import pytest
from pydantic_ai import ModelRetry
from pydantic_ai.exceptions import ApprovalRequired

from app import Agent, ToolContext, ToolError, tool
from app.authoring.tools import Tool
from app.domain.errors import Conflict
from app.domain.run import RunStatus
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel

__all__ = ["no_backoff"]


class Outlandish(BaseException):
    """No failure that anybody expects."""


class Wordless(Exception):
    """A failure that raises again when it is asked what it means."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


async def results_of(*tools: Tool, calls: list[Asks], retries: int = 2) -> list[str]:
    """Return what the calls came to, as the thread shows it."""
    model = ScriptedModel(Says(calls=calls), "done")
    async with AgentWorld(Agent(model=model, tools=tools, tool_retries=retries)) as world:
        run = await world.answered()
    assert (run.status, run.stopped) == (RunStatus.COMPLETED, "final")
    return [text for role, status, text in world.said() if (role, status) == ("tool", "complete")]


@tool
async def ok(amount: int = 1) -> str:
    """Say ok."""
    return f"ok {amount}"


@pytest.mark.parametrize(
    ("call", "result"),
    [
        pytest.param(Asks("ok", {"amount": 2}), "ok 2", id="fine"),
        pytest.param(Asks("ok", ""), "ok 1", id="no-arguments"),
        pytest.param(
            Asks("nope"), "!There is no tool 'nope'. The tools are: ok.", id="unknown-tool"
        ),
        pytest.param(
            Asks("ok", {"amount": "x"}),
            "!The arguments of ok do not fit. amount: Input should be a valid integer, unable to "
            "parse string as an integer. Mend the arguments and call the tool again.",
            id="invalid-argument",
        ),
        pytest.param(
            Asks("ok", '{"amount": '),
            "!The arguments of ok do not fit. Invalid JSON: EOF while parsing a value at line 1 "
            "column 11. Mend the arguments and call the tool again.",
            id="malformed-json",
        ),
    ],
)
async def test_a_call_that_cannot_be_made_is_told_to_the_model(call: Asks, result: str) -> None:
    assert await results_of(ok, calls=[call]) == [result]


async def test_a_call_that_cannot_be_made_is_no_step() -> None:
    async with AgentWorld(Agent(model=ScriptedModel(Says(calls=[Asks("nope")]), "oh"))) as world:
        run = await world.answered()

    assert world.steps(run.id) == ["llm:turn:0", "llm:turn:1"]


@pytest.mark.req("DUR-04", "DUR-05")
async def test_a_body_that_raises_runs_again_under_the_same_key() -> None:
    seen: list[tuple[int, str]] = []

    @tool
    async def flaky(ctx: ToolContext) -> str:
        seen.append((ctx.attempt, ctx.idempotency_key))
        if len(seen) == 1:
            raise ConnectionError("reset")
        return "fine"

    async with AgentWorld(
        Agent(model=ScriptedModel(Says(calls=[Asks("flaky")]), "done"), tools=[flaky])
    ) as world:
        run = await world.answered()

    key = f"{run.id}/tool:flaky:call_1"
    assert seen == [(1, key), (2, key)]
    assert world.said()[2] == ("tool", "complete", "fine")


@pytest.mark.req("DUR-13")
async def test_a_tool_whose_attempts_run_out_tells_the_model_and_the_run_goes_on() -> None:
    attempts: list[int] = []

    @tool
    async def broken(ctx: ToolContext) -> str:
        attempts.append(ctx.attempt)
        raise ConnectionError("reset by peer")

    assert await results_of(broken, calls=[Asks("broken")]) == [
        "!broken failed 3 times. ConnectionError: reset by peer"
    ]
    assert attempts == [1, 2, 3]


async def test_a_tool_may_have_attempts_of_its_own() -> None:
    @tool(retries=0)
    async def once() -> None:
        raise ValueError

    assert await results_of(once, calls=[Asks("once")]) == [
        "!once failed once. ValueError: no reason given"
    ]


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        pytest.param(ToolError("no such order"), "!no such order", id="expected"),
        pytest.param(ModelRetry("use a number"), "!use a number", id="ask-the-model-again"),
        pytest.param(Conflict("already charged"), "!already charged", id="a-function-refused"),
        pytest.param(
            ApprovalRequired(),
            "!fails cannot wait for an approval from inside, so it did not run.",
            id="approval-from-inside",
        ),
        pytest.param(SystemExit(2), "!fails broke out with SystemExit: 2.", id="exit"),
        pytest.param(KeyboardInterrupt(), "!fails broke out with KeyboardInterrupt.", id="ctrl-c"),
        pytest.param(GeneratorExit(), "!fails broke out with GeneratorExit.", id="closing"),
        pytest.param(Outlandish("no"), "!fails broke out with Outlandish: no.", id="outlandish"),
        pytest.param(
            BaseExceptionGroup("both", [Outlandish("no")]),
            "!fails broke out with BaseExceptionGroup: both (1 sub-exception).",
            id="a-group",
        ),
        pytest.param(Wordless(), "!fails raised Wordless, which has no words.", id="wordless"),
    ],
)
async def test_b14_what_is_no_fault_of_the_moment_is_not_tried_again(
    raised: BaseException, told: str
) -> None:
    calls: list[int] = []

    @tool
    async def fails(ctx: ToolContext) -> None:
        calls.append(ctx.attempt)
        raise raised

    assert await results_of(fails, calls=[Asks("fails")]) == [told]
    assert calls == [1]


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(3), Outlandish(3)])
async def test_a_thread_that_exits_does_not_end_the_process(raised: BaseException) -> None:
    @tool
    def leaves() -> None:
        raise raised

    assert await results_of(leaves, calls=[Asks("leaves")]) == [
        f"!leaves broke out with {type(raised).__name__}: 3."
    ]


async def test_one_of_several_tools_that_breaks_out_leaves_the_others_their_results() -> None:
    @tool
    async def breaks_out() -> None:
        raise Outlandish("no")

    assert await results_of(breaks_out, ok, calls=[Asks("breaks_out"), Asks("ok")]) == [
        "!breaks_out broke out with Outlandish: no.",
        "ok 1",
    ]


async def test_a_stray_cancellation_is_a_failure_like_any_other() -> None:
    @tool
    async def awaits_a_cancelled_task() -> None:
        inner = asyncio.ensure_future(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(inner.cancel)
        await inner

    assert await results_of(
        awaits_a_cancelled_task, calls=[Asks("awaits_a_cancelled_task")], retries=1
    ) == [
        "!awaits_a_cancelled_task failed 2 times. "
        "RuntimeError: something that it waited for was cancelled"
    ]


async def test_a_tool_that_takes_too_long_is_stopped_and_told_of() -> None:
    @tool(timeout=0.01, retries=1)
    async def slow() -> None:
        await asyncio.Event().wait()

    assert await results_of(slow, calls=[Asks("slow")]) == [
        "!slow took longer than its limit of 0.01 s, 2 times. It may have taken effect."
    ]


async def test_calls_of_a_turn_run_at_once_and_their_results_stand_in_call_order() -> None:
    arrived = asyncio.Event()

    @tool
    async def waits_for_the_other() -> str:
        await arrived.wait()
        return "first"

    @tool
    async def arrives() -> str:
        arrived.set()
        return "second"

    assert await results_of(
        waits_for_the_other,
        arrives,
        calls=[Asks("waits_for_the_other", id="c1"), Asks("arrives", id="c2")],
    ) == ["first", "second"]


async def test_a_sequential_tool_runs_alone_in_its_place() -> None:
    running: set[str] = set()
    together: list[set[str]] = []

    def noting(name: str) -> Callable[[], object]:
        async def body() -> None:
            running.add(name)
            await asyncio.sleep(0)
            together.append(set(running))
            running.discard(name)

        return body

    tools = [
        tool(name="a")(noting("a")),
        tool(name="alone", sequential=True)(noting("alone")),
        tool(name="b")(noting("b")),
        tool(name="c")(noting("c")),
    ]
    await results_of(*tools, calls=[Asks(name, id=name) for name in ("a", "alone", "b", "c")])

    assert together[:2] == [{"a"}, {"alone"}]
    assert {"b", "c"} in together[2:]


class Order(pydantic.BaseModel):
    id: uuid.UUID
    placed: dt.date


@dataclasses.dataclass
class Price:
    cents: int


@pytest.mark.parametrize(
    ("returned", "shown"),
    [
        pytest.param(None, "None", id="nothing"),
        pytest.param(b"caf\xc3\xa9", "café", id="bytes-of-text"),
        pytest.param(b"\xff\xfe", "__4=", id="bytes-of-no-text"),
        pytest.param({"a": math.nan, "b": [math.inf]}, "{'a': None, 'b': [None]}", id="nan"),
        pytest.param("a\x00b\ud800", "a\ufffdb\ufffd", id="nul-and-surrogate"),
        pytest.param(
            Order(id=uuid.UUID(int=1), placed=dt.date(2026, 1, 2)),
            "{'id': '00000000-0000-0000-0000-000000000001', 'placed': '2026-01-02'}",
            id="a-model",
        ),
        pytest.param((Price(5), {1: "one"}), "[{'cents': 5}, {'1': 'one'}]", id="a-dataclass"),
        pytest.param(
            object(),
            "!gives returned a object, which has no JSON form: Unable to serialize unknown type: "
            "<class 'object'>",
            id="no-json",
        ),
        pytest.param(
            "x" * 3_000_000,
            "!gives returned 2.9 MiB, which is more than the limit of 1 MiB. Ask for less of it: "
            "a part, a page or a summary.",
            id="three-megabytes",
        ),
        pytest.param(
            b"\xff" * 12_000_000,
            "!gives returned 15.3 MiB, which is more than the limit of 1 MiB. Ask for less of it: "
            "a part, a page or a summary.",
            id="a-large-image",
        ),
    ],
)
async def test_b19_what_a_tool_returns_becomes_json_or_an_error_the_model_can_act_on(
    returned: object, shown: str
) -> None:
    @tool
    async def gives() -> object:
        return returned

    (result,) = await results_of(gives, calls=[Asks("gives")])

    assert result == shown


async def test_b19_a_circle_has_no_json_and_is_not_tried_again() -> None:
    calls: list[int] = []

    @tool
    async def circle() -> object:
        calls.append(1)
        loop: list[object] = []
        loop.append(loop)
        return loop

    (result,) = await results_of(circle, calls=[Asks("circle")])

    assert result.startswith("!circle returned a list, which has no JSON form")
    assert calls == [1]


async def test_a_tool_calls_a_server_function_as_the_threads_owner() -> None:
    called: list[object] = []

    async def dispatch(reference: str, arguments: object, **rest: object) -> object:
        called.append((reference, arguments, rest))
        return {"charged": True}

    @tool
    async def charge(ctx: ToolContext) -> object:
        return await ctx.run("billing:charge", {"amount": 5})

    model = ScriptedModel(Says(calls=[Asks("charge")]), "done")
    async with AgentWorld(Agent(model=model, tools=[charge]), dispatch=dispatch) as world:
        await world.answered()

    assert world.said()[2][2] == "{'charged': True}"
    assert len(called) == 1
