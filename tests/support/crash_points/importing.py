"""Rewrites the modules of the durable path while they are imported; all others stay as they are.

Nothing is read from or written to ``__pycache__``: the bytecode there is the product's.
"""

import importlib
import pkgutil
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from tests.support.crash_points import points
from tests.support.crash_points.rewriting import RUNTIME, rewritten

PACKAGES = ("engine", "loop", "store", "journal", "queue", "keyspace")
"""Of ``app``: whole packages, so that a new module is among them without a word here."""
MODULES = ("app.fanout.announcer", "app.fanout.tokens", "app.fanout.aborts")


def is_crashing(module: str) -> bool:
    """Whether this module's awaits are points."""
    parts = module.split(".")
    return module in MODULES or (parts[0] == "app" and len(parts) > 1 and parts[1] in PACKAGES)


class CrashingLoader(SourceFileLoader):
    """Loads a module with its awaits named."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the rewritten code, compiled anew."""
        source = self.get_data(self.path).decode()
        return compile(rewritten(source, fullname, self.path), self.path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        """Hand the module its runtime, then execute it."""
        module.__dict__[RUNTIME] = points
        super().exec_module(module)


class CrashingFinder(MetaPathFinder):
    """Finds the modules whose awaits are points."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See ``MetaPathFinder.find_spec``."""
        if not is_crashing(fullname):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = CrashingLoader(fullname, spec.loader.path)
        return spec


def install() -> None:
    """Rewrite from now on; call it before anything of ``app`` is imported."""
    early = sorted(name for name in sys.modules if is_crashing(name))
    if early:
        raise RuntimeError(f"imported before they could be rewritten: {early}")
    sys.meta_path.insert(0, CrashingFinder())


def import_all() -> None:
    """Import every module that has points, used or not: the list must be whole."""
    for package in PACKAGES:
        found = importlib.import_module(f"app.{package}")
        for module in pkgutil.walk_packages(found.__path__, f"app.{package}."):
            importlib.import_module(module.name)
    for name in MODULES:
        importlib.import_module(name)
