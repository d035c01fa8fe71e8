"""A tool's schema comes from its hints and its docstring, and what a model sends is checked."""

import asyncio
import contextvars
import threading
import time
from typing import Any

import pydantic
import pytest

from app import ToolContext, tool
from app.authoring.tool_schema import ArgumentsRefused, Sent
from app.authoring.tools import Call, Tool
from app.domain.errors import DeclarationError
from tests.support.late import LATE_S

CONTEXT = ToolContext(
    run_id="run",
    thread_key="thread",
    agent="support",
    owner="u1",
    tool_call_id="call_1",
    idempotency_key="run/tool:charge:call_1",
)


@tool
async def charge(ctx: ToolContext, amount: int, currency: str = "EUR") -> dict[str, object]:
    """Charge the saved card.

    Args:
        ctx: not for the model.
        amount: cents to charge.
        currency: three letters.
    """
    return {"amount": amount, "currency": currency, "key": ctx.idempotency_key}


class Order(pydantic.BaseModel):
    """An order."""

    id: str
    lines: list[int]


RAW = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@tool(schema=RAW)
async def weather(**arguments: str) -> str:
    """Say what the weather is."""
    return f"sunny in {arguments['city']}"


def test_the_schema_is_hints_and_docstring_without_the_context() -> None:
    assert charge.description == "Charge the saved card."
    assert charge.parameters.schema["properties"] == {
        "amount": {"type": "integer", "description": "cents to charge."},
        "currency": {"type": "string", "default": "EUR", "description": "three letters."},
    }
    assert charge.parameters.schema["required"] == ["amount"]
    assert charge.parameters.schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("sent", "arguments"),
    [
        pytest.param('{"amount": 5}', {"amount": 5, "currency": "EUR"}, id="json"),
        pytest.param(
            {"amount": "5", "currency": "USD"}, {"amount": 5, "currency": "USD"}, id="dict"
        ),
    ],
)
def test_arguments_that_fit_become_the_functions_types(sent: Sent, arguments: object) -> None:
    assert charge.parameters.validate(sent) == arguments


@pytest.mark.parametrize(
    ("tool", "sent", "sentence"),
    [
        pytest.param(
            charge, '{"amount": "x"}', "amount: Input should be a valid integer", id="type"
        ),
        pytest.param(charge, None, "amount: Field required", id="nothing-sent"),
        pytest.param(charge, "", "amount: Field required", id="empty-text"),
        pytest.param(charge, '{"amount": 5, "tip": 1}', "tip: Extra inputs", id="unknown-argument"),
        pytest.param(charge, '{"amount": 5', "Invalid JSON", id="cut-off"),
        pytest.param(charge, "[5]", "should be an object", id="no-object"),
        pytest.param(weather, "{}", "'city' is a required property", id="raw-missing"),
        pytest.param(weather, {"city": 5}, "city: 5 is not of type 'string'", id="raw-type"),
        pytest.param(weather, '{"city"', "Invalid JSON", id="raw-cut-off"),
        pytest.param(weather, "[]", "[] is not of type 'object'", id="raw-no-object"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words_for_the_model(
    tool: Tool, sent: Sent, sentence: str
) -> None:
    with pytest.raises(ArgumentsRefused) as refused:
        tool.parameters.validate(sent)

    assert sentence in str(refused.value)
    assert str(refused.value).endswith("Mend the arguments and call the tool again.")


def test_a_raw_schema_is_shown_as_it_is() -> None:
    assert weather.parameters.schema == RAW
    assert weather.description == "Say what the weather is."


async def test_a_tool_is_called_with_context_and_arguments() -> None:
    assert await charge.call(CONTEXT, {"amount": 5, "currency": "EUR"}) == {
        "amount": 5,
        "currency": "EUR",
        "key": "run/tool:charge:call_1",
    }
    assert await weather.call(CONTEXT, {"city": "Oslo"}) == "sunny in Oslo"


async def test_a_decorated_function_stays_callable_as_it_was() -> None:
    assert (await charge(CONTEXT, amount=7))["amount"] == 7


async def test_one_model_as_the_only_parameter_is_the_whole_object() -> None:
    @tool
    async def ship(order: Order) -> int:
        return len(order.lines)

    arguments = ship.parameters.validate('{"id": "A", "lines": [1, 2]}')

    assert await ship.call(CONTEXT, arguments) == 2
    assert Call(arguments).order.id == "A"


async def test_a_plain_function_runs_beside_the_loop_with_the_callers_context() -> None:
    who = contextvars.ContextVar("who", default="nobody")
    released = threading.Event()

    @tool
    def wait() -> tuple[str, str]:
        released.wait(5)
        return who.get(), threading.current_thread().name

    who.set("u1")
    waiting = asyncio.ensure_future(wait.call(CONTEXT, {}))
    await asyncio.sleep(0)  # the loop is free while the thread waits
    released.set()

    assert await waiting == ("u1", "ropewalk wait")


async def test_what_a_plain_function_raises_reaches_the_caller() -> None:
    @tool
    def fail(how: str) -> None:
        raise StopIteration if how == "stop" else ValueError(how)

    with pytest.raises(ValueError, match="bad"):
        await fail.call(CONTEXT, {"how": "bad"})
    with pytest.raises(RuntimeError, match="fail raised StopIteration"):
        await fail.call(CONTEXT, {"how": "stop"})


async def test_who_stops_waiting_for_a_thread_is_not_held_by_it() -> None:
    released = threading.Event()

    @tool
    def hang() -> None:
        released.wait(5)

    started = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await hang.call(CONTEXT, {})
    released.set()

    assert time.monotonic() - started < 1 + LATE_S


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param({"retries": -1}, "retries counts further attempts", id="retries"),
        pytest.param({"timeout": 0}, "timeout has to be longer", id="timeout"),
        pytest.param({"needs_approval": "yes"}, "True, False, a predicate", id="approval"),
        pytest.param({"name": "no way!"}, "cannot name a tool", id="name"),
        pytest.param({"schema": {"type": "array"}}, "takes an object", id="schema-of-a-list"),
        pytest.param(
            {"schema": {"type": "object", "properties": 3}}, "no JSON Schema", id="no-schema"
        ),
    ],
)
def test_a_bad_option_is_refused_where_the_tool_is_declared(
    options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DeclarationError) as refused:

        @tool(**options)
        def fine() -> None: ...

    assert sentence in refused.value.message
    assert refused.value.message.startswith("tests/unit/authoring/test_tools.py:")


def test_a_function_that_no_model_can_call_by_name_is_refused() -> None:
    with pytest.raises(DeclarationError, match="'rest' cannot be given by name"):

        @tool
        def many(*rest: int) -> None: ...

    with pytest.raises(DeclarationError, match="annotate the context"):

        @tool
        def forgot(ctx, city: str) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001

    with pytest.raises(DeclarationError, match="has to be the first parameter"):

        @tool
        def late(city: str, ctx: ToolContext) -> None: ...

    with pytest.raises(DeclarationError, match="tool 'odd'"):

        @tool
        def odd(value: threading.Lock) -> None: ...


def test_a_predicate_reads_arguments_as_attributes_or_items() -> None:
    call = Call({"amount": 5, "items": [1]})

    assert (call.amount, call["items"], dict(call)) == (5, [1], {"amount": 5, "items": [1]})
    with pytest.raises(AttributeError, match="no argument 'cents'"):
        _ = call.cents
