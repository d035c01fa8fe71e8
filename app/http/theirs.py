"""Bodies of other protocols: what we take is checked, the rest is theirs and left alone."""

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from app.domain.errors import InvalidArgument
from app.protocol.wire import first_fault

MessageId = Annotated[
    str, StringConstraints(min_length=1, max_length=150, pattern=r"^[^\x00-\x1f\x7f]+$")
]
"""A client's name for a message or a run; with what we add to it, a key to say it once."""


class Theirs(BaseModel):
    """Base of what is read of such a body."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)


Model = TypeVar("Model", bound=BaseModel)


def read(model: type[Model], given: object, what: str) -> Model:
    """Return a part of a body as ``model`` describes it.

    Raises:
        InvalidArgument: it does not fit; says where, after ``what``.
    """
    try:
        return model.model_validate(given, strict=True)
    except ValidationError as error:
        raise InvalidArgument(f"{what}: {first_fault(error)}") from None
