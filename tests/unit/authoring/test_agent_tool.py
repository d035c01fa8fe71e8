"""An agent as a tool of another: named, found and checked where it is declared."""

from types import ModuleType

import pytest

from app import Agent, agent_as_tool, tool
from app.authoring.agent import AnyTool
from app.authoring.agent_tool import AgentTool
from app.authoring.registry import agents_in
from app.domain.errors import DeclarationError


@tool
def helper() -> None:
    """Help."""


def load(source: str) -> dict[str, Agent]:
    module = ModuleType("agents.x")
    source = "from app import Agent, agent_as_tool, tool\n" + source
    exec(compile(source, "x.py", "exec"), vars(module))  # noqa: S102  # a module of the test's own
    return agents_in([module])


@pytest.mark.req("TOOL-14")
def test_an_agent_in_tools_has_its_slug_for_a_name_and_takes_one_message() -> None:
    agents = load(
        "finder = Agent(model='demo:', description='Finds things.')\n"
        "desk = Agent(model='demo:', tools=[finder])\n"
    )

    offered = agents["desk"].tools["finder"]
    assert isinstance(offered, AgentTool)
    bound = offered.bound()
    assert (bound.name, bound.description) == ("finder", "Finds things.")
    assert bound.give_up_after is None
    assert bound.parameters.schema["required"] == ["message"]
    assert list(bound.parameters.schema["properties"]) == ["message"]


@pytest.mark.req("TOOL-05")
def test_agent_as_tool_gives_up_after_a_minute_unless_told_otherwise() -> None:
    given_up = [
        agent_as_tool("x").give_up_after,
        agent_as_tool("x", max_polls=3, poll_interval_ms=100).give_up_after,
    ]

    assert [after.total_seconds() for after in given_up if after] == [60.0, 0.3]


def test_an_agent_may_be_asked_by_a_slug_that_is_declared_later() -> None:
    agents = load(
        "desk = Agent(model='demo:', tools=[agent_as_tool('finder', name='find')])\n"
        "finder = Agent(model='demo:')\n"
    )

    offered = agents["desk"].tools["find"]
    assert isinstance(offered, AgentTool)
    assert offered.bound().agent is agents["finder"]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        pytest.param(
            "desk = Agent(model='demo:', tools=[agent_as_tool('findr')])\n"
            "finder = Agent(model='demo:')\n",
            r"x\.py:2: there is no agent 'findr' to ask: .* or use one of desk, finder",
            id="wrong-slug",
        ),
        pytest.param(
            "desk = Agent(model='demo:', tools=[Agent(model='demo:', slug='hidden')])\n",
            r"x\.py:2: there is no agent 'hidden' to ask: bind it to a name",
            id="bound-to-no-name",
        ),
        pytest.param(
            "desk = Agent(model='demo:', tools=[Agent(model='demo:')])\n",
            r"x\.py:2: this agent has no slug",
            id="no-slug",
        ),
        pytest.param(
            "finder = Agent(model='demo:')\n"
            "desk = Agent(model='demo:', tools=[finder, agent_as_tool('finder')])\n",
            r"x\.py:3: two tools are called 'finder'",
            id="twice",
        ),
        pytest.param(
            "desk = Agent(model='demo:', tools=[agent_as_tool('desk', max_polls=0)])\n",
            r"x\.py:2: max_polls has to be a whole number from 1, got 0",
            id="no-poll",
        ),
        pytest.param(
            "desk = Agent(model='demo:', tools=[agent_as_tool('desk', name='a b')])\n",
            r"x\.py:2: 'a b' cannot name a tool",
            id="name",
        ),
    ],
)
def test_a_wrong_child_fails_at_import_with_the_line(source: str, sentence: str) -> None:
    with pytest.raises(DeclarationError, match=sentence):
        load(source)


@pytest.mark.req("TOOL-15")
def test_a_child_shares_the_names_with_the_other_tools() -> None:
    finder = Agent(model="demo:", slug="helper")

    with pytest.raises(DeclarationError, match="two tools are called 'helper'"):
        Agent(model="demo:", tools=[helper, finder])
    both: dict[str, AnyTool] = {"a": helper, "b": finder}
    assert list(Agent(model="demo:", tools=both).tools) == ["a", "b"]
