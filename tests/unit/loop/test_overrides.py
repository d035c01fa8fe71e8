"""What operators publish counts over the code, from the next prompt on and not in between."""

import pytest

from app import Agent, tool
from app.authoring.tools import Tool
from app.domain.approval import Decision
from app.domain.errors import StoreUnavailable
from app.domain.override import AS_CODED, Override
from app.domain.ports import StartRun
from app.domain.run import Run, RunStatus, Terms
from app.domain.storable import Json
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel

__all__ = ["no_backoff"]

LOOK = Asks("look", {}, "c1")


def a_look() -> Tool:
    @tool
    async def look() -> str:
        """Look."""
        return "clear"

    return look


def an_agent(*answers: Says | str, instructions: str = "As coded.", **options: Json) -> Agent:
    model = ScriptedModel(*(answers or ("Hello.",)))
    return Agent(model=model, tools=[a_look()], instructions=instructions, **options)  # type: ignore[arg-type]  # options


def script(agent: Agent) -> ScriptedModel:
    assert isinstance(agent.model, ScriptedModel)
    return agent.model


def told(agent: Agent) -> list[str | None]:
    """Return the instructions of each request."""
    return [offer.instructions for offer in script(agent).offers]


async def prompt(world: AgentWorld, key: str, **policy: Json) -> Run:
    start = StartRun(
        *(world.ids.new(), world.ids.new(), world.ids.new()),
        thread_key=key,
        agent="a",
        parts='[{"type":"text","text":"hello"}]',
        terms=Terms(policy),
    )
    return await world.ended((await world.store.start(start)).run_id)


@pytest.mark.req("ADM-01", "ADM-04")
async def test_instructions_are_replaced_until_they_are_reset() -> None:
    agent = an_agent()
    async with AgentWorld(agent) as world:
        await world.answered(key="1")
        await world.publish(Override(instructions="Be kind."))
        await world.answered(key="2")
        await world.publish(Override(instructions=""))
        await world.answered(key="3")
        await world.publish(AS_CODED)
        await world.answered(key="4")

    assert told(agent) == ["As coded.", "Be kind.", None, "As coded."]


@pytest.mark.req("ADM-01")
async def test_instructions_that_code_computes_are_not_asked_for() -> None:
    asked: list[int] = []

    def compute() -> str:
        asked.append(1)
        return "Computed."

    model = ScriptedModel("Hello.")
    async with AgentWorld(Agent(model=model, instructions=compute)) as world:
        await world.publish(Override(instructions="Be kind."))
        run = await world.answered()

    assert (asked, world.steps(run.id)) == ([], ["llm:turn:0"])
    assert model.offers[0].instructions == "Be kind."


@pytest.mark.req("ADM-01", "ADM-04", "ADM-06")
async def test_the_model_is_replaced_and_the_start_has_the_last_word() -> None:
    async with AgentWorld(Agent(model=ScriptedModel("Hello."))) as world:
        world.worker()
        await prompt(world, "coded")
        await world.publish(Override(model="test"))
        await prompt(world, "overridden")
        await prompt(world, "asked", model="demo:")
        await world.publish(AS_CODED)
        await prompt(world, "reset")
        names = {
            key: world.rows(key)[1].model_name for key in ("coded", "overridden", "asked", "reset")
        }

    assert names["coded"] == names["reset"] == "scripted"
    assert names["overridden"] == "test"
    assert names["asked"] not in {"scripted", "test", None}


@pytest.mark.req("ADM-01")
async def test_the_number_of_turns_is_replaced_and_the_start_has_the_last_word() -> None:
    agent = an_agent(Says(calls=[LOOK]), Says(calls=[Asks("look", {}, "c2")]), "Done.")
    async with AgentWorld(agent) as world:
        world.worker()
        await world.publish(Override(max_turns=1))
        limited = await prompt(world, "1")
        asked = await prompt(world, "2", maxTurns=2)
        await world.publish(AS_CODED)
        coded = await prompt(world, "3")

    assert [(each.stopped, each.usage.requests) for each in (limited, asked, coded)] == [
        ("maxTurns", 1),
        ("maxTurns", 2),
        ("final", 3),
    ]


@pytest.mark.req("ADM-01", "ADM-05")
@pytest.mark.parametrize("coded", ["as_coded", "always_ask"])
async def test_autonomy_is_replaced_either_way(coded: str) -> None:
    agent = an_agent(Says(calls=[LOOK]), "Done.", autonomy=coded)
    other = "as_coded" if coded == "always_ask" else "always_ask"
    ends = {"as_coded": RunStatus.COMPLETED, "always_ask": RunStatus.AWAITING_INPUT}
    async with AgentWorld(agent) as world:
        world.worker()
        for key, autonomy in ((coded, None), (other, other)):
            await world.publish(Override(autonomy=autonomy))
            await world.until(await world.say(key=key), ends[key])

        approvals = await world.reader.approvals()

    assert [(each.name, each.thread_key) for each in approvals] == [("look", "always_ask")]


@pytest.mark.req("ADM-01")
async def test_a_tool_that_is_off_is_not_offered_and_cannot_be_called() -> None:
    agent = an_agent(Says(calls=[LOOK]), "Oh.")
    async with AgentWorld(agent) as world:
        await world.publish(Override(tools_off=("look", "gone-since")))
        await world.answered()

    assert [offer.function_tools for offer in script(agent).offers] == [[], []]
    assert world.said()[2] == ("tool", "complete", "!There is no tool 'look'. The tools are: none.")


@pytest.mark.req("ADM-03")
async def test_a_run_in_flight_keeps_what_it_began_with_also_after_a_restart() -> None:
    agent = an_agent(Says(calls=[LOOK]), "Done.", autonomy="always_ask")
    async with AgentWorld(agent) as world:
        await world.publish(Override(instructions="First."))
        first = world.worker()
        run = await world.parked(await world.say())
        await world.publish(Override(instructions="Second.", tools_off=("look",), model="test"))
        await first.kill()
        world.deploy(agent)
        world.worker()
        await world.decide("c1", Decision.APPROVED)
        ended = await world.ended(run.id)

    assert ended.stopped == "final"
    assert told(agent) == ["First.", "First."]
    assert world.said()[2] == ("tool", "complete", "clear")


@pytest.mark.req("ADM-02", "ADM-03")
async def test_a_run_that_began_before_anything_was_published_stays_as_coded() -> None:
    agent = an_agent(Says(calls=[LOOK]), "Done.", autonomy="always_ask")
    async with AgentWorld(agent) as world:
        world.worker()
        run = await world.parked(await world.say())
        await world.publish(Override(instructions="Later."))
        await world.decide("c1", Decision.APPROVED)
        await world.ended(run.id)
        await world.parked(await world.say(key="next"))

    assert told(agent) == ["As coded.", "As coded.", "Later."]


@pytest.mark.req("ADM-03")
async def test_an_override_outlasts_deploys() -> None:
    old, new = an_agent(instructions="Old."), an_agent(instructions="New.")
    async with AgentWorld(old) as world:
        await world.publish(Override(instructions="Ours."))
        first = world.worker()
        await world.ended(await world.say(key="1"))
        await first.kill()
        world.deploy(new)
        world.worker()
        await world.ended(await world.say(key="2"))
        await world.publish(AS_CODED)
        await world.ended(await world.say(key="3"))

    assert (told(old), told(new)) == (["Ours."], ["Ours.", "New."])


@pytest.mark.req("ADM-03")
async def test_an_agent_that_another_asks_goes_by_its_own_override() -> None:
    child = Agent(slug="child", model=ScriptedModel("Here."), instructions="Child.")
    parent = Agent(
        model=ScriptedModel(Says(calls=[Asks("child", {"message": "Go."})]), "Done."),
        tools=[child],
        instructions="Parent.",
    )
    async with AgentWorld(parent, child) as world:
        await world.publish(Override(instructions="Overridden."), agent="child")
        await world.answered()

    assert (told(child), told(parent)) == (["Overridden."], ["Parent.", "Parent."])


async def test_a_drive_waits_for_its_override_while_postgres_is_away() -> None:
    agent = an_agent()
    async with AgentWorld(agent) as world:
        await world.publish(Override(instructions="Ours."))
        read, failures = world.overrides.override, iter(range(3))

        async def fails(slug: str, version: int) -> Override | None:
            if next(failures, None) is not None:
                raise StoreUnavailable("away")
            return await read(slug, version)

        vars(world.overrides)["override"] = fails
        run = await world.answered()

    assert run.status is RunStatus.COMPLETED
    assert told(agent) == ["Ours."]
    assert next(failures, None) is None
