"""A wrong agent fails where it is written, with the fix in the sentence."""

from datetime import date, timedelta

import pytest

import app
from app import Agent, tool
from app.domain.errors import DeclarationError
from app.domain.ports import OnBusy


@tool
def ping() -> str:
    """Answer."""
    return "pong"


@pytest.mark.req("AGT-03")
def test_instructions_and_system_prompt_are_two_spellings_of_one_option() -> None:
    assert Agent(model="demo:", instructions="Be brief.").instructions == "Be brief."
    assert Agent(model="demo:", system_prompt="Be brief.").instructions == "Be brief."


@pytest.mark.req("LOOP-01")
def test_max_turns_is_a_hundred_by_default_and_max_steps_is_its_alias() -> None:
    assert Agent(model="demo:").max_turns == 100
    assert Agent(model="demo:", max_steps=3).max_turns == 3


@pytest.mark.req("CON-02", "STA-09")
def test_by_default_a_busy_thread_refuses_and_nothing_is_pinned_limited_or_seeded() -> None:
    agent = Agent(model="demo:")

    assert agent.on_concurrent_run is OnBusy.REJECT
    assert (agent.version, agent.timeout, agent.initial_state) == (None, None, None)


def test_limits_take_seconds_and_states_take_anything_with_a_json_form() -> None:
    agent = Agent(
        model="demo:", version="2026.11", timeout=90, initial_state={"day": date(1, 2, 3)}
    )

    assert (agent.version, agent.timeout) == ("2026.11", timedelta(seconds=90))
    assert agent.initial_state == {"day": "0001-02-03"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param(
            {"instructions": "a", "system_prompt": "b"},
            "instructions and system_prompt are two spellings of one option: give one",
            id="both-prompts",
            marks=pytest.mark.req("AGT-03"),
        ),
        pytest.param({"max_turns": 3, "max_steps": 3}, "give one", id="both-limits"),
        pytest.param({"max_turns": 0}, "max_turns has to be a whole number from 1", id="no-turn"),
        pytest.param({"max_turns": True}, "max_turns has to be", id="a-boolean-is-no-number"),
        pytest.param({"tool_retries": -1}, "tool_retries has to be", id="retries"),
        pytest.param(
            {"access": "everybody"}, "one of authenticated, public, internal", id="access"
        ),
        pytest.param(
            {"on_concurrent_run": "wait"},
            "on_concurrent_run='wait': it is one of reject, replace, queue, steer",
            id="policy",
        ),
        pytest.param({"version": "1 beta"}, "version='1 beta': use up to 64", id="version"),
        pytest.param({"timeout": 0}, "timeout has to be longer than nothing", id="no-time"),
        pytest.param(
            {"initial_state": object()}, "initial_state has no JSON form", id="state-without-json"
        ),
        pytest.param({"model": "gpt-5"}, "write provider:model", id="model-without-provider"),
        pytest.param({"model": "openai:"}, "write provider:model", id="model-without-name"),
        pytest.param({"slug": "My Agent"}, "slug='my-agent'", id="slug-with-a-suggestion"),
        pytest.param({"slug": "run"}, "taken by ctx.agents.run()", id="slug-of-a-method"),
        pytest.param({"tools": [ping, ping]}, "two tools are called 'ping'", id="twice"),
        pytest.param({"tools": {"bash": ping}}, "kept for a built-in", id="reserved"),
        pytest.param(
            {"tools": {"handoff_to_x": ping}}, "kept for a built-in", id="reserved-prefix"
        ),
        pytest.param({"tools": [print]}, "decorate the function with @tool", id="undecorated"),
        pytest.param({"tools": {"no spaces": ping}}, "cannot name a tool", id="tool-name"),
    ],
)
def test_a_bad_option_is_refused_with_the_line_and_the_fix(
    options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(DeclarationError) as refused:
        Agent(**{"model": "demo:", **options})  # type: ignore[arg-type]  # wrong on purpose

    assert sentence in refused.value.message
    assert refused.value.message.startswith("tests/unit/authoring/test_agent.py:")


def test_an_option_of_a_later_version_is_not_swallowed() -> None:
    with pytest.raises(TypeError, match="memory"):
        Agent(model="demo:", memory=True)  # type: ignore[call-arg]  # wrong on purpose


def test_a_model_is_named_in_both_spellings() -> None:
    for model in ("openai:gpt-5-mini", "openai/gpt-5-mini", "demo:", "default", "test"):
        assert Agent(model=model).model == model


@pytest.mark.req("AGT-06")
def test_a_list_and_a_mapping_of_tools_offer_the_same() -> None:
    assert list(Agent(model="demo:", tools=[ping]).tools) == ["ping"]
    assert list(Agent(model="demo:", tools={"ping": ping}).tools) == ["ping"]


@pytest.mark.req("AGT-06")
def test_a_mapping_names_the_tools() -> None:
    agent = Agent(model="demo:", tools={"knock": ping})

    assert [tool.name for tool in agent.tools.values()] == ["knock"]
    assert ping.name == "ping"


def test_an_agent_without_a_module_has_no_slug_yet() -> None:
    with pytest.raises(DeclarationError, match="has no slug: bind it to a name"):
        _ = Agent(model="demo:").slug


def test_the_door_hands_on_every_name_it_lists() -> None:
    assert all(getattr(app, name) for name in app.__all__)
    assert set(app.__all__) <= set(dir(app))
    with pytest.raises(AttributeError):
        _ = app.nothing_of_the_kind
