"""The form of an answer: what may ask for one, and what fits it."""

import time
from typing import Any

import pytest

from app.domain.errors import InvalidArgument
from app.domain.storable import Json
from app.threads.output_schema import MAX_BYTES, OutputRefused, OutputShape, require_object

pytestmark = pytest.mark.req("OUT-02")


def an_object(**properties: Any) -> dict[str, Any]:  # noqa: ANN401  # any schema
    return {"type": "object", "properties": properties}


def refused(schema: Any) -> str:  # noqa: ANN401  # anything
    with pytest.raises(InvalidArgument) as raised:
        OutputShape.of(schema)
    return raised.value.message


@pytest.mark.parametrize(
    "schema", [{"type": "array"}, {}, [], "object", 1, True, {"type": ["object"]}]
)
def test_over_the_wire_it_is_a_schema_of_an_object(schema: Any) -> None:  # noqa: ANN401  # anything
    with pytest.raises(InvalidArgument, match='outputSchema: expected a JSON Schema with "type"'):
        require_object(schema)


def test_it_has_a_limit_in_bytes() -> None:
    assert "at most 32 KB" in refused(an_object(a={"description": "ä" * (MAX_BYTES // 2)}))
    OutputShape.of(an_object(a={"description": "a" * (MAX_BYTES - 200)}))


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (an_object(a={"type": "strnig"}), "it is no JSON Schema, at properties/a/type"),
        ({"type": "object", "properties": []}, "it is no JSON Schema, at properties"),
        (an_object(a={"$ref": "https://evil.example/x.json"}), "$ref: expected"),
        (an_object(a={"$ref": "file:///etc/passwd"}), "$ref: expected"),
        (an_object(a={"$ref": "#/$defs/nothing"}), "$ref: expected"),
        (an_object(a={"$ref": "#name"}), "$ref: expected"),
        (an_object(a={"$dynamicRef": "#a"}), "$dynamicRef cannot be used"),
        (an_object(a={"$id": "https://evil.example/"}), "$id cannot be used"),
        (an_object(a={"$schema": "http://json-schema.org/draft-07/schema#"}), "$schema cannot"),
        (an_object(a={"patternProperties": {"(a+)+$": {}}}), "patternProperties cannot be used"),
        (an_object(a={"type": "string", "pattern": "(?=a)b"}), "pattern: expected"),
        (an_object(a={"type": "string", "pattern": "("}), "pattern"),
        ({"type": "object", "$ref": "#"}, "refers to itself without an end"),
        ({"type": "array", "items": {"$ref": "#"}}, "$ref: expected"),
    ],
)
def test_what_cannot_be_used_is_refused_at_the_start_in_a_sentence(
    schema: dict[str, Any], said: str
) -> None:
    message = refused(schema)

    assert message.startswith("outputSchema: ")
    assert said in message


def test_a_schema_that_multiplies_itself_is_refused_in_time() -> None:
    defs: dict[str, Any] = {
        f"a{place}": {"allOf": [{"$ref": f"#/$defs/a{place + 1}"}] * 2} for place in range(60)
    }
    defs["a60"] = {}
    begun = time.process_time()

    said = refused({"type": "object", "$ref": "#/$defs/a0", "$defs": defs})

    assert "without an end" in said
    assert time.process_time() - begun < 2


def test_a_schema_as_deep_as_its_limit_breaks_nothing() -> None:
    deep: Any = {"type": "string"}
    for _ in range(800):
        deep = {"type": "object", "properties": {"a": deep}}

    assert "nests too deep" in refused(deep)


def test_a_pattern_takes_no_longer_than_its_text() -> None:
    shape = OutputShape.of(an_object(a={"type": "string", "pattern": "^(a+)+$"}))
    begun = time.process_time()

    with pytest.raises(OutputRefused, match="a: '"):
        shape.read({"a": "a" * 50_000 + "!"})

    assert time.process_time() - begun < 5


@pytest.mark.parametrize("name", ["pattern", "$ref", "$id", "patternProperties"])
def test_a_field_may_be_called_like_a_keyword_and_data_may_hold_one(name: str) -> None:
    schema = an_object(**{name: {"type": "string", "enum": ["(", "#"]}})
    schema["properties"]["b"] = {"const": {name: "("}}

    assert OutputShape.of(schema).read({name: "(", "b": {name: "("}}) == {
        name: "(",
        "b": {name: "("},
    }


@pytest.mark.parametrize(
    ("schema", "sent", "value"),
    [
        (an_object(a={"type": "integer"}), '{"a": 1}', {"a": 1}),
        ({"type": "boolean"}, {"response": False}, False),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, {"response": 0}, 0),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "definitions": {"s": {"type": "string"}},
            }
            | an_object(a={"$ref": "#/definitions/s"}),
            {"a": ""},
            {"a": ""},
        ),
        (
            an_object(next={"$ref": "#"}),
            {"next": {"next": {}}},
            {"next": {"next": {}}},
        ),
    ],
)
def test_what_fits_is_returned_as_given(schema: Any, sent: Any, value: Json) -> None:  # noqa: ANN401
    assert OutputShape.of(schema).read(sent) == value


@pytest.mark.parametrize(
    ("sent", "wrong"),
    [
        (None, "it is no JSON"),
        ("", "it is no JSON"),
        ("Oslo", "it is no JSON"),
        ('{"a": NaN}', "it is no JSON: NaN"),
        ("[1]", "[1] is not of type 'object'"),
        ('{"a": [{"b": "x"}]}', "a.0.b: 'x' is not of type 'integer'"),
        ("[" * 100_000, "it is no JSON"),
    ],
)
def test_what_does_not_fit_says_where_and_why(sent: str | None, wrong: str) -> None:
    shape = OutputShape.of(an_object(a={"items": an_object(b={"type": "integer"})}))

    with pytest.raises(OutputRefused) as raised:
        shape.read(sent)

    assert raised.value.wrong.startswith(wrong)
