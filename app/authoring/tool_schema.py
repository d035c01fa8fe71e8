"""The parameters of a tool: what the model is shown, and the check of what it sends.

Both come from one source, the type hints and the docstring (through the model
library's public ``Tool``) or a JSON Schema that the tool brings itself.
"""

import inspect
import json
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import jsonschema
import pydantic
import pydantic_ai
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import validator_for
from pydantic_ai.exceptions import UserError

Arguments: TypeAlias = dict[str, Any]
Sent: TypeAlias = str | Mapping[str, Any] | None
"""Arguments as a model sends them: JSON text, or an object, or nothing at all."""


class ArgumentsRefused(Exception):
    """What was sent does not fit.

    The message says to a model what to mend; ``wrong`` says what is wrong, to anybody.
    """

    def __init__(self, wrong: str) -> None:
        super().__init__(f"{wrong}. Mend the arguments and call the tool again.")
        self.wrong = wrong


class SchemaMistake(Exception):
    """A tool cannot be shown to a model as it is declared."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a tool takes.

    Attributes:
        schema: the JSON Schema that the model is shown.
        validate: returns the arguments for the function, or raises ``ArgumentsRefused``.
        description: what the docstring says of the tool.
    """

    schema: Mapping[str, Any]
    validate: Callable[[Sent], Arguments]
    description: str | None = None


def parameters_from_hints(function: Callable[..., Any], *, skip_first: bool) -> Parameters:
    """Return the parameters that type hints and docstring declare.

    Args:
        function: the tool's function.
        skip_first: whether its first parameter is a context, which the model is not shown.

    Raises:
        SchemaMistake: a hint has no JSON form, or a parameter cannot be given by name.
    """
    _require_named(function)
    try:
        described = pydantic_ai.Tool(_without_first(function) if skip_first else function)
    except (UserError, NameError, pydantic.errors.PydanticUserError) as error:
        raise SchemaMistake(str(error)) from error
    validator = described.function_schema.validator

    def validate(sent: Sent) -> Arguments:
        try:
            found = (
                validator.validate_json(sent or "{}")
                if isinstance(sent, str)
                else validator.validate_python(dict(sent or {}))
            )
        except pydantic.ValidationError as error:
            _refuse(
                (_path(problem["loc"]), problem["msg"])
                for problem in error.errors(include_url=False, include_context=False)
            )
        return typing.cast(Arguments, found)

    shown = described.tool_def
    return Parameters(shown.parameters_json_schema, validate, shown.description)


def parameters_from_schema(schema: Mapping[str, Any]) -> Parameters:
    """Return the parameters that a JSON Schema declares.

    Raises:
        SchemaMistake: it is no JSON Schema of an object.
    """
    if schema.get("type") != "object":
        raise SchemaMistake('a tool takes an object: the schema needs "type": "object"')
    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise SchemaMistake(f"the schema is no JSON Schema: {error.message}") from error
    checker = kind(schema)

    def validate(sent: Sent) -> Arguments:
        try:
            found = json.loads(sent or "{}") if isinstance(sent, str) else dict(sent or {})
        except ValueError as error:
            _refuse([("", f"Invalid JSON: {error}")])
        problem = best_match(checker.iter_errors(found))
        if problem is not None:
            _refuse([(_path(problem.absolute_path), problem.message)])
        return typing.cast(Arguments, found)

    return Parameters(schema, validate)


def _refuse(problems: Iterable[tuple[str, str]]) -> NoReturn:
    listed = "; ".join(f"{where}: {what}" if where else what for where, what in problems)
    raise ArgumentsRefused(listed)


def _path(steps: Iterable[str | int]) -> str:
    return ".".join(str(step) for step in steps)


def _require_named(function: Callable[..., Any]) -> None:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL}:
            raise SchemaMistake(f"the parameter {parameter.name!r} cannot be given by name")


def _without_first(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return something that looks like ``function`` without its first parameter.

    The model library knows a context of its own only, so it is shown none.
    """
    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    hints = typing.get_type_hints(function, include_extras=True)
    hints.pop(first.name, None)

    async def look_alike(**arguments: object) -> None:
        raise NotImplementedError("shown to the model library, never called")

    look_alike.__annotations__ = hints
    look_alike.__name__ = function.__name__
    look_alike.__qualname__ = function.__qualname__
    look_alike.__module__ = function.__module__
    look_alike.__doc__ = function.__doc__
    vars(look_alike)["__signature__"] = signature.replace(parameters=rest)
    return look_alike
