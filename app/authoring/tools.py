"""``@tool``: a function that the model may call.

A decorated function stays callable as it was, for tests and for other code.  The
declaration beside it is data: the loop (``app.loop``) validates, asks, runs and
records.
"""

import dataclasses
import functools
import inspect
import re
import typing
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

from app.authoring.approval_policy import NeedsApproval, check_needs_approval
from app.authoring.off_loop import off_loop
from app.authoring.place import Place, calling_place
from app.authoring.tool_context import ToolContext
from app.authoring.tool_schema import (
    Arguments,
    Parameters,
    SchemaMistake,
    parameters_from_hints,
    parameters_from_schema,
)

P = ParamSpec("P")
R = TypeVar("R")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what both big providers accept


class Call(Mapping[str, Any]):
    """Validated arguments, as a predicate sees them: ``call.amount`` or ``call["amount"]``."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # an argument of any type
        try:
            return self._arguments[name]
        except KeyError:
            raise AttributeError(f"the call has no argument {name!r}") from None

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  # an argument of any type
        return self._arguments[name]

    def __iter__(self) -> typing.Iterator[str]:
        return iter(self._arguments)

    def __len__(self) -> int:
        return len(self._arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """How calls of a tool are treated.

    Attributes:
        needs_approval: whether a person has to agree to a call first, and who.
        timeout: bound of one attempt.  A thread cannot be stopped: a plain function
            that took too long runs on while it is started again.
        retries: how often a failing call is tried again; ``None``: as the agent says.
        sequential: whether it runs alone among the calls of a turn.
    """

    needs_approval: NeedsApproval = False
    timeout: timedelta | None = None
    retries: int | None = None
    sequential: bool = False

    def check(self, place: Place) -> None:
        """Refuse options that cannot be kept."""
        check_needs_approval(self.needs_approval, place)
        if self.timeout is not None and self.timeout <= timedelta(0):
            raise place.error("timeout has to be longer than nothing")
        if self.retries is not None and self.retries < 0:
            raise place.error(
                f"retries counts further attempts, got {self.retries}; 0 is the least"
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Offer:
    """What a model is shown: something that it may call, whoever answers the call."""

    name: str
    parameters: Parameters
    options: ToolOptions
    place: Place

    @property
    def description(self) -> str | None:
        """What the model is told of it."""
        return self.parameters.description

    def renamed(self, name: str) -> Self:
        """Return the same tool under another name."""
        return dataclasses.replace(self, name=check_tool_name(name, self.place))


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool(Offer):
    """A call that code answers."""

    call: Callable[[ToolContext, Arguments], Awaitable[object]] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class InlineTool(Tool, Generic[P, R]):
    """A decorated function."""

    function: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself: no validation, no approval, no record."""
        return self.function(*args, **kwargs)


@overload
def tool(function: Callable[P, R], /) -> InlineTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: NeedsApproval = False,
    timeout: float | timedelta | None = None,
    retries: int | None = None,
    sequential: bool = False,
    schema: Mapping[str, Any] | None = None,
) -> Callable[[Callable[P, R]], InlineTool[P, R]]: ...
def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: NeedsApproval = False,
    timeout: float | timedelta | None = None,
    retries: int | None = None,
    sequential: bool = False,
    schema: Mapping[str, Any] | None = None,
) -> InlineTool[P, R] | Callable[[Callable[P, R]], InlineTool[P, R]]:
    """Declare a function that the model may call.

    Its schema comes from the type hints and the docstring.  A first parameter
    ``ctx: ToolContext`` is not shown to the model.  A plain ``def`` runs in a thread.

    Args:
        function: the function, when the decorator stands bare.
        name: another name than the function's own.
        description: what the model is told instead of the docstring.
        needs_approval: ``True``, a predicate over the validated arguments
            (``lambda call: call.amount > 5000``), or an ``ApprovalPolicy``.
        timeout: bound of one attempt, a duration or seconds.
        retries: how often a failing call is tried again; by default as the agent says.
        sequential: it runs alone among the calls of a turn.
        schema: a JSON Schema of the parameters, instead of type hints.

    Raises:
        DeclarationError: a name, hint or option is wrong; the message says where.
    """
    place = calling_place()
    options = ToolOptions(
        needs_approval=needs_approval,
        timeout=as_duration(timeout),
        retries=retries,
        sequential=sequential,
    )
    options.check(place)

    def declare(function: Callable[P, R]) -> InlineTool[P, R]:
        named = check_tool_name(name or str(getattr(function, "__name__", "")), place)
        try:
            takes_context = _takes_context(function)
            if schema is None:
                parameters = parameters_from_hints(function, skip_first=takes_context)
            else:
                parameters = dataclasses.replace(
                    parameters_from_schema(schema), description=inspect.getdoc(function)
                )
        except SchemaMistake as error:
            raise place.error(f"tool {named!r}: {error}") from error
        return InlineTool(
            name=named,
            parameters=described(parameters, description),
            call=_caller(function, named, takes_context=takes_context),
            options=options,
            place=place,
            function=function,
        )

    return declare if function is None else declare(function)


def described(parameters: Parameters, description: str | None) -> Parameters:
    """Return the parameters with another description, if there is one."""
    if description is None:
        return parameters
    return dataclasses.replace(parameters, description=description)


def as_duration(given: float | timedelta | None) -> timedelta | None:
    """Return a duration that may have been given in seconds."""
    return timedelta(seconds=given) if isinstance(given, int | float) else given


def check_tool_name(name: str, place: Place) -> str:
    """Return ``name``.

    Raises:
        DeclarationError: a provider would refuse it.
    """
    if not _NAME.fullmatch(name):
        raise place.error(
            f"{name!r} cannot name a tool: use up to 64 letters, digits, _ and -, "
            "or give it another with name=..."
        )
    return name


def _caller(
    function: Callable[..., Any], name: str, *, takes_context: bool
) -> Callable[[ToolContext, Arguments], Awaitable[object]]:
    is_async = inspect.iscoroutinefunction(function)

    async def call(ctx: ToolContext, arguments: Arguments) -> object:
        bound = functools.partial(function, *([ctx] if takes_context else []), **arguments)
        if is_async:
            return await bound()
        answer = await off_loop(bound, name)
        return await answer if inspect.isawaitable(answer) else answer

    return call


def _takes_context(function: Callable[..., Any]) -> bool:
    try:
        hints = typing.get_type_hints(function)
    except NameError as error:
        raise SchemaMistake(f"a type hint cannot be resolved: {error}") from error
    first = next(iter(inspect.signature(function).parameters), None)
    asking = [name for name, hint in hints.items() if hint is ToolContext and name != "return"]
    if asking and asking != [first]:
        raise SchemaMistake("the ToolContext has to be the first parameter, and the only one")
    if not asking and first == "ctx":
        raise SchemaMistake("annotate the context: ctx: ToolContext")
    return bool(asking)
