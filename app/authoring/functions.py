"""``@query``, ``@mutation``, ``@action``: a team's own backend beside its agents.

A decorated function stays what it was, a coroutine function that tests and other
functions can call; beside that it is a declaration, collected by its module when
the agents folder is loaded and then reached by reference, ``module:name``.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, ParamSpec, TypeVar, overload

from app.authoring.place import Place

P = ParamSpec("P")
R = TypeVar("R")


class FunctionKind(StrEnum):
    """What a function may do; see ``app.authoring.contexts``."""

    QUERY = "query"
    MUTATION = "mutation"
    ACTION = "action"


class ServerFunction(Generic[P, R]):
    """A declared function.

    Attributes:
        kind: what it may do.
        name: by what it is called, in snake_case; callers may write it in camelCase.
        internal: whether only server code may call it.
        idempotent: whether the body may run again when a call is repeated under its
            dedupe key.  Otherwise an action that was cut off is not tried again.
        reads: tables of the product's that a query answers from: whoever watches it hears of
            their changes.
        place: where it is written.
    """

    def __init__(
        self,
        body: Callable[P, Awaitable[R]],
        *,
        kind: FunctionKind,
        name: str | None = None,
        internal: bool = False,
        idempotent: bool = False,
        reads: Collection[str] = (),
    ) -> None:
        functools.update_wrapper(self, body)
        self.kind = kind
        self.name = name or str(getattr(body, "__name__", ""))
        self.internal = internal
        self.idempotent = idempotent
        self.reads = frozenset(reads)
        self.body = body
        self.place = place_of(body)
        if not inspect.iscoroutinefunction(body):
            raise self.place.error(f"{self.name}: declare a @{kind} with `async def`")
        if not (self.name.isidentifier() and self.name.isascii()):
            raise self.place.error(
                f"{self.name!r} cannot name a function: use letters, digits and _"
            )

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Call the function itself: no validation, no transaction of its own."""
        return self.body(*args, **kwargs)


Body = Callable[P, Coroutine[Any, Any, R]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decorator:
    """What a decorator with options is, once it has them."""

    kind: FunctionKind
    internal: bool
    name: str | None
    idempotent: bool = False

    def __call__(self, body: Body[P, R], /) -> ServerFunction[P, R]:
        """Declare the function."""
        return ServerFunction(
            body,
            kind=self.kind,
            name=self.name,
            internal=self.internal,
            idempotent=self.idempotent,
        )


@overload
def query(body: Body[P, R], /) -> ServerFunction[P, R]: ...
@overload
def query(*, internal: bool = False, name: str | None = None) -> Decorator: ...
def query(
    body: Body[P, R] | None = None, /, *, internal: bool = False, name: str | None = None
) -> ServerFunction[P, R] | Decorator:
    """Declare a function that reads.

    It runs in a read-only transaction and its first parameter is a ``QueryContext``.

    Args:
        body: the function, when the decorator stands bare.
        internal: only server code may call it.
        name: another name than the function's own.
    """
    declare = Decorator(kind=FunctionKind.QUERY, internal=internal, name=name)
    return declare if body is None else declare(body)


@overload
def mutation(body: Body[P, R], /) -> ServerFunction[P, R]: ...
@overload
def mutation(*, internal: bool = False, name: str | None = None) -> Decorator: ...
def mutation(
    body: Body[P, R] | None = None, /, *, internal: bool = False, name: str | None = None
) -> ServerFunction[P, R] | Decorator:
    """Declare a function that is one transaction.

    Its first parameter is a ``MutationContext``.  It commits when the body returns and
    leaves nothing behind when it raises; the body runs again when its transaction ran
    into another one.

    Args:
        body: the function, when the decorator stands bare.
        internal: only server code may call it.
        name: another name than the function's own.
    """
    declare = Decorator(kind=FunctionKind.MUTATION, internal=internal, name=name)
    return declare if body is None else declare(body)


@overload
def action(body: Body[P, R], /) -> ServerFunction[P, R]: ...
@overload
def action(
    *, internal: bool = False, name: str | None = None, idempotent: bool = False
) -> Decorator: ...
def action(
    body: Body[P, R] | None = None,
    /,
    *,
    internal: bool = False,
    name: str | None = None,
    idempotent: bool = False,
) -> ServerFunction[P, R] | Decorator:
    """Declare a function that may talk to the world and has no transaction.

    Its first parameter is an ``ActionContext``.  A call that is repeated under its dedupe
    key gets the first one's answer; one that was cut off is not tried again.

    Args:
        body: the function, when the decorator stands bare.
        internal: only server code may call it.
        name: another name than the function's own.
        idempotent: running it twice is harmless, so a repeated call runs it again.
    """
    declare = Decorator(
        kind=FunctionKind.ACTION, internal=internal, name=name, idempotent=idempotent
    )
    return declare if body is None else declare(body)


def place_of(body: Callable[..., object]) -> Place:
    """Return the line where a function is written."""
    plain = inspect.unwrap(body)
    code = getattr(plain, "__code__", None)
    if code is None:
        return Place(getattr(plain, "__module__", ""), "<unknown>", 0)
    return Place(plain.__module__, code.co_filename, code.co_firstlineno)
