"""The scripted model does what a real one does with the shipped agent, and always the same."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from pydantic_ai import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from app.models.demo import demo_model
from app.models.demo_conversation import Conversation
from app.models.demo_script import WHICH_CITY, WHICH_ORDER, reply

TOOLS = frozenset({"get_weather", "look_up_order", "refund_order"})


def calls_for(*said: str, tools: frozenset[str] = TOOLS) -> list[tuple[str, object]]:
    talk = Conversation(user=said, assistant=(), results=(), calls_so_far=0)
    return [(call.name, call.arguments) for call in reply(talk, tools).calls.values()]


def answered(*said: str, assistant: Sequence[str] = ()) -> str:
    return reply(Conversation(tuple(said), tuple(assistant), (), 0), TOOLS).text


@pytest.mark.parametrize(
    ("text", "cities"),
    [
        ("What is the weather in Oslo?", ["Oslo"]),
        ("weather in oslo and bergen please", ["Oslo", "Bergen"]),
        (
            "How is the weather in New York, Rio de Janeiro and Bonn today?",
            ["New York", "Rio de Janeiro", "Bonn"],
        ),
        ("Will it rain in Paris? I hope not.", ["Paris"]),
    ],
)
def test_each_city_is_a_call_of_its_own_in_one_turn(text: str, cities: list[str]) -> None:
    assert calls_for(text) == [("get_weather", {"city": city}) for city in cities]


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        (["Where is order 1001?"], [("look_up_order", {"order_id": "1001"})]),
        (["Where is #1003"], [("look_up_order", {"order_id": "1003"})]),
        (["refund order 1002"], [("look_up_order", {"order_id": "1002"})]),
        (["Refund $60 for order 1002"], [("refund_order", {"order_id": "1002", "amount": 6000})]),
        (
            ["Refund orders 1001, 1002 and 1003, 60 dollars each"],
            [
                ("refund_order", {"order_id": order, "amount": 6000})
                for order in ("1001", "1002", "1003")
            ],
        ),
        (
            ["Refund 12.50 dollars of 1001"],
            [("refund_order", {"order_id": "1001", "amount": 1250})],
        ),
        (["Where is order 1003?", "refund it"], [("look_up_order", {"order_id": "1003"})]),
        (
            ["weather in Oslo and where is order 1001?"],
            [("get_weather", {"city": "Oslo"}), ("look_up_order", {"order_id": "1001"})],
        ),
        (['call look_up_order {"order_id": "7"}'], [("look_up_order", {"order_id": "7"})]),
        (["hello"], []),
    ],
)
def test_the_text_decides_the_calls(said: list[str], calls: list[tuple[str, object]]) -> None:
    assert calls_for(*said) == calls


def test_tools_that_are_not_offered_are_not_called() -> None:
    assert calls_for("weather in Oslo", tools=frozenset()) == []


def test_it_remembers_the_thread() -> None:
    assert answered("My name is Ada", "What is my name?") == "You are Ada."
    assert answered("What is my name?") == "You have not told me your name yet."
    assert "“I like rope”" in answered("I like rope", "What did I say?")


def test_it_asks_back_and_understands_the_answer() -> None:
    assert answered("How is the weather?") == WHICH_CITY
    assert answered("I want a refund") == WHICH_ORDER
    talk = Conversation(("How is the weather?", "oslo"), (WHICH_CITY,), (), 0)
    assert [call.arguments for call in reply(talk, TOOLS).calls.values()] == [{"city": "Oslo"}]


def test_commands_are_made_turn_by_turn() -> None:
    text = 'call get_weather {"city": "A"} call get_weather {} then call look_up_order {} 2 times'

    made: list[list[str]] = []
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(text)])]
    while calls := list(reply(Conversation.of(messages), TOOLS).calls.items()):
        made.append([call.name for _, call in calls])
        messages.append(
            ModelResponse([ToolCallPart(call.name, call.arguments, name) for name, call in calls])
        )
        messages.append(
            ModelRequest([ToolReturnPart(call.name, "ok", name) for name, call in calls])
        )

    assert made == [["get_weather", "get_weather"], ["look_up_order"], ["look_up_order"]]


def a_refund(result: ToolReturnPart) -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart("Refund $60 for order 1002")]),
        ModelResponse(parts=[ToolCallPart("refund_order", {"order_id": "1002"}, "demo_1")]),
        ModelRequest(parts=[result]),
    ]


def test_it_explains_a_refusal() -> None:
    refused = ToolReturnPart("refund_order", "Not approved: too much.", "demo_1", outcome="failed")

    said = reply(Conversation.of(a_refund(refused)), TOOLS)

    assert said.text == "I did not refund order 1002. Not approved: too much."
    assert not said.calls


@pytest.mark.req("APR-13")
def test_a_refund_that_a_person_changed_is_told_as_it_was_made() -> None:
    made = {"order_id": "1002", "refunded_cents": 4000, "reference": "r-1"}
    content = {"note": "A person changed it.", "input": {"amount": 4000}, "output": made}
    changed = ToolReturnPart("refund_order", content, "demo_1")

    said = reply(Conversation.of(a_refund(changed)), TOOLS)

    assert said.text.startswith("Done: 40.00 dollars go back for order 1002.")


def test_a_refund_without_an_amount_takes_two_turns() -> None:
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("refund order 1002")]),
        ModelResponse(parts=[ToolCallPart("look_up_order", {"order_id": "1002"}, "demo_1")]),
        ModelRequest(parts=[ToolReturnPart("look_up_order", {"total_cents": 8900}, "demo_1")]),
    ]

    ((call_id, call),) = reply(Conversation.of(messages), TOOLS).calls.items()

    assert (call_id, call.name) == ("demo_2", "refund_order")
    assert call.arguments == {"order_id": "1002", "amount": 8900}


async def test_it_streams_word_by_word_what_it_would_say_at_once() -> None:
    model = demo_model("demo:support", timedelta(0))
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("tell me a story")])]

    pieces = []
    async with model_request_stream(model, messages) as stream:
        async for event in stream:
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    pieces.append(text)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    pieces.append(text)
                case _:
                    pass
    whole = await model_request(model, messages)

    assert len(pieces) > 50
    assert "".join(pieces) == whole.text == stream.get().text
    assert stream.get().model_name == "demo:support"


async def test_streamed_calls_are_the_same_as_unstreamed_ones() -> None:
    model = demo_model("demo:", timedelta(0))
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("weather in Oslo and Bonn")])
    ]
    offered = ModelRequestParameters(function_tools=[ToolDefinition(name="get_weather")])

    async with model_request_stream(model, messages, model_request_parameters=offered) as stream:
        async for _ in stream:
            pass
    whole = await model_request(model, messages, model_request_parameters=offered)

    made = [(call.tool_call_id, call.args_as_dict()) for call in stream.get().tool_calls]
    assert made == [("demo_1", {"city": "Oslo"}), ("demo_2", {"city": "Bonn"})]
    assert made == [(call.tool_call_id, call.args_as_dict()) for call in whole.tool_calls]


async def test_every_text_gets_an_answer() -> None:
    model = demo_model("demo:", timedelta(0))
    for text in ("", "?!", "think about rope", "call me Ada", "count to 3", "refund", "weather in"):
        async with model_request_stream(
            model, [ModelRequest(parts=[UserPromptPart(text)])]
        ) as stream:
            async for _ in stream:
                pass
        assert stream.get().text
