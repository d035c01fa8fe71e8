"""Calls of server functions that are due later: what may be scheduled, and by whom it is called."""

from collections.abc import Mapping

from pydantic_core import PydanticSerializationError, to_jsonable_python

from app.authoring.functions import FunctionKind
from app.authoring.scheduler import FunctionReference
from app.domain.errors import InvalidArgument, NotFound
from app.domain.identity import Identity
from app.domain.scheduled import CallTarget
from app.domain.storable import encode
from app.functions.registry import FunctionRegistry, Registered
from app.threads.limits import MAX_PAYLOAD


def call_target(
    functions: FunctionRegistry,
    function: FunctionReference,
    arguments: Mapping[str, object],
    caller: Identity,
) -> CallTarget:
    """Return a call that can be stored and made later, by somebody else.

    Args:
        functions: all there are.
        function: the declaration, or a reference to it.
        arguments: by name.
        caller: whom the function will see; what a key of his may use does not matter, since
            this is server code.

    Raises:
        NotFound: there is no such function.
        InvalidArgument: it is a query, or it does not take these arguments.
    """
    found = _found(functions, function)
    if found.function.kind is FunctionKind.QUERY:
        raise InvalidArgument(
            f"{found.ref} is a query: nobody would see what it answers; schedule a mutation or "
            "an action"
        )
    found.signature.take(arguments)
    try:
        text = encode(to_jsonable_python(arguments, by_alias=True, inf_nan_mode="null"))
    except (TypeError, PydanticSerializationError) as error:
        raise InvalidArgument(f"arguments: {error}") from None
    if len(text) > MAX_PAYLOAD:
        raise InvalidArgument(f"arguments have at most {MAX_PAYLOAD} characters of JSON")
    return CallTarget(found.ref, text, Identity(caller.user_id, caller.roles))


def _found(functions: FunctionRegistry, function: FunctionReference) -> Registered:
    ref = function if isinstance(function, str) else functions.reference_of(function)
    found = None if ref is None else functions.lookup(ref)
    if found is None:
        name = function if isinstance(function, str) else function.name
        raise NotFound(
            f"there is no function {name!r}; declare it in a module under agents/ with "
            "@mutation or @action"
        )
    return found
