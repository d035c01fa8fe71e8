"""Our JSON Schemas become exactly the TypeScript that a reader would write."""

from typing import Any

import pytest

from app.protocol.typescript import UnknownSchema, interface, type_of, union


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "integer"}, "number", id="integer"),
        pytest.param({"const": "ping"}, '"ping"', id="literal"),
        pytest.param({"enum": ["a", "b"]}, '"a" | "b"', id="enum"),
        pytest.param({}, "unknown", id="anything"),
        pytest.param({"$ref": "#/$defs/Part"}, "Part", id="reference"),
        pytest.param({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null", id="null"),
        pytest.param(
            {"type": "array", "items": {"enum": ["a", "b"]}}, 'readonly ("a" | "b")[]', id="list"
        ),
        pytest.param(
            {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
            "readonly (readonly string[])[]",
            id="list of lists",
        ),
        pytest.param({"type": "object"}, "Readonly<Record<string, unknown>>", id="open object"),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b-c": {"type": "null"}},
                "required": ["a"],
            },
            '{ readonly a: string; readonly "b-c"?: null }',
            id="object without a name",
        ),
        pytest.param(
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            "readonly [string, number]",
            id="tuple",
        ),
        pytest.param({"not": {}}, "never", id="nothing"),
    ],
)
def test_a_schema_becomes_its_type(schema: dict[str, Any], expected: str) -> None:
    assert type_of(schema, {}) == expected


def test_a_union_that_has_a_name_goes_by_it() -> None:
    assert type_of({"enum": ["a", "b"]}, {('"a"', '"b"'): "Letter"}) == "Letter"


def test_a_shape_that_is_not_known_raises_instead_of_becoming_unknown() -> None:
    with pytest.raises(UnknownSchema):
        type_of({"allOf": [{"type": "string"}, {"minLength": 3}]}, {})


def test_a_tag_is_always_there_and_an_absent_field_is_never_null() -> None:
    schema: dict[str, Any] = {
        "properties": {
            "type": {"const": "x", "default": "x"},
            "owner": {"anyOf": [{"type": "string"}, {"type": "null"}], "absent": True},
            "title": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["title"],
    }

    assert interface("X", schema, {}) == (
        "export interface X {\n"
        '  readonly type: "x";\n'
        "  readonly owner?: string;\n"
        "  readonly title: string | null;\n"
        "}\n"
    )


def test_a_union_too_long_for_a_line_stands_one_member_a_line() -> None:
    members = [f"Frame{number}" * 3 for number in range(8)]

    assert union("Frames", members).splitlines()[1] == f"  | {members[0]}"
