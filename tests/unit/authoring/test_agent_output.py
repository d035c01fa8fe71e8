"""An agent declares the form of its answers; a wrong one fails where it is written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from app import Agent, OutputMismatch
from app.authoring.output_type import parsed
from app.domain.errors import DeclarationError, InvalidArgument
from app.domain.storable import Json

pytestmark = pytest.mark.req("LOOP-12")


class Refund(BaseModel):
    """Money goes back."""

    kind: Literal["refund"] = "refund"
    cents: int


class Reply(BaseModel):
    """Words are enough."""

    kind: Literal["reply"] = "reply"
    text: str


@dataclass
class Dated:
    """Something with a day."""

    day: date
    sizes: tuple[int, ...] = ()


LATE: dict[str, Json] = {
    "type": "object",
    "properties": {"late": {"type": "boolean"}},
    "required": ["late"],
}


class Ahead(BaseModel):
    """Pydantic can check it, but not in linear time."""

    model_config = ConfigDict(regex_engine="python-re")
    word: str = Field(pattern="(?=a)a")


class Opaque(Enum):
    """Its values have no JSON."""

    ANY = object()


class Endless(BaseModel):
    """Names a type that there is not."""

    other: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("form", "schema"),
    [
        pytest.param(Refund, Refund.model_json_schema(), id="a-model"),
        pytest.param(bool, {"type": "boolean"}, id="a-plain-type"),
        pytest.param(LATE, LATE, id="a-json-schema"),
    ],
)
def test_a_type_or_a_json_schema_is_the_form_of_every_answer(
    form: Any,  # noqa: ANN401  # a type or a schema
    schema: Mapping[str, Json],
) -> None:
    output = Agent(model="demo:", output=form).output

    assert output is not None
    assert output.schema == schema


def test_without_one_answers_are_text() -> None:
    assert Agent(model="demo:").output is None


@pytest.mark.parametrize(
    ("form", "given", "read"),
    [
        (Refund, {"cents": 5}, Refund(cents=5)),
        (Refund | Reply, {"kind": "reply", "text": "No."}, Reply(text="No.")),
        (list[Reply], [{"text": "a"}], [Reply(text="a")]),
        (Dated, {"day": "2026-11-30", "sizes": [1, 2]}, Dated(date(2026, 11, 30), (1, 2))),
        (bool, False, False),
        (LATE, {"late": True}, {"late": True}),
    ],
)
def test_an_answer_is_read_as_an_instance_of_the_type(
    form: Any,  # noqa: ANN401  # a type or a schema
    given: Json,
    read: object,
) -> None:
    assert parsed(given, form, "r1") == read


def test_an_answer_that_is_no_instance_names_its_run() -> None:
    with pytest.raises(OutputMismatch, match=r"the output of run r1 does not fit: (?s:.*)cents"):
        parsed({"dollars": 5}, Refund, "r1")


def test_to_read_an_answer_costs_no_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(TypeAdapter, "json_schema")

    assert parsed({"cents": 5}, Refund, "r1") == Refund(cents=5)


@pytest.mark.parametrize("form", [42, "Refund", Endless])
def test_what_is_no_type_reads_no_answer(form: Any) -> None:  # noqa: ANN401  # anything
    with pytest.raises(InvalidArgument, match="output_schema: expected a JSON Schema or a type"):
        parsed({}, form, "r1")


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        pytest.param(Callable[[], int], "a type that has one, got .*Callable", id="no-json-form"),
        pytest.param(42, "a type that has one, got 42", id="no-type"),
        pytest.param("Refund", "a type that has one, got 'Refund'", id="a-name"),
        pytest.param(Endless, "Endless.* is not fully defined", id="a-type-that-is-not-there"),
        pytest.param({"type": "strnig"}, "output cannot be used: it is no JSON Schema", id="typo"),
        pytest.param({"enum": [Refund]}, "output cannot be used: it is no JSON: Obj", id="no-json"),
        pytest.param(Opaque, "got <enum 'Opaque'>: Unable to serialize", id="no-json-value"),
        pytest.param({"$ref": "https://x/y"}, r"output cannot be used: \$ref", id="elsewhere"),
        pytest.param(Ahead, "output cannot be used: pattern: expected", id="look-around"),
        pytest.param(Annotated[str, Field(pattern="(")], "got .*: Error building", id="no-pattern"),
    ],
)
def test_what_no_answer_can_be_held_to_is_refused_in_one_sentence(
    form: Any,  # noqa: ANN401  # anything
    sentence: str,
) -> None:
    with pytest.raises(DeclarationError, match=sentence) as refused:
        Agent(model="demo:", output=form)

    assert "test_agent_output.py" in refused.value.message
    assert "\n" not in refused.value.message
