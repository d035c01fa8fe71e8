"""What operators say over agents is answered as declared, live, and counts for the next run."""

from collections.abc import AsyncIterator

import pytest
from pydantic import TypeAdapter

from app.domain.errors import Conflict, Forbidden
from app.domain.identity import ADMIN, Identity
from app.domain.storable import Json
from app.domain.tables import AUDIT, GOVERNANCE, OVERRIDES, THREADS, Keys, TableWrite
from app.functions.compose import compose_functions
from app.functions.dispatch import Functions
from app.functions.registry import FunctionRegistry
from app.protocol.admin import AuditRow, GovernanceView, OverrideView, RunDetail
from app.store.admin_reads import PostgresAdminReader
from app.store.overrides import PostgresOverrides
from tests.integration.functions.conftest import Gateway
from tests.support.store_world import StoreWorld, postgres_world

pytestmark = pytest.mark.req("ADM-02", "IMP-17")

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


async def overrides(functions: Functions) -> OverrideView:
    return OverrideView.model_validate(await ask(functions, "adminOverrides", agent="support"))


async def test_overrides_are_shown_as_declared(functions: Functions) -> None:
    nothing = await overrides(functions)
    content: Json = {"instructions": "Be kind.", "model": "demo:", "autonomy": "always_ask"}
    await ask(functions, "adminSaveDraft", agent="support", content=content)
    drafted = await overrides(functions)
    await ask(functions, "adminPublish", agent="support", note="kinder")
    published = await overrides(functions)

    assert (nothing.version, nothing.draft, nothing.versions) == (None, None, ())
    assert nothing.in_force.model_dump(exclude_none=True) == {}
    assert drafted.draft is not None
    assert (drafted.draft.version, drafted.draft.author) == (None, "root")
    assert published.in_force.model_dump(by_alias=True) == content
    assert [(each.version, each.note) for each in published.versions] == [(1, "kinder")]
    assert [(each.action, each.actor) for each in published.audit] == [("published", "root")]


async def test_governance_and_audit_are_shown_as_declared(functions: Functions) -> None:
    await ask(functions, "adminSetGovernance", agent="desk", use=["ann"], approve=None)
    await ask(functions, "adminSetModels", models=["demo:"])

    governance = GovernanceView.model_validate(await ask(functions, "adminGovernance"))
    audit = TypeAdapter(list[AuditRow]).validate_python(await ask(functions, "adminAudit"))

    assert {each.agent: each.use for each in governance.agents} == {
        "support": None,
        "desk": ("ann",),
        "inner": None,
    }
    assert governance.models == ("demo:",)
    assert [(each.agent, each.action) for each in audit] == [(None, "models"), ("desk", "lists")]


@pytest.mark.parametrize(
    ("name", "args", "tables"),
    [
        ("adminOverrides", {"agent": "support"}, {OVERRIDES, GOVERNANCE, AUDIT}),
        ("adminGovernance", {}, {GOVERNANCE, OVERRIDES}),
        ("adminAudit", {}, {AUDIT}),
        ("agentApprovals", {}, {THREADS, GOVERNANCE}),
    ],
)
async def test_whoever_watches_hears_of_what_it_answers_from(
    functions: Functions, name: str, args: dict[str, Json], tables: set[str]
) -> None:
    reads: dict[str, Keys] = {}

    await functions.read(f"agents:{name}", args, caller=ROOT, reads=reads)

    assert reads == dict.fromkeys(tables)


async def test_what_is_changed_is_announced_once_it_is_there(
    functions: Functions, gateway: Gateway
) -> None:
    await ask(functions, "adminSaveDraft", agent="support", content={"maxTurns": 2})
    await ask(functions, "adminPublish", agent="support")

    assert gateway.around.written == [
        {OVERRIDES: TableWrite(1, None)},
        {OVERRIDES: TableWrite(2, None), AUDIT: TableWrite(1, None)},
    ]


async def test_a_repeated_publish_under_its_key_publishes_once(functions: Functions) -> None:
    await ask(functions, "adminSaveDraft", agent="support", content={"maxTurns": 2})
    answers = [
        await functions.call(
            "agents:adminPublish", {"agent": "support"}, caller=ROOT, dedupe="click"
        )
        for _ in range(2)
    ]

    assert answers == [{"version": 1}] * 2
    assert len((await overrides(functions)).versions) == 1
    with pytest.raises(Conflict):
        await ask(functions, "adminRestore", agent="support", version=1)


@pytest.mark.req("ADM-03")
async def test_a_prompt_goes_by_what_was_published_before_it(
    functions: Functions, world: StoreWorld
) -> None:
    first = await ask(functions, "agentRun", ANN, agent="desk", input="hello")
    await ask(functions, "adminSaveDraft", agent="desk", content={"maxTurns": 2})
    await ask(functions, "adminPublish", agent="desk")
    second = await ask(functions, "agentRun", ANN, agent="desk", input="hello")

    assert isinstance(first, dict)
    assert isinstance(second, dict)
    runs = [await world.run(str(each["id"])) for each in (first, second)]
    shown = RunDetail.model_validate(await ask(functions, "adminRun", runId=str(second["id"])))
    assert [run.override for run in runs] == [None, 1]
    assert shown.run.override == 1


async def test_a_list_counts_for_the_next_prompt(functions: Functions) -> None:
    await ask(functions, "agentRun", ANN, agent="desk", input="hello")
    await ask(functions, "adminSetGovernance", agent="desk", use=["bob"], approve=None)

    with pytest.raises(Forbidden):
        await ask(functions, "agentRun", ANN, agent="desk", input="hello")
