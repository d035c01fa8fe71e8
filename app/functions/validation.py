"""What a function takes and gives, built once from its signature.

Strict, as JSON means it: a string is never taken for a number.  The names of
parameters are accepted in both spellings, and a caller who is wrong is told what
was expected, never what he sent (that may be a secret).
"""

import inspect
from collections.abc import Mapping
from typing import Any, get_type_hints

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic.alias_generators import to_camel
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from app.authoring.functions import ServerFunction
from app.domain.errors import AgentFault, InvalidArgument
from app.domain.storable import Json, decode, encode

_SHOWN_ERRORS = 3


class Signature:
    """The parameters after the context, and the result.

    Attributes:
        names: of the parameters.
        arguments: the type of all of them together, an object.
        result: the type of what comes back.
    """

    def __init__(self, function: ServerFunction[..., Any], context: type[object]) -> None:
        """Read the signature.

        Args:
            function: the declaration.
            context: what the first parameter has to be.

        Raises:
            DeclarationError: the signature cannot be called from outside.
        """
        self._ref = function.name
        try:
            hints = get_type_hints(function.body, include_extras=True)
        except NameError as error:
            raise function.place.error(f"{function.name}: {error}; import it there") from error
        parameters = list(inspect.signature(function.body).parameters.values())
        _check_context(function, parameters, hints, context)
        self.names = tuple(parameter.name for parameter in parameters[1:])
        try:
            self._arguments = _arguments_model(function, parameters[1:], hints)
            self.arguments: TypeAdapter[Any] = TypeAdapter(self._arguments)
            self.result: TypeAdapter[Any] = TypeAdapter(hints.get("return", Any))
        except RecursionError as error:
            raise function.place.error(
                f"{function.name}: a type refers to itself; use a model, or pydantic's JsonValue"
            ) from error
        except PydanticUserError as error:
            reason = error.message.splitlines()[0]
            raise function.place.error(
                f"{function.name}: {reason}; use plain types, dataclasses or pydantic models"
            ) from error

    def take(self, arguments: object) -> dict[str, Any]:
        """Return the keyword arguments for the body.

        Raises:
            InvalidArgument: they do not fit; says what was expected.
        """
        try:
            model = self._arguments.model_validate_json(encode(_plain(arguments)), strict=True)
        except ValidationError as error:
            raise self._refusal(error) from None
        except (TypeError, PydanticSerializationError) as error:
            raise InvalidArgument(f"arguments: {error}") from None
        return {
            self.names[index]: value
            for index, (field, value) in enumerate(model)
            if field in model.model_fields_set
        }

    def give(self, value: object) -> Json:
        """Return the result as JSON.

        Raises:
            AgentFault: the body returned something else than it declares.
        """
        try:
            checked = self.result.validate_python(value)
            plain = self.result.dump_python(checked, mode="json", by_alias=True)
            return decode(encode(plain))
        except (ValidationError, PydanticSerializationError, TypeError) as error:
            raise AgentFault(f"{self._ref} returned something else than it declares") from error

    def _refusal(self, error: ValidationError) -> InvalidArgument:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        sentences = [_sentence(each["loc"], each["type"], each["msg"]) for each in found]
        shown = "; ".join(sentences[:_SHOWN_ERRORS])
        expected = ", ".join(to_camel(name) for name in self.names) or "none"
        return InvalidArgument(
            f"{shown} (arguments of {self._ref}: {expected})",
            {"errors": [{"path": list(each["loc"]), "message": each["msg"]} for each in found]},
        )


def _check_context(
    function: ServerFunction[..., Any],
    parameters: list[inspect.Parameter],
    hints: Mapping[str, object],
    context: type[object],
) -> None:
    first = parameters[0] if parameters else None
    if first is None or first.kind is inspect.Parameter.KEYWORD_ONLY:
        raise function.place.error(
            f"{function.name}: the first parameter of a @{function.kind} is "
            f"`ctx: {context.__name__}`"
        )
    annotated = hints.get(first.name, context)
    if isinstance(annotated, type) and not issubclass(context, annotated):
        raise function.place.error(
            f"{function.name}: a @{function.kind} gets a {context.__name__}, "
            f"not a {annotated.__name__}"
        )
    for parameter in parameters[1:]:
        if parameter.kind not in {
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            inspect.Parameter.KEYWORD_ONLY,
        }:
            raise function.place.error(
                f"{function.name}: give each parameter a name; {parameter} cannot be called by one"
            )


def _arguments_model(
    function: ServerFunction[..., Any],
    parameters: list[inspect.Parameter],
    hints: Mapping[str, Any],
) -> type[BaseModel]:
    # Fields are numbered: a parameter may have a name that a model keeps for itself (json, copy).
    fields: dict[str, Any] = {
        f"arg_{index}": (hints.get(parameter.name, Any), _field(parameter))
        for index, parameter in enumerate(parameters)
    }
    names = [to_camel(parameter.name) for parameter in parameters]
    if len(set(names)) != len(names):
        raise function.place.error(f"{function.name}: two parameters are the same in camelCase")
    return create_model(
        to_camel(function.name),
        __config__=ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=False),
        **fields,
    )


def _field(parameter: inspect.Parameter) -> Any:  # noqa: ANN401  # as Field itself is typed
    camel = to_camel(parameter.name)
    alias = camel if camel == parameter.name else AliasChoices(camel, parameter.name)
    if parameter.default is inspect.Parameter.empty:
        return Field(validation_alias=alias)
    # What is not given is not handed on either, so the body's own default holds.
    return Field(default=None, validation_alias=alias)


def _plain(arguments: object) -> object:
    """Return what callers inside the process may hand over (models, dates) as plain JSON."""
    return to_jsonable_python(arguments, by_alias=True, inf_nan_mode="null")


def _sentence(where: tuple[int | str, ...], kind: str, message: str) -> str:
    path = ".".join(str(part) for part in where)
    match kind:
        case "extra_forbidden":
            return f"{path}: there is no such argument"
        case "missing":
            return f"{path}: is required"
        case "model_type":
            return f"{path or 'arguments'}: must be an object"
        case _:
            return f"{path}: {message[:1].lower()}{message[1:]}"
