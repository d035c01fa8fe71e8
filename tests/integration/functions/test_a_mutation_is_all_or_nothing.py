"""What a mutation writes and starts exists exactly if it commits, and is told only then."""

import asyncio

import pytest
from sqlmodel import col, select, text

from app.authoring.contexts import MutationContext, QueryContext
from app.authoring.functions import mutation, query
from app.domain.errors import AgentFault, Conflict, StoreUnavailable
from app.domain.identity import Identity
from tests.integration.functions.conftest import Gateway, Note

ANN = Identity("ann")


@mutation
async def take_down(ctx: MutationContext, body: str, then: str = "commit") -> dict[str, str]:
    ctx.db.add(Note(body=body))
    run = await ctx.agents.support.run(input=body, owner=ctx.auth.user_id, thread_key=body)
    await ctx.db.flush()
    match then:
        case "refuse":
            raise Conflict("changed my mind")
        case "break":
            raise ValueError("broken")
        case "clash":
            ctx.db.add(Note(body=body))
        case _:
            pass
    return {"id": run.id, "key": run.thread_key}


@query
async def noted(ctx: QueryContext) -> list[Note]:
    return list(await ctx.db.exec(select(Note).order_by(col(Note.id))))


@query
async def note_in_a_query(ctx: QueryContext) -> None:
    ctx.db.add(Note(body="sneaky"))
    await ctx.db.flush()


@mutation
async def swap(ctx: MutationContext, first: int, second: int) -> None:
    """Lock two rows one after the other: two of these in opposite order are a deadlock."""
    for number in (first, second):
        statement = text("UPDATE notes SET body = body || '!' WHERE id = :id")
        await ctx.db.exec(statement, params={"id": number})  # type: ignore[call-overload]  # plain SQL
        await asyncio.sleep(0.05)


@pytest.fixture(autouse=True)
def _functions(gateway: Gateway) -> None:
    gateway.backend.registry.add("team", [take_down, noted, note_in_a_query, swap])


@pytest.mark.req("IMP-03", "RUN-01", "AGT-15")
async def test_a_commit_starts_exactly_one_run_and_tells_afterwards(gateway: Gateway) -> None:
    answer = await gateway.backend.functions.call("team:takeDown", {"body": "one"}, caller=ANN)

    assert isinstance(answer, dict)
    assert await gateway.notes() == ["one"]
    assert await gateway.count("agent_runs") == 1
    assert gateway.around.rung == [answer["id"]]
    assert [version for _, version in gateway.around.announced] == [1]


@pytest.mark.req("IMP-03")
@pytest.mark.parametrize(
    ("then", "error"), [("refuse", Conflict), ("break", AgentFault), ("clash", AgentFault)]
)
async def test_a_rollback_starts_nothing_and_pushes_nothing(
    gateway: Gateway, then: str, error: type[Exception]
) -> None:
    args = {"body": "one", "then": then}

    with pytest.raises(error):
        await gateway.backend.functions.call("team:takeDown", args, caller=ANN, dedupe="k")

    assert await gateway.notes() == []
    for table in ("agent_runs", "agent_threads", "agent_messages", "agent_calls"):
        assert await gateway.count(table) == 0
    assert (gateway.around.rung, gateway.around.announced) == ([], [])


async def test_a_query_sees_what_was_committed_and_answers_with_rows(gateway: Gateway) -> None:
    for body in ("one", "two"):
        await gateway.backend.functions.call("team:takeDown", {"body": body}, caller=ANN)

    found = await gateway.backend.functions.call("team:noted", caller=ANN)

    assert found == [{"id": 1, "body": "one"}, {"id": 2, "body": "two"}]


@pytest.mark.req("IMP-01")
async def test_a_query_cannot_write(gateway: Gateway) -> None:
    with pytest.raises((AgentFault, StoreUnavailable)):
        await gateway.backend.functions.call("team:noteInAQuery", caller=ANN)

    assert await gateway.notes() == []


async def test_mutations_that_run_into_one_another_all_take_effect(gateway: Gateway) -> None:
    for body in ("one", "two"):
        await gateway.backend.functions.call("team:takeDown", {"body": body}, caller=ANN)
    orders = [{"first": 1, "second": 2}, {"first": 2, "second": 1}]

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        for args in orders:
            group.create_task(gateway.backend.functions.call("team:swap", args, caller=ANN))

    assert sorted(await gateway.notes()) == ["one!!", "two!!"]


async def test_of_many_starts_on_one_thread_one_wins_and_the_others_hear_which(
    gateway: Gateway,
) -> None:
    async def start(number: int) -> str:
        args = {"agent": "support", "input": f"hi {number}", "key": "busy"}
        try:
            answer = await gateway.backend.functions.call("agents:agentRun", args, caller=ANN)
        except Conflict as conflict:
            return str((conflict.data or {}).get("runId"))
        return str(answer["id"]) if isinstance(answer, dict) else ""

    heard = await asyncio.gather(*(start(number) for number in range(20)))

    assert len(set(heard)) == 1
    assert await gateway.count("agent_runs") == 1
    assert await gateway.count("agent_messages") == 1
