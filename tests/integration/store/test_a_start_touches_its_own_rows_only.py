"""A start on one of several linked threads leaves every row of the others as it was."""

import pytest

from app.domain.ports import OnBusy
from app.domain.signal import SignalMode
from app.domain.storable import encode
from tests.integration.store.rival import Rival
from tests.support.store_world import StoreWorld, a_signal

_TABLES = {
    "agent_threads": "id",
    "agent_runs": "thread",
    "agent_messages": "thread",
    "agent_approvals": "thread",
    "agent_signals": "thread",
}

Rows = dict[tuple[str, str], str]
"""Table and id of a row, and the transaction that wrote it last."""


async def _rows(rival: Rival, thread_id: str) -> Rows:
    found: Rows = {}
    for table, column in _TABLES.items():
        statement = f"SELECT id, xmin::text FROM {table} WHERE {column} = $1"  # noqa: S608  # ours
        for row in await rival.connection.fetch(statement, thread_id):
            found[table, row["id"]] = row["xmin"]
    return found


async def _a_family(world: StoreWorld) -> dict[str, tuple[str, str, str]]:
    """Return three busy threads (id, key, agent), each with everything that can be unfinished."""
    parent = await world.drive()
    child = await world.spawn(parent, "call_child")
    other = await world.drive()
    family = {"parent": parent, "child": child, "other": other}
    for one in family.values():
        await world.ask(one, "call_1", "call_2", gated=["call_1"])
        for _ in range(2):
            await world.start(thread_key=one.thread.key, agent=one.run.agent, on_busy=OnBusy.QUEUE)
        await world.store.signal(a_signal(one.thread.id, "wait", mode=SignalMode.QUEUE))
    return {name: (one.thread.id, one.thread.key, one.run.agent) for name, one in family.items()}


@pytest.mark.req("CON-06", "CON-04")
@pytest.mark.parametrize(
    ("who", "on_busy"),
    [
        *((who, how) for who in ("parent", "child", "other") for how in ("queue", "steer")),
        ("other", "replace"),
    ],
)
async def test_b24_a_start_on_a_linked_thread_touches_only_its_own_rows(
    world: StoreWorld, rival: Rival, who: str, on_busy: str
) -> None:
    family = await _a_family(world)
    before = {name: await _rows(rival, each[0]) for name, each in family.items()}

    _, key, agent = family[who]
    await world.start(thread_key=key, agent=agent, on_busy=OnBusy(on_busy), parts=encode([]))

    after = {name: await _rows(rival, each[0]) for name, each in family.items()}
    mine_before, mine_after = before.pop(who), after.pop(who)
    assert after == before
    if on_busy != "replace":
        touched = {row for row, wrote in mine_before.items() if mine_after.get(row) != wrote}
        assert touched == {("agent_threads", family[who][0])}
        assert len(mine_after) == len(mine_before) + 1
    assert await world.store.stranded() == []


@pytest.mark.req("CON-04")
async def test_b24_the_end_of_a_run_leaves_those_that_are_held_back_as_they_are(
    world: StoreWorld, rival: Rival
) -> None:
    live = await world.drive()
    key, agent = live.thread.key, live.run.agent
    held = [await world.start(thread_key=key, agent=agent, on_busy=OnBusy.QUEUE) for _ in range(3)]
    before = await _rows(rival, live.thread.id)

    await world.store.cancel(live.thread.id, live.run.id)

    after = await _rows(rival, live.thread.id)
    assert [(await world.run(one.run_id)).status for one in held] == ["queued", *["pending"] * 2]
    for one in held[1:]:
        assert after["agent_runs", one.run_id] == before["agent_runs", one.run_id]
