"""The scripted order desk: what it calls, and what it says of the answers."""

import json
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from app.models.demo_conversation import Conversation
from app.models.demo_script import Reply, reply

TOOLS = frozenset({"list_orders", "change_order", "cancel_order", "give_refund"})
HEMP = {"id": 3, "item": "Hemp rope", "quantity": 2, "priceCents": 2400, "status": "placed"}
BELL = {"id": 4, "item": "Bell rope", "quantity": 2, "priceCents": 4950, "status": "paid"}


def said(*texts: str) -> list[ModelMessage]:
    """A conversation: the user and the desk in turn."""
    return [
        ModelRequest([UserPromptPart(text)]) if index % 2 == 0 else ModelResponse([TextPart(text)])
        for index, text in enumerate(texts)
    ]


def answered(name: str, content: Any, **arguments: object) -> list[ModelMessage]:  # noqa: ANN401
    """A call and what came of it; an error is a plain text."""
    return [
        ModelResponse([ToolCallPart(name, json.dumps(arguments), "c")]),
        ModelRequest(
            [
                ToolReturnPart(
                    name, content, "c", outcome="failed" if isinstance(content, str) else "success"
                )
            ]
        ),
    ]


def desk(messages: list[ModelMessage]) -> Reply:
    return reply(Conversation.of(messages), TOOLS)


@pytest.mark.parametrize(
    ("texts", "call"),
    [
        pytest.param(["About order 3: Where is it?"], ("list_orders", {}), id="where"),
        pytest.param(["Show my orders"], ("list_orders", {}), id="all"),
        pytest.param(["Cancel order 3"], ("cancel_order", {"order_id": 3}), id="cancel"),
        pytest.param(["cancel 3, please"], ("cancel_order", {"order_id": 3}), id="bare"),
        pytest.param(
            ["Where is order 3?", "There.", "Cancel it"],
            ("cancel_order", {"order_id": 3}),
            id="the-one-spoken-of",
        ),
        pytest.param(["Cancel my orders"], ("list_orders", {}), id="which-one"),
        pytest.param(
            ["Cancel an order", "Which order do you mean?", "3"],
            ("cancel_order", {"order_id": 3}),
            id="asked-back",
        ),
        pytest.param(
            ["Change order 3 to 5 pieces"],
            ("change_order", {"order_id": 3, "quantity": 5}),
            id="quantity",
        ),
        pytest.param(
            ["About order 3: make it 4"],
            ("change_order", {"order_id": 3, "quantity": 4}),
            id="make-it",
        ),
        pytest.param(
            ["Send order 3 to Harbour Lane 4, Bergen."],
            ("change_order", {"order_id": 3, "ship_to": "Harbour Lane 4, Bergen"}),
            id="address",
        ),
        pytest.param(["Refund order 4"], ("list_orders", {}), id="refund-looks-first"),
    ],
)
def test_the_text_decides_the_call(texts: list[str], call: tuple[str, object]) -> None:
    calls = [(each.name, each.arguments) for each in desk(said(*texts)).calls.values()]

    assert calls == [call]


def test_a_refund_gives_back_what_was_paid() -> None:
    (call,) = desk([*said("Refund order 4"), *answered("list_orders", [BELL, HEMP])]).calls.values()

    assert (call.name, call.arguments) == ("give_refund", {"order_id": 4, "cents": 9900})


@pytest.mark.parametrize(
    ("text", "answer", "words"),
    [
        pytest.param(
            "Where is order 3?",
            ("list_orders", [HEMP, BELL]),
            "Order 3 (2 x Hemp rope) is placed; 48.00 dollars.",
            id="where",
        ),
        pytest.param(
            "Refund order 3",
            ("list_orders", [HEMP]),
            "Order 3 (2 x Hemp rope) is placed; 48.00 dollars. There is nothing to give back.",
            id="unpaid",
        ),
        pytest.param(
            "Where is order 9?",
            ("list_orders", [HEMP]),
            "You have no order 9. Order 3 (2 x Hemp rope) is placed; 48.00 dollars.",
            id="no-such",
        ),
        pytest.param(
            "Show my orders",
            ("list_orders", []),
            "You have no orders yet. Place one, and ask me again.",
            id="none",
        ),
        pytest.param(
            "Cancel my orders",
            ("list_orders", [HEMP]),
            "Order 3 (2 x Hemp rope) is placed; 48.00 dollars. Which order do you mean?",
            id="which",
        ),
        pytest.param(
            "Cancel order 3",
            ("cancel_order", HEMP),
            "Done: order 3 (2 x Hemp rope) is cancelled.",
            id="cancelled",
        ),
        pytest.param(
            "Cancel order 3",
            ("cancel_order", "order 3 is paid"),
            "I could not do that: order 3 is paid.",
            id="refused",
        ),
        pytest.param(
            "Send order 3 to Bergen",
            ("change_order", HEMP | {"shipTo": "Bergen"}),
            "Done: order 3 is 2 x Hemp rope now, 48.00 dollars, to Bergen.",
            id="changed",
        ),
        pytest.param(
            "Refund order 4",
            ("give_refund", BELL),
            "Done: 99.00 dollars go back for order 4.",
            id="refunded",
        ),
    ],
)
def test_it_says_what_came_of_it(text: str, answer: tuple[str, object], words: str) -> None:
    told = desk([*said(text), *answered(*answer)])

    assert (told.text, told.calls) == (words, {})


def test_it_introduces_itself() -> None:
    assert "“Where are my orders?”" in desk(said("Hello")).text
