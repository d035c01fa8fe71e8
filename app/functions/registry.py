"""Every function that can be reached by reference, in both spellings of its name.

``module:name``; the module is relative to the agents package, and ``agents`` is the
product's own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_camel

from app.authoring.contexts import ActionContext, MutationContext, QueryContext
from app.authoring.functions import FunctionKind, ServerFunction
from app.functions.validation import Signature

BUILT_IN_MODULE = "agents"

_CONTEXTS: Mapping[FunctionKind, type[object]] = {
    FunctionKind.QUERY: QueryContext,
    FunctionKind.MUTATION: MutationContext,
    FunctionKind.ACTION: ActionContext,
}


@dataclass(frozen=True, slots=True)
class Registered:
    """A function that can be called by ``ref``, which is spelled as on the wire."""

    ref: str
    function: ServerFunction[..., Any]
    signature: Signature


class FunctionRegistry:
    """Resolves references.  Built once, at start; a wrong declaration ends the start."""

    def __init__(self) -> None:
        self._by_ref: dict[str, Registered] = {}
        self._all: list[Registered] = []

    def add(self, module: str, functions: Iterable[ServerFunction[..., Any]]) -> None:
        """Register the functions of a module of the team's.

        Raises:
            DeclarationError: two functions answer to one reference, the module's name is
                taken, or a signature cannot be called.
        """
        for function in functions:
            if module == BUILT_IN_MODULE:
                raise function.place.error(
                    f"the module name {module!r} belongs to the built-in functions; rename the file"
                )
            self._register(module, function)

    def add_built_ins(self, functions: Iterable[ServerFunction[..., Any]]) -> None:
        """Register the product's own functions."""
        for function in functions:
            self._register(BUILT_IN_MODULE, function)

    def lookup(self, ref: str) -> Registered | None:
        """Return the function that ``ref`` names, in either spelling, with all about it."""
        return self._by_ref.get(ref)

    def find(self, reference: str) -> ServerFunction[..., Any] | None:
        """Return the declaration that a reference names (``FunctionCatalog``)."""
        found = self._by_ref.get(reference)
        return None if found is None else found.function

    def reference_of(self, function: ServerFunction[..., Any]) -> str | None:
        """Return the reference of a declaration (``FunctionCatalog``)."""
        refs = (each.ref for each in self._all if each.function is function)
        return next(refs, None)

    def all(self) -> list[Registered]:
        """Return every function, in the order they were registered."""
        return list(self._all)

    def _register(self, module: str, function: ServerFunction[..., Any]) -> None:
        registered = Registered(
            f"{module}:{to_camel(function.name)}",
            function,
            Signature(function, _CONTEXTS[function.kind]),
        )
        for ref in {registered.ref, f"{module}:{function.name}"}:
            other = self._by_ref.setdefault(ref, registered)
            if other is not registered:
                raise function.place.error(
                    f"{ref} is declared at {other.function.place} as well; rename one"
                )
        self._all.append(registered)
