"""The form of an answer as Python says it: a type becomes the JSON Schema that the run carries.

What a type checks beyond its schema (validators of its own) is not part of it: the run may go on
where the type is not known.
"""

from collections.abc import Mapping

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from app.domain.errors import InvalidArgument
from app.domain.storable import Json


def json_schema_of(form: type | Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the JSON Schema of a type; a mapping is one already.

    Raises:
        InvalidArgument: the type has none.
    """
    if isinstance(form, Mapping):
        return form
    try:
        return TypeAdapter(form).json_schema()
    except PydanticUserError as error:
        raise InvalidArgument(
            f"output_schema: expected a JSON Schema or a type that has one, got {form!r}:"
            f" {error.message}"
        ) from error
