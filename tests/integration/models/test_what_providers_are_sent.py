"""The exact conversation that each provider is sent, for every shape that a turn can take (B20).

The agent runs through the provider's own client against a server that speaks its
wire format: text beside calls, parallel calls, tool errors, unknown tools, malformed
arguments, refusals, interruptions, empty answers.
"""

from typing import Any

import pytest

from app import Agent, ToolError, tool
from app.authoring.tools import Tool
from app.domain.approval import Decision
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.provider_servers import Answers, Called, serving

__all__ = ["no_backoff"]

pytestmark = pytest.mark.parametrize("provider", ["openai", "anthropic"])


@tool
async def get_weather(city: str) -> dict[str, str]:
    """Tell the weather.

    Args:
        city: where.
    """
    return {"city": city, "sky": "clear"}


@tool(needs_approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool
async def fails() -> None:
    """Fail."""
    raise ToolError("no such order")


TOOLS: list[Tool] = [get_weather, pay, fails]
MISSING = "There is no tool 'nope'. The tools are: get_weather, pay, fails."
UNFIT = (
    "The arguments of get_weather do not fit. Invalid JSON: EOF while parsing a value at line 1 "
    "column 9. Mend the arguments and call the tool again."
)
REFUSED = "The call was not approved, so it did not run. Reason: no"
INTERRUPTED = "interrupted; it may have taken effect"


def called(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    """Return a call as OpenAI writes it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asked(*calls: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def resulted(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def use(call_id: str, name: str, given: object) -> dict[str, Any]:
    """Return a call as Anthropic writes it."""
    return {"id": call_id, "type": "tool_use", "name": name, "input": given}


def used(call_id: str, text: str, *, is_error: bool) -> dict[str, Any]:
    return {
        "tool_use_id": call_id,
        "type": "tool_result",
        "content": [{"text": text, "type": "text"}],
        "is_error": is_error,
    }


def text(said: str) -> dict[str, Any]:
    return {"text": said, "type": "text"}


def by(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


CONVERSATION: dict[str, list[dict[str, Any]]] = {
    "openai": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "weather?"},
        asked(
            called("c1", "get_weather", '{"city":"Oslo"}'),
            called("c2", "fails", "{}"),
            text="Let me see.",
        ),
        resulted("c1", '{"city":"Oslo","sky":"clear"}'),
        resulted("c2", '{"error":"no such order"}'),
        asked(
            called("c3", "nope", "{}"),
            called("c4", "get_weather", r'{"INVALID_JSON":"{\"city\": "}'),
        ),
        resulted("c3", f'{{"error":"{MISSING}"}}'),
        resulted("c4", f'{{"error":"{UNFIT}"}}'),
        asked(called("c5", "pay", '{"amount":5}')),
        resulted("c5", f'{{"error":"{REFUSED}"}}'),
        {"role": "user", "content": "again"},
    ],
    "anthropic": [
        by("user", text("weather?")),
        by(
            "assistant",
            text("Let me see."),
            use("c1", "get_weather", {"city": "Oslo"}),
            use("c2", "fails", {}),
        ),
        by(
            "user",
            used("c1", '{"city":"Oslo","sky":"clear"}', is_error=False),
            used("c2", "no such order", is_error=True),
        ),
        by(
            "assistant",
            use("c3", "nope", {}),
            use("c4", "get_weather", {"INVALID_JSON": '{"city": '}),
        ),
        by("user", used("c3", MISSING, is_error=True), used("c4", UNFIT, is_error=True)),
        by("assistant", use("c5", "pay", {"amount": 5})),
        by("user", used("c5", REFUSED, is_error=True), text("again")),
    ],
}
"""What the second run's request holds; the first run ended with an empty answer."""


async def test_b20_every_call_is_followed_by_its_result(provider: str) -> None:
    weather, failing = Called("get_weather", '{"city": "Oslo"}', "c1"), Called("fails", "{}", "c2")
    nope, malformed = Called("nope", "{}", "c3"), Called("get_weather", '{"city": ', "c4")
    script = [
        Answers("Let me see.", [weather, failing]),
        Answers(calls=[nope, malformed]),
        Answers(calls=[Called("pay", '{"amount": 5}', "c5")]),
        Answers(),
        Answers(),
        Answers("Fine."),
    ]
    async with serving(provider, *script) as (model, server):
        agent = Agent(model=model, tools=TOOLS, instructions="Be brief.")
        async with AgentWorld(agent) as world:
            world.worker()
            run = await world.parked(await world.say("weather?"))
            await world.decide("c5", Decision.DENIED, "no")
            await world.ended(run.id)
            again = await world.answered("again")

    assert again.stopped == "final"
    assert server.requests[-1]["messages"] == CONVERSATION[provider]


async def test_b22_a_call_that_was_interrupted_is_told_so(provider: str) -> None:
    script = [Answers(calls=[Called("pay", '{"amount": 5}', "c1")]), Answers("Hello again.")]
    async with (
        serving(provider, *script) as (model, server),
        AgentWorld(Agent(model=model, tools=TOOLS)) as world,
    ):
        world.worker()
        run = await world.parked(await world.say("pay"))
        await world.store.cancel(world.thread().id, run.id)
        again = await world.answered("hello?")

    assert again.stopped == "final"
    assert (
        server.requests[-1]["messages"]
        == {
            "openai": [
                {"role": "user", "content": "pay"},
                asked(called("c1", "pay", '{"amount":5}')),
                resulted("c1", f'{{"error":"{INTERRUPTED}"}}'),
                {"role": "user", "content": "hello?"},
            ],
            "anthropic": [
                by("user", text("pay")),
                by("assistant", use("c1", "pay", {"amount": 5})),
                by("user", used("c1", INTERRUPTED, is_error=True), text("hello?")),
            ],
        }[provider]
    )


@pytest.mark.req("SIG-04")
async def test_b20_a_message_from_outside_follows_the_results_of_a_turn(provider: str) -> None:
    @tool
    async def hear() -> str:
        """Hear."""
        await world.signal("be quick")
        return "heard"

    script = [Answers(calls=[Called("hear", "{}", "c1")]), Answers("Done.")]
    async with (
        serving(provider, *script) as (model, server),
        AgentWorld(Agent(model=model, tools=[hear])) as world,
    ):
        await world.answered("go")

    assert (
        server.requests[-1]["messages"]
        == {
            "openai": [
                {"role": "user", "content": "go"},
                asked(called("c1", "hear", "{}")),
                resulted("c1", "heard"),
                {"role": "user", "content": "[message] be quick\n"},
            ],
            "anthropic": [
                by("user", text("go")),
                by("assistant", use("c1", "hear", {})),
                by("user", used("c1", "heard", is_error=False), text("[message] be quick\n")),
            ],
        }[provider]
    )


async def test_what_was_sent_is_sent_again_to_the_byte(provider: str) -> None:
    """A provider's cache holds only if the beginning stays the same, also from another worker."""
    call = Called("get_weather", '{"city": "Oslo", "x": [1.0, null]}', "c1")
    script = [Answers("One.", [call]), Answers("Two."), Answers("Three.")]
    async with (
        serving(provider, *script) as (model, server),
        AgentWorld(Agent(model=model, tools=TOOLS)) as world,
    ):
        first = world.worker()
        await world.answered("hello")
        await first.kill()
        world.worker()
        await world.answered("again")

    live, rebuilt = server.requests[1]["messages"], server.requests[2]["messages"]
    assert rebuilt[: len(live)] == live


async def test_tools_are_offered_with_their_schema(provider: str) -> None:
    async with (
        serving(provider, Answers("Hi.")) as (model, server),
        AgentWorld(Agent(model=model, tools=[get_weather])) as world,
    ):
        await world.answered()

    (offered,) = server.requests[0]["tools"]
    shown = offered["function"] if provider == "openai" else offered
    assert (shown["name"], shown["description"]) == ("get_weather", "Tell the weather.")
    assert shown["parameters" if provider == "openai" else "input_schema"] == {
        "additionalProperties": False,
        "properties": {"city": {"description": "where.", "type": "string"}},
        "required": ["city"],
        "type": "object",
    }


@pytest.mark.req("SUB-08")
@pytest.mark.parametrize("streaming", [True, False])
async def test_streamed_or_not_the_thread_is_the_same(provider: str, *, streaming: bool) -> None:
    script = [
        Answers("Let me see.", [Called("get_weather", '{"city": "Oslo"}', "c1")]),
        Answers("It is clear."),
    ]
    async with (
        serving(provider, *script) as (model, server),
        AgentWorld(Agent(model=model, tools=TOOLS), streaming=streaming) as world,
    ):
        run = await world.answered("weather?")

    assert [bool(request.get("stream")) for request in server.requests] == [streaming] * 2
    assert world.said() == [
        ("user", "complete", "weather?"),
        ("assistant", "complete", "Let me see. get_weather({'city': 'Oslo'})"),
        ("tool", "complete", "{'city': 'Oslo', 'sky': 'clear'}"),
        ("assistant", "complete", "It is clear."),
    ]
    assert (run.usage.requests, run.usage.input_tokens, run.usage.output_tokens) == (2, 22, 14)


@pytest.mark.req("OUT-01", "OUT-07", "APR-10")
@pytest.mark.parametrize("streaming", [True, False])
async def test_a_form_of_the_answer_is_asked_for_with_the_tools_and_a_misfit_is_told(
    provider: str, *, streaming: bool
) -> None:
    form: dict[str, Any] = {
        "type": "object",
        "properties": {"late": {"type": "boolean"}},
        "required": ["late"],
    }
    name = "submit_structured_output"
    script = [
        Answers(calls=[Called("get_weather", '{"city": "Oslo"}', "c1")]),
        Answers(calls=[Called(name, '{"late": "no"}', "c2")]),
        Answers(calls=[Called(name, '{"late": false}', "c3")]),
        Answers("Bye."),
    ]
    async with (
        serving(provider, *script) as (model, server),
        AgentWorld(Agent(model=model, tools=[get_weather]), streaming=streaming) as world,
    ):
        world.policy = {"outputSchema": form}
        run = await world.answered("is it late?")
        world.policy = {}
        after = await world.answered("thanks")

    assert (run.output, run.usage.requests, after.output) == ({"late": False}, 3, None)
    first, last = server.requests[0], server.requests[-1]
    offered = [each.get("function", each)["name"] for each in first["tools"]]
    assert offered == ["get_weather", name]
    choice = {"openai": "required", "anthropic": {"type": "any"}}[provider]
    assert first["tool_choice"] == choice
    assert [each.get("function", each)["name"] for each in last["tools"]] == ["get_weather"]
    wrong = "Not taken: late: 'no' is not of type 'boolean'."
    told = server.requests[2]["messages"][-1]
    assert (
        told
        == {
            "openai": resulted("c2", f'{{"error":"{wrong}"}}'),
            "anthropic": by("user", used("c2", wrong, is_error=True)),
        }[provider]
    )
