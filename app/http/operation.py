"""What a route takes and answers, said once: handlers read by it, ``/openapi.json`` shows it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from app.domain.errors import InvalidArgument

JSON: Final = "application/json"
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """A number in an address's query, if it is there."""

    name: str
    least: int
    most: int
    meaning: str

    def read(self, request: Request) -> int | None:
        """Return the number; ``None`` when it was not given.

        Raises:
            InvalidArgument: it is no number, or out of its bounds.
        """
        text = request.query_params.get(self.name)
        if text is None:
            return None
        is_number = text.isascii() and text.isdecimal() and len(text) < 19
        if not (is_number and self.least <= int(text) <= self.most):
            raise InvalidArgument(f"{self.name}: a whole number from {self.least} to {self.most}")
        return int(text)

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class Word:
    """A text in an address's query, if it is there."""

    name: str
    meaning: str

    def read(self, request: Request) -> str | None:
        """Return the text; ``None`` when it was not given.

        Raises:
            InvalidArgument: it holds what nobody could have been given.
        """
        text = request.query_params.get(self.name)
        if text is not None and not text.isprintable():
            raise InvalidArgument(f"{self.name}: {self.meaning}")
        return text

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        return {"type": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One route: what it takes and answers.

    Attributes:
        answer: what a success looks like; ``None``: anything of this media type.
        body: what it takes, if it takes anything.
        query: what may stand in the address.
        status: of a success.
        asks_who: whether it looks at the caller's token.
        scope: what a key with scopes needs for it; ``None``: the function that it calls says so.
    """

    answer: type[BaseModel] | None = None
    media_type: str = JSON
    body: type[BaseModel] | None = None
    query: tuple[WholeNumber | Word, ...] = ()
    status: int = 200
    asks_who: bool = True
    scope: str | None = None


class DocumentedRoute(Route):
    """A route that says what it does.

    Attributes:
        method: its one method.
        operation: what it takes and answers.
        summary: one sentence.
    """

    def __init__(
        self,
        method: str,
        path: str,
        endpoint: Endpoint | ASGIApp,
        operation: Operation,
        summary: str,
    ) -> None:
        super().__init__(path, endpoint, methods=[method])
        self.method = method
        self.operation = operation
        self.summary = summary
