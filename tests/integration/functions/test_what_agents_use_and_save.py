"""What agents use is summed up by day and model; hours saved follow what an operator says."""

from collections.abc import AsyncIterator

import pytest
from pydantic import TypeAdapter

from app.domain.errors import Forbidden, InvalidArgument
from app.domain.identity import ADMIN, Identity
from app.domain.run import Ending
from app.domain.storable import Json
from app.functions.compose import compose_functions
from app.functions.dispatch import Functions
from app.functions.registry import FunctionRegistry
from app.protocol.admin import AgentSpend, AuditRow, GovernanceView, SpendView
from app.store.admin_reads import PostgresAdminReader
from app.store.overrides import PostgresOverrides
from tests.integration.functions.conftest import Gateway
from tests.support.store_world import StoreWorld, postgres_world

pytestmark = pytest.mark.req("IMP-17")

ROOT, ANN = Identity("root", frozenset({ADMIN})), Identity("ann")


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[StoreWorld]:
    async with postgres_world(database_url) as made:
        yield made


@pytest.fixture
def functions(gateway: Gateway) -> Functions:
    backend, around = gateway.backend, gateway.around
    return compose_functions(
        FunctionRegistry(),
        backend.agents,
        transactions=backend.transactions,
        runs=backend.functions._runs,
        metrics=backend.metrics,
        admin=PostgresAdminReader(gateway.database),
        overrides=PostgresOverrides(gateway.database, around.announce_writes),
    )


async def ask(functions: Functions, name: str, by: Identity = ROOT, **args: Json) -> Json:
    return await functions.call(f"agents:{name}", args, caller=by)


async def spent_by(functions: Functions, agent: str) -> AgentSpend:
    view = SpendView.model_validate(await ask(functions, "adminSpend"))
    return next(each for each in view.agents if each.agent == agent)


async def test_tokens_are_summed_by_day_and_priced_by_the_model_that_answered(
    functions: Functions, gateway: Gateway, world: StoreWorld
) -> None:
    claimed = await world.drive()
    agent = claimed.run.agent
    await world.ask(claimed, "c1")
    unpriced = await spent_by(functions, agent)
    used = '{"inputTokens": 1000000, "outputTokens": 100000}'
    for statement in (
        "UPDATE agent_runs SET usage = $2::text::json WHERE id = $1",
        """UPDATE agent_messages SET usage = $2::text::json, model_name = 'gpt-5'
            WHERE run = $1 AND role = 'assistant'""",
    ):
        await gateway.database.fetch(statement, claimed.run.id, used)
    priced = await spent_by(functions, agent)

    assert [(each.runs, each.completed) for each in unpriced.days] == [(1, 0)]
    assert (unpriced.input_tokens, unpriced.cost_usd) == (0, None)
    assert (priced.input_tokens, priced.output_tokens) == (1_000_000, 100_000)
    assert priced.cost_usd == pytest.approx(1.25 + 1.0)
    assert (priced.days[0].cost_usd, priced.unpriced) == (priced.cost_usd, ())


async def test_hours_saved_are_completed_runs_times_minutes_by_hand(
    functions: Functions, world: StoreWorld
) -> None:
    await ask(functions, "adminSetMinutes", agent="support", minutes=7.5)
    for _ in range(4):
        await world.start(agent="support")
        claimed = await world.claim("support")
        await world.store.finish(claimed.fence, Ending.completed("final"), None)

    support = await spent_by(functions, "support")
    desk = await spent_by(functions, "desk")
    governance = GovernanceView.model_validate(await ask(functions, "adminGovernance"))
    audit = TypeAdapter(list[AuditRow]).validate_python(
        await ask(functions, "adminAudit", agent="support")
    )

    assert (support.manual_minutes, desk.hours_saved) == (7.5, None)
    assert support.hours_saved == support.completed * 7.5 / 60
    assert support.completed >= 4
    assert {each.agent: each.manual_minutes for each in governance.agents}["support"] == 7.5
    assert (audit[0].action, audit[0].detail) == ("minutes", {"before": None, "after": 7.5})


async def test_lists_keep_the_minutes_and_minutes_the_lists(functions: Functions) -> None:
    await ask(functions, "adminSetGovernance", agent="desk", use=["ann"], approve=None)
    await ask(functions, "adminSetMinutes", agent="desk", minutes=2)
    await ask(functions, "adminSetGovernance", agent="desk", use=["ann", "bob"], approve=[])
    view = GovernanceView.model_validate(await ask(functions, "adminGovernance"))
    desk = next(each for each in view.agents if each.agent == "desk")

    assert (desk.use, desk.approve, desk.manual_minutes) == (("ann", "bob"), (), 2)


@pytest.mark.parametrize("minutes", [0, -1, float("inf")])
async def test_minutes_are_a_length_of_time(functions: Functions, minutes: float) -> None:
    with pytest.raises(InvalidArgument, match="minutes"):
        await ask(functions, "adminSetMinutes", agent="desk", minutes=minutes)


async def test_who_manages_nothing_sees_no_spend_and_sets_no_minutes(functions: Functions) -> None:
    with pytest.raises(Forbidden):
        await ask(functions, "adminSpend", by=ANN)
    with pytest.raises(Forbidden):
        await ask(functions, "adminSetMinutes", by=ANN, agent="desk", minutes=1)
