"""An agent asks another one: a child run that is waited for without holding anything."""

import asyncio
from datetime import timedelta

import pytest
from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from app import Agent, agent_as_tool, tool
from app.authoring.agent import AnyTool
from app.domain.approval import Decision
from app.domain.message import Role
from app.domain.run import RunStatus
from app.threads.output_schema import TOOL
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel

__all__ = ["no_backoff"]


class Found(BaseModel):
    """What is known of a fibre."""

    fibre: str
    metres: int


ASK = Asks("researcher", {"message": "How long is a ropewalk?"}, "c1")


def a_researcher(*answers: Says | str, **options: object) -> Agent:
    model = ScriptedModel(*(answers or ("A quarter of a mile.",)))
    return Agent(model=model, slug="researcher", **options)  # type: ignore[arg-type]  # options


def an_editor(*tools: AnyTool, asks: tuple[Asks, ...] = (ASK,)) -> Agent:
    return Agent(model=ScriptedModel(Says(calls=asks), "Thank you."), tools=tools)


@tool
def look() -> str:
    return "nothing"


def results(world: AgentWorld) -> list[str]:
    return [text for role, status, text in world.said() if (role, status) == ("tool", "complete")]


@pytest.mark.req("TOOL-05", "TOOL-14")
@pytest.mark.parametrize("form", ["in tools", "agent_as_tool", "slug"])
async def test_the_childs_last_answer_is_the_calls_result(form: str) -> None:
    researcher = a_researcher()
    tools: dict[str, AnyTool] = {
        "in tools": researcher,
        "agent_as_tool": agent_as_tool(researcher),
        "slug": agent_as_tool("researcher"),
    }
    async with AgentWorld(an_editor(tools[form]), researcher) as world:
        run = await world.answered()

    (child,) = world.children(run.id)
    assert results(world) == ["A quarter of a mile."]
    assert world.steps(run.id) == [
        "llm:turn:0",
        "child:c1",
        "tool:researcher:c1",
        "llm:turn:1",
    ]
    assert child.agent == "researcher"
    said = [row.parts[0]["text"] for row in world.database.messages[child.thread_id]]
    assert said == ["How long is a ropewalk?", "A quarter of a mile."]


@pytest.mark.req("LOOP-12")
async def test_a_child_that_answers_in_a_form_gives_its_output_as_the_result() -> None:
    given = {"fibre": "hemp", "metres": 400}
    researcher = a_researcher(Says(calls=[Asks(TOOL, given, "o1")]), output=Found)
    async with AgentWorld(an_editor(researcher), researcher) as world:
        run = await world.answered()

    (child,) = world.children(run.id)
    assert child.policy["outputSchema"] == Found.model_json_schema()
    assert child.output == given
    (result,) = [row for row in world.rows() if row.role is Role.TOOL]
    assert result.parts[0]["output"] == given


@pytest.mark.req("LOOP-12")
async def test_a_child_whose_turns_are_used_up_has_not_answered_in_its_form() -> None:
    asks = Says("Let me look that up.", calls=[Asks("look", {}, "o1")])
    researcher = a_researcher(asks, output=Found, tools=[look], max_turns=1)
    async with AgentWorld(an_editor(researcher), researcher) as world:
        run = await world.answered()

    (child,) = world.children(run.id)
    assert (child.status, child.stopped, child.output) == (RunStatus.COMPLETED, "maxTurns", None)
    (result,) = [row for row in world.rows() if row.role is Role.TOOL]
    assert (result.parts[0]["output"], result.parts[0]["isError"]) == (
        "researcher ended without an answer.",
        True,
    )


@pytest.mark.req("DUR-08")
async def test_a_run_that_waits_for_a_child_holds_no_worker() -> None:
    gate = asyncio.Event()
    researcher = a_researcher(Says("A quarter of a mile.", gate=gate))
    async with AgentWorld(an_editor(researcher), researcher) as world:
        world.worker(slots=1)
        run_id = await world.say()
        await world.waiting(run_id)
        gate.set()
        run = await world.ended(run_id)

    assert run.stopped == "final"


@pytest.mark.req("TOOL-06")
@pytest.mark.parametrize("died_at", [1, 2])
async def test_a_worker_that_dies_around_the_start_of_a_child_leaves_one_child(
    died_at: int,
) -> None:
    researcher, fell = a_researcher(), asyncio.Event()
    async with AgentWorld(an_editor(researcher), researcher) as world:
        spawn = world.store.spawn

        async def dying(*args: object) -> object:
            if died_at == 1 and not fell.is_set():
                fell.set()
                await asyncio.Event().wait()
            answer = await spawn(*args)  # type: ignore[arg-type]  # handed on
            if not fell.is_set():
                fell.set()
                await asyncio.Event().wait()
            return answer

        vars(world.store)["spawn"] = dying
        first = world.worker()
        run_id = await world.say()
        await fell.wait()
        await first.kill()
        world.worker()
        await world.take_over(first)
        await world.ended(run_id)

    assert len(world.children(run_id)) == 1
    assert results(world) == ["A quarter of a mile."]


async def test_children_tools_and_approvals_of_a_turn_are_waited_for_at_once() -> None:
    gates = {"first": asyncio.Event(), "second": asyncio.Event()}
    helpers = [
        Agent(slug=name, model=ScriptedModel(Says(f"{name} done", gate=gate)))
        for name, gate in gates.items()
    ]

    @tool
    async def plain() -> str:
        return "plain done"

    @tool(needs_approval=True)
    async def gated() -> str:
        return "gated done"

    asks = (
        Asks("first", {"message": "1"}, "c1"),
        Asks("gated", {}, "c2"),
        Asks("second", {"message": "2"}, "c3"),
        Asks("plain", {}, "c4"),
    )
    async with AgentWorld(an_editor(*helpers, plain, gated, asks=asks), *helpers) as world:
        world.worker()
        run = await world.parked(await world.say())
        assert results(world) == ["plain done"]
        assert len(world.children(run.id)) == 2

        gates["second"].set()
        await world.ended(world.children(run.id)[1].id)
        await world.parked(run.id)
        await _until(world, lambda: results(world) == ["second done", "plain done"])

        await world.decide("c2", Decision.APPROVED)
        await _until(world, lambda: "gated done" in results(world))
        gates["first"].set()
        await world.ended(run.id)

    assert results(world) == ["first done", "gated done", "second done", "plain done"]
    assert await world.store.stranded() == []


async def _until(world: AgentWorld, is_so: object) -> None:
    async with asyncio.timeout(5):
        while not is_so():  # type: ignore[operator]  # a predicate
            world._changed.clear()
            await world._changed.wait()


async def test_b15_two_children_of_one_kind_keep_their_answers_apart() -> None:
    def echo(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        return ModelResponse([TextPart(f"about {messages[0].parts[0].content}")])  # type: ignore[union-attr]  # a text

    researcher = Agent(slug="researcher", model=FunctionModel(echo))
    asks = tuple(Asks("researcher", {"message": what}, "call_1") for what in ("hemp", "jute"))
    async with AgentWorld(an_editor(researcher, asks=asks), researcher) as world:
        await world.answered()

    assert results(world) == ["about hemp", "about jute"]


async def test_a_gated_child_is_asked_for_first() -> None:
    researcher = a_researcher()
    editor = an_editor(agent_as_tool(researcher, needs_approval=True))
    async with AgentWorld(editor, researcher) as world:
        world.worker()
        run = await world.parked(await world.say())
        assert world.children(run.id) == []
        await world.decide("c1", Decision.APPROVED)
        await world.ended(run.id)

    assert results(world) == ["A quarter of a mile."]


async def test_a_child_that_was_refused_never_starts() -> None:
    researcher = a_researcher()
    editor = an_editor(agent_as_tool(researcher, needs_approval=True))
    async with AgentWorld(editor, researcher) as world:
        world.worker()
        run = await world.parked(await world.say())
        await world.decide("c1", Decision.DENIED)
        await world.ended(run.id)

    assert world.children(run.id) == []
    assert results(world) == ["!The call was not approved, so it did not run."]


@pytest.mark.req("TOOL-05")
async def test_after_its_polls_the_asking_run_gives_up_while_the_child_goes_on() -> None:
    gate = asyncio.Event()
    researcher = a_researcher(Says("Too late.", gate=gate))
    async with AgentWorld(an_editor(agent_as_tool(researcher)), researcher) as world:
        world.worker()
        run = await world.waiting(await world.say())
        (child,) = world.children(run.id)
        await world.later(timedelta(seconds=59))
        assert world.database.runs[run.id].status is RunStatus.WAITING
        await world.later(timedelta(seconds=2))
        await _until(world, lambda: results(world) != [])
        assert world.database.runs[child.id].status is RunStatus.RUNNING
        gate.set()
        await world.ended(run.id)

    assert results(world) == [
        f"!researcher has not answered within 60 s. Its run {child.id} is still under way."
    ]


@pytest.mark.req("TOOL-05")
async def test_an_agent_in_tools_is_waited_for_without_limit() -> None:
    gate = asyncio.Event()
    researcher = a_researcher(Says("At last.", gate=gate))
    async with AgentWorld(an_editor(researcher), researcher) as world:
        world.worker()
        run = await world.waiting(await world.say())
        await world.later(timedelta(days=400))
        gate.set()
        await world.ended(run.id)

    assert results(world) == ["At last."]


async def test_a_child_that_fails_is_an_error_the_model_reads() -> None:
    researcher = a_researcher(Says(error=ZeroDivisionError("division by zero")))
    async with AgentWorld(an_editor(researcher), researcher) as world:
        run = await world.answered()

    (child,) = world.children(run.id)
    assert results(world) == [
        f"!researcher failed (run {child.id}). the model request failed: division by zero"
    ]
    assert run.stopped == "final"


async def test_a_child_that_is_cancelled_is_an_error_the_model_reads() -> None:
    researcher = a_researcher(Says("never", gate=asyncio.Event()))
    async with AgentWorld(an_editor(researcher), researcher) as world:
        world.worker()
        run = await world.waiting(await world.say())
        (child,) = world.children(run.id)
        await world.store.cancel(child.thread_id, child.id)
        await world.ended(run.id)

    assert results(world) == [f"!researcher was stopped before it had answered (run {child.id})."]


async def test_cancelling_the_asking_run_cancels_its_children() -> None:
    researcher = a_researcher(Says("never", gate=asyncio.Event()))
    async with AgentWorld(an_editor(researcher), researcher) as world:
        world.worker()
        run = await world.waiting(await world.say())
        (child,) = world.children(run.id)
        await world.store.cancel(world.thread().id, run.id)

        assert world.database.runs[child.id].status is RunStatus.CANCELLED
        assert (await world.answered("again")).stopped == "final"


async def test_agents_that_ask_in_a_circle_come_to_an_end() -> None:
    def again(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        last = messages[-1].parts[-1]
        if isinstance(messages[-1], ModelResponse) or last.part_kind == "tool-return":
            return ModelResponse([TextPart(f"they said: {getattr(last, 'content', '')}")])
        return ModelResponse([ToolCallPart("circle", {"message": "again"}, "c1")])

    circle = Agent(slug="circle", model=FunctionModel(again), tools=[agent_as_tool("circle")])
    async with AgentWorld(circle, circle) as world:
        run = await world.answered()

    assert run.stopped == "final"
    assert len(world.database.runs) == 9
    assert "agents ask one another 8 deep here already" in world.said()[-1][2]


async def test_a_child_belongs_to_whom_the_conversation_belongs_to() -> None:
    researcher = a_researcher(initial_state={"found": 0})
    async with AgentWorld(an_editor(researcher), researcher) as world:
        world.worker()
        run_id = await world.say()
        await world.ended(run_id)

    (child,) = world.children(run_id)
    thread = world.database.threads[child.thread_id]
    assert thread.owner == world.thread().owner
    assert thread.key != world.thread().key
    assert thread.title == "How long is a ropewalk?"
    assert world.database.states[thread.id] == '{"found":0}'


async def test_an_empty_message_asks_nobody() -> None:
    researcher = a_researcher()
    asks = (Asks("researcher", {"message": " "}, "c1"),)
    async with AgentWorld(an_editor(researcher, asks=asks), researcher) as world:
        run = await world.answered()

    assert results(world) == ["!researcher could not be asked. say something: the text is empty"]
    assert world.children(run.id) == []


async def test_a_child_whose_tool_a_deploy_took_away_still_answers() -> None:
    gate = asyncio.Event()
    researcher = a_researcher(Says("Here it is.", gate=gate))
    editor = an_editor(researcher)
    async with AgentWorld(editor, researcher) as world:
        first = world.worker()
        run = await world.waiting(await world.say())
        async with AgentWorld(Agent(model=editor.model), researcher) as next_version:
            vars(world)["programs"] = next_version.programs
        await first.kill()
        world.worker()
        await world.take_over(first)
        gate.set()
        await world.ended(run.id)

    assert results(world) == ["Here it is."]


async def test_a_drive_that_lost_its_thread_starts_no_child() -> None:
    researcher = a_researcher()
    async with AgentWorld(an_editor(researcher), researcher) as world:
        spawn = world.store.spawn

        async def too_late(fence: object, start: object) -> object:
            await world.store.cancel(world.thread().id, None)
            return await spawn(fence, start)  # type: ignore[arg-type]  # handed on

        vars(world.store)["spawn"] = too_late
        run = await world.answered()

    assert run.status is RunStatus.CANCELLED
    assert world.children(run.id) == []
