"""JSON Schema to TypeScript, for as much of JSON Schema as our models use.

A generator of our own because the input is ours: pydantic writes it, so the shapes
are few, and what is not known raises instead of becoming ``any``.  The output is
formatted as biome would, so that generated and checked code agree.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
Names: TypeAlias = Mapping[tuple[str, ...], str]
"""The members of a union, as TypeScript writes them, to the name it is exported under."""

_SCALARS = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


_WORD = re.compile(r"[A-Za-z_$][\w$]*")

NO_NAMES: Final = frozenset(
    re.findall(
        r"\w+",
        """
        any bigint boolean never null number object string symbol undefined unknown void
        await break case catch class const continue debugger default delete do else enum export
        extends false finally for function if implements import in instanceof interface let new
        package private protected public return static super switch this throw true try typeof var
        while with yield
        Readonly Record
        """,
    )
)
"""What no type can be called: TypeScript's own words, and what is written here with their help."""


class UnknownSchema(ValueError):
    """A schema that this generator has no TypeScript for.  Teach it, do not guess."""


def interface(name: str, schema: Schema, named: Names) -> str:
    """Return the exported interface of an object schema."""
    required = set(schema.get("required", ()))
    fields = [
        _field(key, value, named, optional=_may_be_missing(key, value, required))
        for key, value in schema["properties"].items()
    ]
    head = doc(schema.get("description"), "")
    return f"{head}export interface {name} {{\n{''.join(fields)}}}\n"


def declaration(name: str, schema: Schema) -> str:
    """Return the export of a type of any shape."""
    if "properties" in schema:
        return interface(name, schema, {})
    return doc(schema.get("description"), "") + union(name, _members(schema, {}))


def union(name: str, members: Sequence[str]) -> str:
    """Return the exported union of ``members``, one a line where it would not fit."""
    line = f"export type {name} = {' | '.join(members)};\n"
    if len(line) <= 101:
        return line
    return f"export type {name} =\n" + "\n".join(f"  | {member}" for member in members) + ";\n"


def type_of(schema: Schema, named: Names) -> str:
    """Return the TypeScript type that ``schema`` describes.

    A union whose members are exactly those of one in ``named`` goes by that name.

    Raises:
        UnknownSchema: the shape is not one that our models produce.
    """
    members = _members(schema, named)
    return named.get(tuple(members), " | ".join(members))


def _members(schema: Schema, named: Names) -> list[str]:
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return list(dict.fromkeys(type_of(option, named) for option in schema[key]))
    if "enum" in schema:
        return [json.dumps(value) for value in schema["enum"]]
    return [_single(schema, named)]


def _single(schema: Schema, named: Names) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if "const" in schema:
        return json.dumps(schema["const"])
    kind = schema.get("type")
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind == "array" and "prefixItems" in schema:
        return f"readonly [{', '.join(type_of(each, named) for each in schema['prefixItems'])}]"
    if kind == "array":
        item = type_of(schema["items"], named)
        together = "|" in item or item.startswith("readonly ")
        return f"readonly ({item})[]" if together else f"readonly {item}[]"
    if kind == "object" and "properties" not in schema:
        extra = schema.get("additionalProperties", True)
        value = type_of(extra, named) if isinstance(extra, Mapping) else "unknown"
        if "$ref" in json.dumps(extra):  # perhaps to this very type, which no alias's argument may
            return f"{{ readonly [key: string]: {value} }}"
        return f"Readonly<Record<string, {value}>>"
    if kind == "object":
        required = set(schema.get("required", ()))
        fields = "; ".join(
            f"readonly {key_of(key)}{'' if key in required else '?'}: {type_of(value, named)}"
            for key, value in schema["properties"].items()
        )
        return f"{{ {fields} }}"
    if schema.get("not") == {}:
        return "never"
    if kind is None and "allOf" not in schema:
        return "unknown"
    raise UnknownSchema(json.dumps(dict(schema)))


def _may_be_missing(key: str, schema: Schema, required: Collection[str]) -> bool:
    return bool(schema.get("absent")) or (key not in required and "const" not in schema)


def _field(key: str, schema: Schema, named: Names, *, optional: bool) -> str:
    if schema.get("absent") and "anyOf" in schema:
        # An absent field is left out, never null: only the other side of the union travels.
        rest = [option for option in schema["anyOf"] if option.get("type") != "null"]
        schema = {**schema, "anyOf": rest}
    mark = "?" if optional else ""
    head = doc(schema.get("description"), "  ")
    return f"{head}  readonly {key_of(key)}{mark}: {type_of(schema, named)};\n"


def key_of(name: str) -> str:
    """Return a property's name, in quotes where it needs them."""
    return name if _WORD.fullmatch(name) else json.dumps(name)


def doc(text: str | None, indent: str) -> str:
    """Return a comment for what follows; nothing for no text."""
    if not text:
        return ""
    lines = text.replace("``", "`").replace("*/", "*\\/").strip().splitlines()
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{body}{indent} */\n"
