"""The form of an answer as Python says it: a type becomes the JSON Schema that the run carries.

What a type checks beyond its schema (validators of its own) is not part of it: the run may go on
where the type is not known.  Whoever reads the answer in Python gets the type's instance.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import UnionType
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic_core import PydanticSerializationError, SchemaError

from app.authoring.place import Place
from app.domain.errors import InvalidArgument, OutputMismatch
from app.domain.output_policy import SCHEMA
from app.domain.storable import Json, encode
from app.threads.output_schema import OutputShape

OutputSchema: TypeAlias = type | UnionType | Mapping[str, Json]
"""A JSON Schema, or a type that has one."""


@dataclass(frozen=True, slots=True)
class AgentOutput:
    """The form of an agent's answers.

    Attributes:
        schema: as its runs carry it.
        form: what it was declared as.
    """

    schema: Mapping[str, Json]
    form: OutputSchema

    @classmethod
    def declared(cls, form: OutputSchema, place: Place) -> "AgentOutput":
        """Return the form that an agent declares.

        Raises:
            DeclarationError: no answer can be held to it.
        """
        try:
            schema = json_schema_of(form)
            OutputShape.of(schema)
        except InvalidArgument as error:
            # Runs call it by another name.
            why = error.message.removeprefix(f"{SCHEMA}: ").removeprefix("output_schema: ")
            raise place.error(f"output cannot be used: {why}") from error
        return cls(schema, form)


def json_schema_of(form: OutputSchema) -> Mapping[str, Json]:
    """Return the JSON Schema of a type; a mapping is one already.

    Raises:
        InvalidArgument: the type has none.
    """
    if isinstance(form, Mapping):
        return form
    with _refusing(form):
        return _adapter_of(form).json_schema()


def parsed(output: Json, form: OutputSchema, run_id: str) -> Any:  # noqa: ANN401  # as the form says
    """Return an answer as an instance of the form's type; of a JSON Schema it is what it is.

    Raises:
        OutputMismatch: it does not fit: the type has changed since the run was asked for, or
            checks more than its schema says.
        InvalidArgument: the form is no type.
    """
    if isinstance(form, Mapping):
        return output
    try:
        with _refusing(form):
            # As JSON: there a date, a tuple or bytes are what the schema says.
            return _adapter_of(form).validate_json(encode(output))
    except ValidationError as error:
        raise OutputMismatch(f"the output of run {run_id} does not fit: {error}") from error


def _adapter_of(form: Any) -> TypeAdapter[Any]:  # noqa: ANN401  # whatever was written
    if isinstance(form, str):  # which pydantic would look up where this is written
        raise InvalidArgument(_not_a_form(form))
    return TypeAdapter(form)


@contextmanager
def _refusing(form: object) -> Iterator[None]:
    """Say in a sentence why a type is of no use."""
    try:
        yield
    except (
        PydanticUserError,
        PydanticUndefinedAnnotation,
        PydanticSerializationError,
        SchemaError,
    ) as error:
        reason = str(error).partition("\n")[0]
        raise InvalidArgument(f"{_not_a_form(form)}: {reason}") from error


def _not_a_form(form: object) -> str:
    return f"output_schema: expected a JSON Schema or a type that has one, got {form!r}"
