"""The admin functions answer what their protocol declares, to admins alone, and live."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import TypeAdapter

from app.domain.approval import Decision
from app.domain.errors import Forbidden, InvalidArgument
from app.domain.identity import ADMIN, ANONYMOUS, Identity
from app.domain.run import Ending
from app.domain.storable import Json
from app.domain.tables import GOVERNANCE, THREADS, Keys
from app.functions.compose import compose_functions
from app.functions.dispatch import Functions
from app.functions.registry import FunctionRegistry
from app.protocol.admin import AgentDetail, RunDetail, RunPage, SystemView, ThreadPage
from app.store.admin_reads import PostgresAdminReader
from tests.integration.functions.conftest import Gateway
from tests.integration.functions.test_a_branch_leaves_everything_as_it_was import KEY, call
from tests.integration.functions.test_a_branch_leaves_everything_as_it_was import ask as say
from tests.support.deciding import decide
from tests.support.store_world import StoreWorld, a_result, an_answer, postgres_world

pytestmark = pytest.mark.req("IMP-16", "ADM-10")

_AGE = "UPDATE agent_runs SET created_at = created_at - interval '3 days' WHERE id = $1"
ROOT, ANN = Identity("root", frozenset({ADMIN})), Identity("ann")


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[StoreWorld]:
    async with postgres_world(database_url) as made:
        yield made


@pytest.fixture
def functions(gateway: Gateway) -> Functions:
    backend = gateway.backend
    return compose_functions(
        FunctionRegistry(),
        backend.agents,
        transactions=backend.transactions,
        runs=backend.functions._runs,
        metrics=backend.metrics,
        admin=PostgresAdminReader(gateway.database),
        version="1.2.3",
    )


async def ask(functions: Functions, name: str, **args: Json) -> Json:
    return await functions.call(f"agents:{name}", args, caller=ROOT)


@pytest.mark.parametrize(
    "name", ["adminRuns", "adminRun", "adminThreads", "adminAgents", "adminSystem"]
)
@pytest.mark.parametrize("caller", [ANN, ANONYMOUS], ids=str)
async def test_only_admins_are_answered(functions: Functions, name: str, caller: Identity) -> None:
    args: dict[str, Json] = {"runId": "r"} if name == "adminRun" else {}

    with pytest.raises(Forbidden, match="for admins"):
        await functions.call(f"agents:{name}", args, caller=caller)


async def test_a_run_is_shown_with_its_steps_and_decisions(
    functions: Functions, world: StoreWorld
) -> None:
    claimed = await world.drive(owner="ann")
    await world.ask(claimed, "c1", "c2", gated=["c2"])
    await world.store.record(claimed.fence, a_result(claimed.fence, 0, 0, "c1"))
    await world.park(claimed, "c2")
    await decide(world.store, claimed.thread.id, "c2", Decision.DENIED, ANN, "no")
    child = await world.spawn(await world.claim(claimed.run.agent, "w2"), "c9")

    found = RunDetail.model_validate(await ask(functions, "adminRun", runId=claimed.run.id))
    below = RunDetail.model_validate(await ask(functions, "adminRun", runId=child.run.id))

    assert [step.kind for step in found.steps] == ["llm", "tool", "approval"]
    assert [each.id for each in found.children] == [child.run.id]
    assert [(each.status, each.decided_by) for each in found.approvals] == [("denied", "ann")]
    assert [row["role"] for row in found.messages] == ["user", "assistant", "tool", "tool"]
    assert (below.run.parent_run_id, below.run.parent_key) == (claimed.run.id, claimed.thread.key)
    assert await ask(functions, "adminRun", runId="no-such-run") is None


async def test_a_run_late_in_a_long_conversation_is_shown_with_its_own_messages_and_cost(
    functions: Functions, world: StoreWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.functions.builtin_admin._MESSAGES", 3)

    async def answered(text: str) -> str:
        claimed = await world.drive(thread_key="long", owner="ann")
        answer = an_answer(claimed.fence, 0, text)
        priced = replace(answer.writes.messages[0], model_name="gpt-4o")
        writes = replace(answer.writes, messages=(priced,))
        await world.store.record(claimed.fence, replace(answer, writes=writes))
        await world.store.finish(claimed.fence, Ending.completed("final"), None)
        return claimed.run.id

    _, last = await answered("one"), await answered("two")

    found = RunDetail.model_validate(await ask(functions, "adminRun", runId=last))

    question, said = found.messages
    assert (question["role"], said["text"]) == ("user", "two")
    assert found.costs[said["id"]] > 0


async def test_a_run_early_in_a_long_conversation_is_shown_with_its_own_decisions(
    functions: Functions, world: StoreWorld
) -> None:
    async def asked(*calls: str) -> str:
        claimed = await world.drive(thread_key="long", owner="ann")
        await world.ask(claimed, *calls, gated=calls)
        await world.store.finish(claimed.fence, Ending.failed("X", "broke"), None)
        return claimed.run.id

    first = await asked("c1", "c2")
    await asked(*(f"later{place}" for place in range(250)))

    found = RunDetail.model_validate(await ask(functions, "adminRun", runId=first))

    assert [each.tool_call_id for each in found.approvals] == ["c1", "c2"]


async def test_a_conversation_is_listed_with_its_branches_runs_and_the_status_of_the_one_on_show(
    functions: Functions, gateway: Gateway
) -> None:
    await say(gateway, "one")
    branch = await call(gateway, "agentRegenerate", key=KEY)

    all_runs = RunPage.model_validate(await ask(functions, "adminRuns", key=KEY))
    its_runs = RunPage.model_validate(await ask(functions, "adminRuns", key=branch["key"]))
    listed = ThreadPage.model_validate(await ask(functions, "adminThreads"))
    queued = ThreadPage.model_validate(await ask(functions, "adminThreads", status="queued"))
    ended = ThreadPage.model_validate(await ask(functions, "adminThreads", status="completed"))

    assert [(each.key, each.status) for each in listed.threads] == [(KEY, "queued")]
    assert [each.key for each in queued.threads] == [KEY]
    assert not ended.threads
    assert [each.key for each in all_runs.runs] == [branch["key"], KEY]
    assert all_runs.counts == {"queued": 1, "completed": 1}
    assert [each.id for each in its_runs.runs] == [branch["id"]]


async def test_runs_are_listed_by_page_and_filter(functions: Functions, world: StoreWorld) -> None:
    runs = [await world.drive(owner=owner) for owner in ("ann", "ann", "bob")]
    await world.store.finish(runs[0].fence, Ending.failed("X", "broke"), None)

    first = RunPage.model_validate(await ask(functions, "adminRuns", owner="ann", limit=1))
    second = RunPage.model_validate(
        await ask(functions, "adminRuns", owner="ann", limit=1, before=first.next)
    )
    failed = RunPage.model_validate(
        await ask(functions, "adminRuns", key=runs[0].thread.key, status="failed")
    )

    assert [each.id for each in (*first.runs, *second.runs)] == [runs[1].run.id, runs[0].run.id]
    assert first.counts["failed"] >= 1
    assert failed.runs[0].error is not None
    assert failed.runs[0].error.message == "broke"


async def test_runs_are_listed_by_when_they_began_and_what_they_used(
    functions: Functions, gateway: Gateway, world: StoreWorld
) -> None:
    old, cheap, dear = [await world.drive(owner="tess") for _ in range(3)]
    used = '{"inputTokens": 900, "outputTokens": 100}'
    for statement, *given in (
        (_AGE, old.run.id),
        ("UPDATE agent_runs SET usage = $2::text::json WHERE id = $1", dear.run.id, used),
    ):
        await gateway.database.fetch(statement, *given)

    async def found(**args: Json) -> set[str]:
        page = RunPage.model_validate(await ask(functions, "adminRuns", owner="tess", **args))
        assert sum(page.counts.values()) == len(page.runs)
        return {each.id for each in page.runs}

    middle = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    assert await found(withinS=3600) == {cheap.run.id, dear.run.id}
    assert await found(since=middle) == {cheap.run.id, dear.run.id}
    assert await found(until=middle) == {old.run.id}
    assert await found(minTokens=1000) == {dear.run.id}
    assert await found(minTokens=1001) == set()
    with pytest.raises(InvalidArgument, match="since"):
        await found(since="2026-11-01T00:00:00")


async def test_a_runs_approvals_say_whether_the_caller_may_decide(
    functions: Functions, world: StoreWorld
) -> None:
    claimed = await world.drive(owner="ann")
    await world.ask(claimed, "c1", gated=["c1"])
    await world.park(claimed, "c1")

    found = RunDetail.model_validate(await ask(functions, "adminRun", runId=claimed.run.id))
    await decide(world.store, claimed.thread.id, "c1", Decision.APPROVED, ROOT)
    decided = RunDetail.model_validate(await ask(functions, "adminRun", runId=claimed.run.id))

    assert [each.may_decide for each in found.approvals] == [True]
    assert [each.may_decide for each in decided.approvals] == [False]


async def test_threads_are_found_by_what_people_remember(
    functions: Functions, world: StoreWorld
) -> None:
    claimed = await world.drive(owner="dora@example.com")

    page = ThreadPage.model_validate(await ask(functions, "adminThreads", search="DORA@"))

    assert [each.key for each in page.threads] == [claimed.thread.key]


async def test_agents_and_system_are_what_is_declared(
    functions: Functions, world: StoreWorld
) -> None:
    claimed = await world.drive()
    await world.drive()
    await world.store.take_over("worker-1", (await world.store.beats())["worker-1"])
    await world.claim(claimed.run.agent)
    agents = TypeAdapter(list[AgentDetail]).validate_python(await ask(functions, "adminAgents"))
    system = SystemView.model_validate(await ask(functions, "adminSystem"))

    assert {each.slug for each in agents} == {"support", "desk", "inner"}
    assert (len(system.minutes), system.version) == (60, "1.2.3")
    assert system.minutes[-1].started + system.minutes[-2].started >= 1
    assert system.minutes[-1].recovered + system.minutes[-2].recovered == 2
    assert system.unfinished["running"] >= 1


async def test_whoever_watches_hears_of_every_thread(functions: Functions) -> None:
    reads: dict[str, Keys] = {}

    await functions.read("agents:adminRuns", {}, caller=ROOT, reads=reads)

    assert reads == {THREADS: None, GOVERNANCE: None}
