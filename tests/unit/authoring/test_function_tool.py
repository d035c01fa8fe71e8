"""A server function as a tool: shown like an inline one, dispatched as the run's owner."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from app import ActionContext, ToolContext, action, function_tool
from app.authoring.functions import ServerFunction
from app.domain.errors import DeclarationError
from app.domain.identity import Identity


@action
async def charge(ctx: ActionContext, amount: int) -> dict[str, int]:
    """Charge the saved card.

    Args:
        ctx: not for the model.
        amount: cents to charge.
    """
    raise NotImplementedError


@dataclass
class Billing:
    """A catalog of one function, which notes how it is called."""

    calls: list[tuple[str, Mapping[str, Any], Identity, str | None]] = field(default_factory=list)

    def find(self, reference: str) -> ServerFunction[Any, Any] | None:
        return charge if reference == "billing:charge" else None

    def reference_of(self, function: ServerFunction[Any, Any]) -> str | None:
        return "billing:charge" if function is charge else None

    async def dispatch(
        self,
        reference: str,
        arguments: Mapping[str, Any],
        *,
        caller: Identity,
        dedupe: str | None = None,
    ) -> str:
        self.calls.append((reference, arguments, caller, dedupe))
        return "charged"


def a_context(billing: Billing) -> ToolContext:
    return ToolContext(
        run_id="run",
        thread_key="t",
        agent="support",
        owner="u1",
        tool_call_id="c1",
        idempotency_key="run/tool:charge:c1",
        dispatch=billing.dispatch,
    )


@pytest.mark.req("AGT-06")
@pytest.mark.parametrize("named", ["billing:charge", charge], ids=["by-reference", "by-function"])
async def test_a_function_is_offered_and_dispatched_as_the_runs_owner(
    named: str | ServerFunction[Any, Any],
) -> None:
    billing = Billing()

    offered = function_tool(named).bound(billing)
    answer = await offered.call(a_context(billing), offered.parameters.validate('{"amount": 5}'))

    assert (offered.name, offered.description) == ("charge", "Charge the saved card.")
    assert list(offered.parameters.schema["properties"]) == ["amount"]
    assert answer == "charged"
    assert billing.calls == [
        ("billing:charge", {"amount": 5}, Identity("u1"), "run/tool:charge:c1")
    ]


async def test_a_tool_calls_a_function_as_the_runs_owner() -> None:
    billing = Billing()

    await a_context(billing).run("billing:charge", {"amount": 5})

    assert billing.calls == [("billing:charge", {"amount": 5}, Identity("u1"), None)]


def test_a_function_that_does_not_exist_is_refused_with_the_line() -> None:
    with pytest.raises(DeclarationError, match=r"test_function_tool\.py:\d+: .*'billing:refund'"):
        function_tool("billing:refund").bound(Billing())
    with pytest.raises(DeclarationError, match='takes "module:name"'):
        function_tool("charge")


def test_a_mapping_renames_a_function_tool() -> None:
    assert function_tool("billing:charge").renamed("pay").bound(Billing()).name == "pay"
