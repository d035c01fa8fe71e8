"""What a function takes and gives is checked by its signature."""

import enum
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from app.authoring.contexts import MutationContext, QueryContext
from app.authoring.functions import ServerFunction, mutation, query
from app.domain.errors import AgentFault, DeclarationError, InvalidArgument
from app.domain.storable import Json
from app.functions.validation import Signature


class Item(BaseModel):
    """A pydantic model of a team's."""

    name: str
    price: Decimal


@dataclass
class Place:
    """A dataclass of a team's."""

    city: str
    zip_code: int


class Size(enum.Enum):
    """An enumeration of a team's."""

    SMALL = "small"


@mutation
async def order(
    ctx: MutationContext,
    *,
    item: Item,
    ship_to: Place,
    sizes: list[Size],
    due: date | None = None,
    count: Annotated[int, Field(ge=1)] = 1,
) -> Item:
    del ctx, ship_to, sizes, due, count
    return item


SIGNATURE = Signature(order, MutationContext)
GOOD = {
    "item": {"name": "rope", "price": "1.50"},
    "shipTo": {"city": "Hamburg", "zip_code": 20095},
    "sizes": ["small"],
}


@pytest.mark.req("IMP-01")
def test_arguments_become_the_types_that_the_function_declares() -> None:
    taken = SIGNATURE.take({**GOOD, "due": "2026-11-29"})

    assert taken == {
        "item": Item(name="rope", price=Decimal("1.50")),
        "ship_to": Place("Hamburg", 20095),
        "sizes": [Size.SMALL],
        "due": date(2026, 11, 29),
    }


def test_names_are_taken_in_both_spellings_but_not_both_at_once() -> None:
    snake = {**GOOD, "ship_to": GOOD["shipTo"]}
    del snake["shipTo"]

    assert SIGNATURE.take(snake) == SIGNATURE.take(GOOD)
    with pytest.raises(InvalidArgument, match="ship_to: there is no such argument"):
        SIGNATURE.take({**GOOD, "ship_to": GOOD["shipTo"]})


def test_callers_inside_the_process_may_hand_over_objects() -> None:
    taken = SIGNATURE.take(
        {
            "item": Item(name="rope", price=Decimal(2)),
            "ship_to": Place("Hamburg", 20095),
            "sizes": (Size.SMALL,),
            "due": date(2026, 11, 29),
        }
    )

    assert taken["item"] == Item(name="rope", price=Decimal(2))
    assert taken["due"] == date(2026, 11, 29)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param({**GOOD, "count": "2"}, "count: input should be a valid integer", id="type"),
        pytest.param({**GOOD, "count": True}, "count: input should be a valid integer", id="bool"),
        pytest.param({**GOOD, "count": 0}, "greater than or equal to 1", id="bound"),
        pytest.param({**GOOD, "more": 1}, "more: there is no such argument", id="unknown"),
        pytest.param({"item": GOOD["item"]}, "shipTo: is required", id="missing"),
        pytest.param({**GOOD, "item": {"name": "rope"}}, "item.price: is required", id="nested"),
        pytest.param([1], "must be an object", id="no-object"),
        pytest.param({**GOOD, "sizes": ["huge"]}, "sizes.0", id="enum"),
    ],
)
def test_a_wrong_argument_is_refused_with_what_was_expected(arguments: object, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says) as refused:
        SIGNATURE.take(arguments)

    assert "item, shipTo, sizes, due, count" in refused.value.message
    assert refused.value.data is not None


def test_a_refusal_repeats_nothing_of_what_was_sent() -> None:
    with pytest.raises(InvalidArgument) as refused:
        SIGNATURE.take({**GOOD, "count": "my password"})

    assert "password" not in refused.value.message
    assert "password" not in repr(refused.value.data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_is_sent_is_taken_or_refused_and_never_breaks(arguments: object) -> None:
    try:
        SIGNATURE.take(arguments)
    except InvalidArgument:
        return
    raise AssertionError("nothing that was drawn is an order")


def test_what_a_store_cannot_hold_is_made_storable_before_the_body_sees_it() -> None:
    @query
    async def find(ctx: QueryContext, text: str) -> str:
        return text

    assert Signature(find, QueryContext).take({"text": "a\x00b\ud800"}) == {"text": "a�b�"}


def test_a_result_is_checked_and_becomes_json() -> None:
    @query
    async def times(ctx: QueryContext) -> dict[str, datetime | float]:
        return {}

    signature = Signature(times, QueryContext)

    given_back = signature.give({"at": datetime(2026, 1, 1, tzinfo=UTC), "nan": float("nan")})
    assert given_back == {"at": "2026-01-01T00:00:00Z", "nan": None}
    with pytest.raises(AgentFault, match="something else than it declares"):
        signature.give({"at": "soon"})


def test_a_function_without_annotations_takes_and_gives_anything() -> None:
    @query
    async def echo(ctx, value):  # type: ignore[no-untyped-def]  # the point of the test  # noqa: ANN001, ANN202
        return value

    signature = Signature(echo, QueryContext)

    assert signature.take({"value": [1, {"a": None}]}) == {"value": [1, {"a": None}]}
    assert signature.give({"b": (1, 2)}) == {"b": [1, 2]}


def test_parameters_may_have_names_that_models_keep_for_themselves() -> None:
    @query
    async def awkward(ctx: QueryContext, json: str, copy: int, _x: int, model_config: int) -> None:
        return None

    arguments = {"json": "a", "copy": 1, "_x": 2, "modelConfig": 3}

    taken = Signature(awkward, QueryContext).take(arguments)
    assert taken == {"json": "a", "copy": 1, "_x": 2, "model_config": 3}


class Opaque:
    """A class that nothing can be read into."""


def test_a_signature_that_cannot_be_called_names_its_line_and_the_fix() -> None:
    @query
    async def no_context() -> None: ...
    @query
    async def wrong_context(ctx: MutationContext) -> None: ...
    @query
    async def unnamed(ctx: QueryContext, *rest: int) -> None: ...
    @query
    async def twins(ctx: QueryContext, a_b: int, aB: int) -> None: ...  # noqa: N803
    @query
    async def opaque(ctx: QueryContext, thing: Opaque) -> None: ...
    @query
    async def endless(ctx: QueryContext, tree: Json) -> None: ...

    wrong: list[tuple[ServerFunction[..., Any], str]] = [
        (no_context, "first parameter of a @query is `ctx: QueryContext`"),
        (wrong_context, "gets a QueryContext, not a MutationContext"),
        (unnamed, "give each parameter a name"),
        (twins, "the same in camelCase"),
        (opaque, "use plain types, dataclasses or pydantic models"),
        (endless, "a type refers to itself"),
    ]
    for function, says in wrong:
        with pytest.raises(DeclarationError, match=says) as refused:
            Signature(function, QueryContext)
        assert "test_validation.py:" in refused.value.message
