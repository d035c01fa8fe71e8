"""The editor and the researcher that a newcomer meets, on the model that needs no key."""

import pytest

import agents.research
from agents.research import FIBRES, editor, researcher
from app.authoring.registry import agents_in
from tests.support.agent_world import AgentWorld


@pytest.fixture(autouse=True)
def _loaded() -> None:
    agents_in([agents.research])


@pytest.mark.req("TOOL-05", "STA-02", "STA-07")
async def test_the_editor_asks_for_each_topic_and_the_article_grows() -> None:
    async with AgentWorld(editor, researcher) as world:
        run = await world.answered("Write about hemp, manila and nylon.")

    assert [child.agent for child in world.children(run.id)] == ["researcher"] * 3
    assert world.state() == [
        {"heading": topic.capitalize(), "text": FIBRES[topic]}
        for topic in ("hemp", "manila", "nylon")
    ]
    assert world.said()[-1][2] == ("The article has a paragraph on Hemp and Manila and Nylon now.")


async def test_what_nobody_knows_is_said_and_not_written() -> None:
    async with AgentWorld(editor, researcher) as world:
        await world.answered("Write about hemp and spaghetti")

    assert world.state() == [{"heading": "Hemp", "text": FIBRES["hemp"]}]
    assert world.said()[-1][2].endswith("Nothing was found about Spaghetti.")


async def test_a_second_wish_adds_to_the_article_of_the_thread() -> None:
    async with AgentWorld(editor, researcher) as world:
        await world.answered("Write about hemp")
        await world.answered("Write about jute")
        await world.answered("write something")

    state = world.state()
    assert isinstance(state, list)
    assert len(state) == 2
    assert world.said()[-1][2].startswith("What shall I write about?")


async def test_what_is_said_to_the_busy_editor_waits_its_turn() -> None:
    async with AgentWorld(editor, researcher) as world:
        first = await world.send("Write about hemp")
        second = await world.send("Write about jute")
        assert second.position == 1
        world.worker()
        await world.ended(first.run_id)
        await world.ended(second.run_id)

    said = [text for role, _, text in world.said() if role == "user"]
    assert said == ["Write about hemp", "Write about jute"]
