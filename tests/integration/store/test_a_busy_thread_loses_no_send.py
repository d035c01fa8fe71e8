"""Of many sends to a busy thread each is answered, once, in order, whatever ends meanwhile."""

import asyncio
import itertools
from collections.abc import Awaitable

import pytest

from app.domain.errors import Conflict
from app.domain.message import plain_text, text_part
from app.domain.ports import OnBusy, Serves, StartedRun, Verdict
from app.domain.record import Record, Writes
from app.domain.run import Ending, RunStatus
from app.domain.signal import SignalMode, messages_of
from app.domain.storable import encode
from tests.support.store_world import IDS, StoreWorld, a_signal, an_answer
from tests.support.wait_until import wait_until

STARTS, ROUNDS = 20, 40
FINAL = Ending.completed("final")


async def _drain(world: StoreWorld, agent: str) -> list[str]:
    """Drive every run of the agent to its end, one after the other; return their ids."""
    driven: list[str] = []
    while True:
        claimed = await world.store.claim("w", Serves.of(agent), 1)
        if not claimed:
            return driven
        fence = claimed[0].fence
        await world.store.record(fence, an_answer(fence, 0))
        verdict = await world.store.finish(fence, FINAL, None)
        if verdict is Verdict.DONE:
            driven.append(fence.run_id)


@pytest.mark.req("CON-01", "CON-02", "CON-03", "CON-04", "CON-06", "CON-07")
@pytest.mark.parametrize("on_busy", list(OnBusy))
async def test_twenty_starts_at_once(world: StoreWorld, on_busy: OnBusy) -> None:
    claimed = await world.drive()
    agent = claimed.run.agent

    results = await asyncio.gather(
        *(
            world.start(
                thread_key=claimed.thread.key,
                agent=agent,
                on_busy=on_busy,
                parts=encode([text_part(f"<{n}>")]),
            )
            for n in range(STARTS)
        ),
        return_exceptions=True,
    )
    started = [result for result in results if isinstance(result, StartedRun)]
    conflicts = [result for result in results if isinstance(result, Conflict)]
    await world.store.finish(claimed.fence, FINAL, None)
    driven = await _drain(world, agent)

    rows = await world.store.history(claimed.thread.id)
    said = "".join(plain_text(row.parts) for row in rows[1:])
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert _contiguous([row.run_id for row in rows])
    assert await world.store.stranded() == []
    match on_busy:
        case OnBusy.REJECT:
            assert (len(conflicts), len(rows)) == (STARTS, 1)
        case OnBusy.REPLACE:
            statuses = [(await world.run(one.run_id)).status for one in started]
            assert (len(started), len(driven)) == (STARTS, 1)
            assert statuses.count(RunStatus.CANCELLED) == STARTS - 1
            assert (await world.run(claimed.run.id)).status is RunStatus.CANCELLED
        case OnBusy.QUEUE:
            in_order = sorted(started, key=lambda one: one.position or 0)
            assert [one.position for one in in_order] == list(range(1, STARTS + 1))
            assert driven == [one.run_id for one in in_order]
        case OnBusy.STEER:
            assert {one.run_id for one in started} == {claimed.run.id}
            assert len(driven) == 1
            said = said.removesuffix("It is on its way.")
            assert sorted(said[1:].split("<")) == sorted(f"{n}>" for n in range(STARTS))


def _contiguous(runs: list[str]) -> bool:
    """Whether each run's rows stand together."""
    changes = sum(one != other for one, other in itertools.pairwise(runs))
    return changes == len(set(runs)) - 1


@pytest.mark.req("CON-04", "CON-06")
async def test_held_back_runs_keep_their_order_while_runs_end(world: StoreWorld) -> None:
    claimed = await world.drive()
    key, agent = claimed.thread.key, claimed.run.agent
    started: list[StartedRun] = []
    is_over = asyncio.Event()
    driven: list[str] = []

    async def send() -> None:
        for _ in range(STARTS):
            started.append(await world.start(thread_key=key, agent=agent, on_busy=OnBusy.QUEUE))
            await asyncio.sleep(0)

    async def drive() -> None:
        while not is_over.is_set():
            driven.extend(await _drain(world, agent))
            await asyncio.sleep(0)

    async def is_free() -> bool:
        return (await world.thread(claimed.thread.id)).live_run is None

    async with asyncio.TaskGroup() as group:
        drives = [group.create_task(drive()) for _ in range(3)]
        await group.create_task(send())
        await world.store.finish(claimed.fence, FINAL, None)
        await wait_until(is_free, description="the thread is free")
        is_over.set()
        await asyncio.wait(drives)

    rows = await world.store.history(claimed.thread.id)
    assert [row.run_id for row in rows[1::2]] == [one.run_id for one in started]
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert sorted(driven) == sorted(one.run_id for one in started)


@pytest.mark.req("CON-07", "SIG-03", "SIG-04")
@pytest.mark.parametrize("kind", ["steer", *SignalMode])
async def test_b25_what_is_said_at_the_end_of_a_run_is_read_by_it_or_by_the_next(
    world: StoreWorld, kind: str
) -> None:
    """Field case B25: a message that arrives mid-turn is lost, or is delivered twice."""

    async def say(thread_id: str, key: str, agent: str) -> object:
        if kind == "steer":
            return await world.start(thread_key=key, agent=agent, on_busy=OnBusy.STEER)
        return await world.store.signal(a_signal(thread_id, "wait", mode=SignalMode(kind)))

    async def drive(claimed_thread: str, agent: str) -> None:
        """Drive as the engine does: read what is there, end only if all was seen."""
        for claimed in await world.store.claim("w", Serves.of(agent), 1):
            for turn in range(9):
                open_turn = await world.store.open_turn(claimed.fence)
                if open_turn is None:
                    return
                if open_turn.signals:
                    ids = tuple(signal.id for signal in open_turn.signals)
                    rows = messages_of(claimed.run.id, open_turn.signals)
                    writes = Writes(messages=rows, consumed=ids)
                    step = Record(
                        claimed.run.id, claimed_thread, f"inject:{turn}", turn, "1", writes
                    )
                    await world.store.record(claimed.fence, step)
                await world.store.record(claimed.fence, an_answer(claimed.fence, turn))
                if await world.store.finish(claimed.fence, FINAL, open_turn.wakes) is Verdict.DONE:
                    break

    async def one_round(number: int) -> None:
        agent = f"agent-{IDS.new()}"
        started = await world.start(agent=agent)
        thread_id, key = started.thread_id, started.thread_key
        sends = [
            asyncio.create_task(_after(number % 7 + n, say(thread_id, key, agent)))
            for n in range(3)
        ]
        await drive(thread_id, agent)
        answers = await asyncio.gather(*sends)
        while (await world.thread(thread_id)).live_run is not None:
            await drive(thread_id, agent)
        rows = await world.store.history(thread_id)
        wanted = "Where is my order?" if kind == "steer" else "wait"
        said = "".join(plain_text(row.parts) for row in rows if row.role == "user")
        assert len(answers) == 3
        assert said.count(wanted) == 3 + (kind == "steer")
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
        assert list((await world.snapshot(thread_id)).waiting) == []

    await asyncio.gather(*(one_round(number) for number in range(ROUNDS)))
    assert await world.store.stranded() == []


async def _after(turns: int, call: Awaitable[object]) -> object:
    """Begin some turns of the loop later, so that it may come before, amid or after the end."""
    for _ in range(turns * 10):
        await asyncio.sleep(0)
    return await call
