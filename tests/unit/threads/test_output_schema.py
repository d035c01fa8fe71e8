"""The form of an answer: what may ask for one, and what fits it."""

import time
from typing import Any

import pytest

from app.domain.errors import InvalidArgument
from app.domain.storable import Json, encode
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


def test_the_runs_of_one_schema_are_checked_by_one_shape() -> None:
    shape = OutputShape.of(an_object(a={"type": "string"}))

    assert OutputShape.of(an_object(a={"type": "string"})) is shape
    assert OutputShape.of(an_object(a={"type": "number"})).read({"a": 1}) == {"a": 1}
    with pytest.raises(OutputRefused):
        shape.read({"a": 1})


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (an_object(a={"const": object()}), "it is no JSON: Object of type object"),
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


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (an_object(a={"items": {"anyOf": [{"const": n} for n in range(1000)]}}), [-1] * 2000),
        (an_object(a={"items": {"oneOf": [{"const": n} for n in range(1000)]}}), [5] * 2000),
        (an_object(a={"items": {"enum": [{"k": n} for n in range(1500)]}}), [{"k": -1}] * 2000),
        (an_object(a={"items": {"required": [f"n{n}" for n in range(3000)]}}), [{}] * 2000),
        (an_object(a={"anyOf": [{"type": "string"}] * 1500}), ["x" * 100] * 2000),
        (an_object(a={"uniqueItems": True}), [{"n": n} for n in range(3000)]),
    ],
    ids=["anyOf", "oneOf", "enum", "required", "quoted", "uniqueItems"],
)
def test_a_check_that_would_keep_a_worker_for_minutes_is_given_up(
    schema: dict[str, Any], sent: Json
) -> None:
    shape = OutputShape.of(schema)
    begun = time.process_time()

    with pytest.raises(OutputRefused, match="too long, to be checked"):
        shape.read({"a": sent})

    assert time.process_time() - begun < 10


def test_a_long_answer_is_checked_whole() -> None:
    row = an_object(
        id={"type": "integer"},
        name={"type": "string", "minLength": 1, "pattern": r"^[\w ]{1,80}$"},
        kind={"enum": ["a", "b", "c"]},
        tags={"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    )
    row |= {"required": ["id", "name", "tags"], "additionalProperties": False}
    answer: Json = {
        "a": [{"id": n, "name": "a name", "kind": "b", "tags": ["x", "y"]} for n in range(1500)]
    }

    assert OutputShape.of(an_object(a={"items": row})).read(encode(answer)) == answer


@pytest.mark.parametrize(
    "pattern",
    [r"((a{100}){100}){20}", r"(a{1,200}b?){1,200}", r"\w{400}", r"[^a]{400}", r"\pL{999}"],
)
def test_patterns_that_take_long_to_build_are_refused_at_the_start(pattern: str) -> None:
    assert "pattern: expected fewer repetitions" in refused(an_object(a={"pattern": pattern}))


def test_many_patterns_take_as_long_as_one_that_is_as_large() -> None:
    fine = an_object(**{f"p{n}": {"pattern": f"^(a{{1,9}}b?){{1,9}}{n}$"} for n in range(100)})
    OutputShape.of(fine)
    many = an_object(**{f"p{n}": {"pattern": f"(a{{1,50}}b?){{1,50}}{n}"} for n in range(400)})

    assert "pattern: expected fewer repetitions" in refused(many)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$",
        r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$",
        r"^[^@\s]{1,64}@([a-z0-9-]{1,63}\.){1,8}[a-z]{2,63}$",
        r"^[\w .-]{1,100}$",
    ],
)
def test_patterns_of_everyday_are_not_refused(pattern: str) -> None:
    OutputShape.of(an_object(a={"type": "string", "pattern": pattern}))


@pytest.mark.parametrize("sent", ['{"a": 1e999}', {"a": float("inf")}, '{"a": -1e999}'])
def test_an_answer_is_checked_as_it_will_be_stored(sent: Any) -> None:  # noqa: ANN401
    with pytest.raises(OutputRefused, match="a: None is not of type 'number'"):
        OutputShape.of(an_object(a={"type": "number"})).read(sent)


def test_a_schema_is_checked_as_workers_will_find_it() -> None:
    said = refused(an_object(a={"type": "number", "minimum": float("inf")}))

    assert "at properties/a/minimum: None is not of type 'number'" in said


def test_a_number_that_cannot_be_divided_is_no_fault_of_ours() -> None:
    shape = OutputShape.of(an_object(a={"multipleOf": 0.01}))

    with pytest.raises(OutputRefused, match="a number in it is too large"):
        shape.read('{"a": 1' + "0" * 400 + "}")
