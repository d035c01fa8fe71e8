"""What the scripted model answers where a form is asked for: something that fits, and no more.

It fills a JSON Schema with what stands in it (``const``, ``enum``, ``default``, ``examples``) or
with the least that the type allows; a text is what the model would have said.
"""

from collections.abc import Mapping
from typing import Any, Final

_DEEPEST: Final = 12
"""A schema may refer to itself."""

_SHALLOW: Final = 3
"""Up to here all fields are given where none are required."""


def sample(schema: Mapping[str, Any], said: str) -> Any:  # noqa: ANN401  # JSON
    """Return a value for a schema; ``said`` stands where a text is asked for."""
    return _value(schema, schema, said, 0)


def _value(node: Any, whole: Mapping[str, Any], said: str, depth: int) -> Any:  # noqa: ANN401  # JSON
    if not isinstance(node, Mapping) or depth > _DEEPEST:
        return None
    for given in ("const", "default"):
        if given in node:
            return node[given]
    for several in ("enum", "examples"):
        if isinstance(node.get(several), list) and node[several]:
            return node[several][0]
    if isinstance(node.get("$ref"), str):
        return _value(_at(node["$ref"], whole), whole, said, depth + 1)
    for choice in ("anyOf", "oneOf", "allOf"):
        if isinstance(node.get(choice), list) and node[choice]:
            return _value({**node, choice: None, **node[choice][0]}, whole, said, depth + 1)
    kind = node.get("type", "object" if "properties" in node else "string")
    return _of_type(kind[0] if isinstance(kind, list) else kind, node, whole, said, depth)


def _of_type(
    kind: str, node: Mapping[str, Any], whole: Mapping[str, Any], said: str, depth: int
) -> Any:  # noqa: ANN401  # JSON
    match kind:
        case "object":
            fields = node.get("properties", {})
            optional = fields if depth < _SHALLOW else ()
            wanted = [name for name in node.get("required", optional) if name in fields]
            return {name: _value(fields[name], whole, said, depth + 1) for name in wanted}
        case "array":
            items = node.get("items", {})
            return [_value(items, whole, said, depth + 1)] * int(node.get("minItems", 0))
        case "integer" | "number":
            return node.get("minimum", 0)
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return said[: node.get("maxLength", len(said))]


def _at(ref: str, whole: Mapping[str, Any]) -> Any:  # noqa: ANN401  # JSON
    found: Any = whole
    for step in ref.removeprefix("#").split("/")[1:]:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
