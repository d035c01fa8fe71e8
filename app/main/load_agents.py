"""Loads the team's folder: agents, functions and crons, by import and never by name.

The folder becomes the package ``agents``, wherever it lies and whatever it is called;
every module in it is imported, and what they bind to names is registered.  Whatever
is wrong there ends the start with one sentence that names the file.
"""

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from sqlalchemy.exc import InvalidRequestError

from app.authoring.agent import Agent
from app.authoring.crons import collecting
from app.authoring.function_tool import FunctionTool
from app.authoring.functions import ServerFunction
from app.authoring.registry import agents_in
from app.domain.cron import CronPlan
from app.domain.errors import DeclarationError
from app.functions.cron_plans import cron_plans
from app.functions.registry import FunctionRegistry
from app.main.team_folder import require_folder
from app.main.team_tables import declared_tables, declaring_tables, forget_tables, ours
from app.store.histories import PREFIX

PACKAGE = "agents"
MIGRATIONS = "migrations"
"""A folder of the folder: the history of the team's tables, which is Alembic's to import."""


@dataclass(frozen=True, slots=True)
class Declarations:
    """What a folder declares.  The built-in functions are added to ``functions`` later."""

    agents: Mapping[str, Agent]
    functions: FunctionRegistry
    tables: frozenset[str] = frozenset()
    """Names of the team's tables, as ``SQLModel.metadata`` has them."""
    crons: Sequence[CronPlan] = ()


def load(folder: Path) -> Declarations:
    """Import everything in ``folder`` and return what it declares.

    Loading another folder, or the same one again, forgets what was loaded before.

    Raises:
        Refusal: there is no such folder.
        DeclarationError: something in it is wrong; names the file and the fix.
    """
    require_folder(folder)
    folder = folder.resolve()
    _forget()
    with declaring_tables(PACKAGE, _shown), collecting() as crons:
        modules = [_package(folder), *_submodules(folder)]
    agents, functions = agents_in(modules), _functions_in(modules)
    plans = cron_plans(crons, agents, functions)
    declared = Declarations(agents, functions, declared_tables(), plans)
    _check_function_tools(declared)
    return declared


def _forget() -> None:
    for name in [each for each in sys.modules if each.split(".")[0] == PACKAGE]:
        del sys.modules[name]
    forget_tables()
    importlib.invalidate_caches()


def _package(folder: Path) -> ModuleType:
    first = folder / "__init__.py"
    spec: ModuleSpec | None
    if first.exists():
        spec = importlib.util.spec_from_file_location(
            PACKAGE, first, submodule_search_locations=[str(folder)]
        )
    else:
        spec = ModuleSpec(PACKAGE, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
    if spec is None:
        raise DeclarationError(f"{first} cannot be imported")
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    if spec.loader is not None:
        with _naming(first, folder):
            spec.loader.exec_module(package)
    return package


def _submodules(folder: Path) -> Iterator[ModuleType]:
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        if _is_passed_over(parts):
            continue
        if not all(part.isidentifier() for part in parts):
            raise DeclarationError(
                f"{_shown(file)}: a module's name has letters, digits and _ only; rename the file"
            )
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if parts:
            with _naming(file, folder):
                yield importlib.import_module(".".join((PACKAGE, *parts)))


def _is_passed_over(parts: tuple[str, ...]) -> bool:
    """Whether a file is a test or a migration, or lies in a folder that no program looks into."""
    name = parts[-1]
    return (
        (len(parts) > 1 and parts[0] == MIGRATIONS)
        or name.startswith("test_")
        or name.endswith("_test")
        or name == "conftest"
        or any(part.startswith((".", "__pycache__")) for part in parts)
    )


@contextmanager
def _naming(file: Path, folder: Path) -> Iterator[None]:
    """Turn whatever a module raises while it is imported into one sentence with its line."""
    try:
        yield
    except DeclarationError:
        raise
    except SyntaxError as error:
        where = f"{_shown(Path(error.filename or file))}:{error.lineno}"
        raise DeclarationError(f"{where}: {type(error).__name__}: {error.msg}") from error
    except KeyboardInterrupt:  # somebody does not want to wait
        raise
    except BaseException as error:
        where = str(_shown(file))
        for frame in traceback.extract_tb(error.__traceback__):
            if Path(frame.filename).is_relative_to(folder):
                where = f"{_shown(Path(frame.filename))}:{frame.lineno}"
        raise DeclarationError(f"{where}: {_said(error)}") from error


def _said(error: BaseException) -> str:
    """Return what is wrong: of a table that we have, too, SQLAlchemy gives the wrong advice."""
    clash = re.match(rf"Table '({PREFIX}\w*)' is already defined", str(error))
    if clash and isinstance(error, InvalidRequestError):
        return ours(clash[1])
    return f"{type(error).__name__}: {error}"


def _functions_in(modules: list[ModuleType]) -> FunctionRegistry:
    registry = FunctionRegistry()
    for module in modules:
        own = {
            id(value): value
            for value in vars(module).values()
            if isinstance(value, ServerFunction) and value.place.module == module.__name__
        }
        _, _, relative = module.__name__.partition(".")
        if own and not relative:
            place = next(iter(own.values())).place
            raise place.error("functions are called as module:name; move this one into a module")
        registry.add(relative, own.values())
    return registry


def _check_function_tools(declared: Declarations) -> None:
    for agent in declared.agents.values():
        for tool in agent.tools.values():
            if isinstance(tool, FunctionTool):
                tool.bound(declared.functions)


def _shown(file: Path) -> Path:
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file
