"""``function_tool``: a server function that the model may call.

The function keeps its own checks: it is dispatched with the run's owner as
caller (R23), and a mutation takes effect once however often its step is tried.
"""

import dataclasses
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from pydantic_core import to_jsonable_python

from app.authoring.approval_policy import NeedsApproval
from app.authoring.functions import ServerFunction
from app.authoring.place import Place, calling_place
from app.authoring.tool_context import ToolContext
from app.authoring.tool_schema import Arguments, SchemaMistake, parameters_from_hints
from app.authoring.tools import (
    Tool,
    ToolOptions,
    as_duration,
    check_tool_name,
    described,
)


class FunctionCatalog(Protocol):
    """The server functions that were loaded."""

    def find(self, reference: str) -> ServerFunction[Any, Any] | None:
        """Return the function at ``module:name``, in either spelling."""
        ...

    def reference_of(self, function: ServerFunction[Any, Any]) -> str | None:
        """Return the reference under which a declared function is reached."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionTool:
    """A server function as a tool; ``bound`` makes a tool of it once all functions are known."""

    function: str | ServerFunction[Any, Any]
    name: str
    description: str | None
    options: ToolOptions
    place: Place

    def renamed(self, name: str) -> "FunctionTool":
        """Return the same tool under another name."""
        return dataclasses.replace(self, name=check_tool_name(name, self.place))

    def bound(self, catalog: FunctionCatalog) -> Tool:
        """Return the tool.

        Raises:
            DeclarationError: there is no such function, or it cannot be shown to a model.
        """
        reference, function = self._looked_up(catalog)
        if reference is None or function is None:
            raise self.place.error(
                f"function_tool: there is no server function {self.function!r}; declare it in "
                "a module under agents/ with @query, @mutation or @action"
            )
        try:
            parameters = parameters_from_hints(function.body, skip_first=True)
        except SchemaMistake as error:
            raise self.place.error(f"function_tool {reference!r}: {error}") from error
        return Tool(
            name=self.name,
            parameters=described(parameters, self.description),
            call=_Dispatched(reference),
            options=self.options,
            place=self.place,
        )

    def _looked_up(
        self, catalog: FunctionCatalog
    ) -> tuple[str | None, ServerFunction[Any, Any] | None]:
        if isinstance(self.function, str):
            return self.function, catalog.find(self.function)
        return catalog.reference_of(self.function), self.function


@dataclass(frozen=True, slots=True)
class _Dispatched:
    reference: str

    async def __call__(self, ctx: ToolContext, arguments: Arguments) -> object:
        return await ctx.dispatch(
            self.reference,
            to_jsonable_python(arguments),
            caller=ctx.auth,
            dedupe=ctx.idempotency_key,
        )


def function_tool(
    function_path: str | ServerFunction[Any, Any],
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: NeedsApproval = False,
    timeout: float | timedelta | None = None,
    retries: int | None = None,
    sequential: bool = False,
) -> FunctionTool:
    """Offer a server function to the model.

    Args:
        function_path: ``"module:name"``, or the decorated function itself.
        name: what the model calls it; by default the function's own name.
        description: what the model is told instead of the function's docstring.
        needs_approval: ``True``, a predicate over the validated arguments, or an
            ``ApprovalPolicy``.
        timeout: bound of one attempt, a duration or seconds.
        retries: how often a failing call is tried again; by default as the agent says.
        sequential: it runs alone among the calls of a turn.

    Raises:
        DeclarationError: the reference has another form, or an option is wrong.
    """
    place = calling_place()
    options = ToolOptions(
        needs_approval=needs_approval,
        timeout=as_duration(timeout),
        retries=retries,
        sequential=sequential,
    )
    options.check(place)
    if isinstance(function_path, str):
        module, colon, own_name = function_path.partition(":")
        if not (module and colon and own_name):
            raise place.error(f'function_tool takes "module:name", got {function_path!r}')
    else:
        own_name = function_path.name
    return FunctionTool(
        function=function_path,
        name=check_tool_name(name or own_name, place),
        description=description,
        options=options,
        place=place,
    )
