"""Functions are found by reference, in both spellings of their names."""

import pytest

from app.authoring.contexts import ActionContext, MutationContext, QueryContext
from app.authoring.functions import FunctionKind, action, mutation, query
from app.domain.errors import DeclarationError
from app.functions.registry import FunctionRegistry


@mutation
async def start_run(ctx: MutationContext, input: str) -> str:  # noqa: A002
    return input


@query(internal=True, name="secret_list")
async def hidden(ctx: QueryContext) -> list[str]:
    return []


def a_registry() -> FunctionRegistry:
    registry = FunctionRegistry()
    registry.add("chat", [start_run, hidden])
    return registry


@pytest.mark.req("IMP-01", "AGT-15")
@pytest.mark.parametrize("ref", ["chat:start_run", "chat:startRun"])
def test_a_reference_resolves_in_both_spellings(ref: str) -> None:
    found = a_registry().lookup(ref)

    assert found is not None
    assert found.ref == "chat:startRun"
    assert found.function is start_run


@pytest.mark.parametrize("ref", ["chat:start", "chats:startRun", "chat:START_RUN", "startRun", ""])
def test_anything_else_resolves_to_nothing(ref: str) -> None:
    assert a_registry().lookup(ref) is None


def test_options_of_the_decorator_hold() -> None:
    found = a_registry().lookup("chat:secretList")

    assert found is not None
    assert found.function.internal
    assert found.function.kind is FunctionKind.QUERY


def test_a_decorated_function_can_still_be_called_as_it_is() -> None:
    assert start_run.__doc__ is None
    assert start_run.name == "start_run"


def test_the_catalog_knows_declarations_by_reference_and_back() -> None:
    registry = a_registry()

    assert registry.find("chat:start_run") is start_run
    assert registry.reference_of(hidden) == "chat:secretList"


def test_two_functions_under_one_reference_are_refused_where_they_stand() -> None:
    @query(name="startRun")
    async def other(ctx: QueryContext) -> None: ...

    registry = a_registry()

    with pytest.raises(DeclarationError, match=r"chat:startRun is declared at .*test_registry"):
        registry.add("chat", [other])


def test_the_module_name_of_the_built_ins_is_taken() -> None:
    with pytest.raises(DeclarationError, match="rename the file"):
        FunctionRegistry().add("agents", [start_run])


def test_a_function_that_is_not_async_is_refused_where_it_stands() -> None:
    with pytest.raises(DeclarationError, match=r"test_registry.py:\d+: blocking: .*async def"):

        @action  # type: ignore[arg-type]  # the point of the test
        def blocking(ctx: ActionContext) -> None: ...


def test_a_name_that_no_reference_can_hold_is_refused() -> None:
    with pytest.raises(DeclarationError, match="cannot name a function"):

        @query(name="a-b")
        async def dashed(ctx: QueryContext) -> None: ...
