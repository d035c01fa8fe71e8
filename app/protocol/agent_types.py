"""What an agent's tools take and give, its state and its output, as far as its declaration says.

A front end narrows by it: a call of ``get_weather`` has a ``city``.  Arguments, and the output, are
as the model is shown them, so what it may leave out may be missing.  What TypeScript cannot say is
``None`` here and ``unknown`` there: a tool may bring any JSON Schema and return anything, and
neither may keep a team from its types.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, get_type_hints

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from app.authoring.agent import Agent, NamedTool
from app.authoring.agent_tool import AgentTool
from app.authoring.function_tool import FunctionTool
from app.authoring.tools import InlineTool, Offer
from app.functions.registry import FunctionRegistry
from app.protocol.typescript import Schema, UnknownSchema, declaration, type_of
from app.threads.output_schema import OutputShape

Adapter: TypeAlias = TypeAdapter[Any]

LOCAL: Final = "#/$defs/"
_TEXT: Final[Adapter] = TypeAdapter(str)


@dataclass(frozen=True, slots=True)
class ToolTypes:
    """One tool of an agent.

    Attributes:
        summary: what the model is told of it, one paragraph.
        takes: the JSON Schema of its arguments.
        gives: the type of its result; of an agent that answers in a form, the agent's.
    """

    summary: str
    takes: Schema | None
    gives: "Adapter | OutputTypes | None"


@dataclass(frozen=True, slots=True)
class OutputTypes:
    """What an agent answers with, wherever that is told.

    Attributes:
        slug: the agent's.
        schema: the JSON Schema.
        is_wrapped: whether a model is asked for it as the field of an object.
    """

    slug: str
    schema: Schema
    is_wrapped: bool


@dataclass(frozen=True, slots=True)
class AgentTypes:
    """One agent: its tools by name, its state, if that begins as something of a type, its output.

    Plain lists and dictionaries say nothing of what a state will be.
    """

    slug: str
    tools: Mapping[str, ToolTypes]
    state: Adapter | None = None
    output: OutputTypes | None = None


def agent_types(agent: Agent, functions: FunctionRegistry) -> AgentTypes:
    """Return what an agent declares; the functions are those that its tools may be."""
    state = agent.state_type
    return AgentTypes(
        agent.slug,
        {name: _tool_types(tool, functions) for name, tool in agent.tools.items()},
        None if state.__module__ == "builtins" else _adapter_of(state),
        _output_types(agent),
    )


def _output_types(agent: Agent) -> OutputTypes | None:
    declared = agent.output
    if declared is None or not _is_sayable(declared.schema):
        return None
    return OutputTypes(agent.slug, declared.schema, OutputShape.of(declared.schema).is_wrapped)


def _tool_types(tool: NamedTool, functions: FunctionRegistry) -> ToolTypes:
    match tool:
        case AgentTool():
            asked = tool.bound()
            says_text = asked.agent.output is None
            return _offered(asked, _TEXT if says_text else _output_types(asked.agent))
        case FunctionTool(function=function):
            ref = function if isinstance(function, str) else functions.reference_of(function)
            found = functions.lookup(ref or "")
            gives = None if found is None else _sayable(found.signature.result)
            return _offered(tool.bound(functions), gives)
        case InlineTool(function=function):
            hints = get_type_hints(function, include_extras=True)
            return _offered(tool, _adapter_of(hints.get("return")))
        case _:
            return _offered(tool, None)


def _offered(offer: Offer, gives: Adapter | OutputTypes | None) -> ToolTypes:
    schema = offer.parameters.schema
    paragraph = (offer.description or "").strip().partition("\n\n")[0]
    return ToolTypes(" ".join(paragraph.split()), schema if _is_sayable(schema) else None, gives)


def _adapter_of(hint: Any) -> Adapter | None:  # noqa: ANN401  # whatever is annotated
    if hint is None or hint is Any:
        return None
    try:
        return _sayable(TypeAdapter(hint))
    except PydanticUserError:
        return None


def _sayable(adapter: Adapter) -> Adapter | None:
    try:
        schema = adapter.json_schema(mode="serialization")
    except PydanticUserError:
        return None
    return adapter if _is_sayable(schema) else None


def _is_sayable(schema: Schema) -> bool:
    """Return whether a schema that may be anybody's is one that TypeScript can say."""
    shared = schema.get("$defs", {})
    try:
        for name, each in shared.items():
            declaration(name, each)
        type_of(schema, {})
    except (UnknownSchema, LookupError, TypeError, AttributeError):
        return False
    return all(each.removeprefix(LOCAL) in shared for each in _references(schema))


def _references(schema: object) -> Iterator[str]:
    match schema:
        case {"$ref": str(target)}:
            yield target
        case dict():
            for each in schema.values():
                yield from _references(each)
        case list():
            for each in schema:
                yield from _references(each)
        case _:
            return
