"""A forbidden contract that may name packages which do not exist yet.

The contracts in pyproject.toml list every package that has a place in the layers, so that one added
later is bound from its first line; import-linter's own contract refuses names that it cannot find.
"""

from typing import Any

from grimp import ImportGraph
from importlinter import ContractCheck
from importlinter.contracts.forbidden import ForbiddenContract


class ForbiddenWherePresent(ForbiddenContract):
    """Forbid the imports among those of the named packages that exist."""

    type_name = "forbidden_where_present"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001  # the library's signature
        """Drop what is absent, then check as import-linter does."""
        self.source_modules = _present(graph, self.source_modules)
        self.forbidden_modules = _present(graph, self.forbidden_modules)
        return super().check(graph, verbose)


def _present(graph: ImportGraph, modules: Any) -> Any:  # noqa: ANN401  # a field there, a set in use
    return {each for each in modules if each.expression in graph.modules}
