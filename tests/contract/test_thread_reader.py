"""What every ``ThreadReader`` keeps, whatever it is made of."""

import asyncio

import pytest

from app.domain.approval import Decision
from app.domain.identity import Identity
from app.domain.message import MessageStatus
from app.domain.run import Ending, RunStatus
from tests.support.deciding import decide
from tests.support.store_world import StoreWorld, a_result, a_turn, an_answer


@pytest.mark.req("ACC-02")
async def test_what_is_not_there_is_not_found(world: StoreWorld) -> None:
    reader = world.reader

    assert await reader.find("nothing") is None
    assert await reader.run("nothing") is None
    assert await reader.snapshot("nothing", 50) is None
    assert await reader.delta("nothing", 0, 50) is None
    assert await reader.page("nothing", None, 50) == []
    assert await reader.approvals(key="nothing") == []
    assert await reader.versions(["nothing"]) == {}


async def test_a_thread_is_found_by_its_key(world: StoreWorld) -> None:
    started = await world.start(title="Order", owner="ann")

    thread = await world.reader.find(started.thread_key)

    assert thread is not None
    assert (thread.id, thread.title, thread.owner) == (started.thread_id, "Order", "ann")
    assert thread.created_at is not None
    assert thread.updated_at is not None


@pytest.mark.req("SUB-01", "SUB-02")
async def test_a_snapshot_is_of_one_moment(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", "call_2", gated=["call_1", "call_2"])

    snapshot = await world.reader.snapshot(claimed.thread.key, 50)

    assert snapshot is not None
    assert snapshot.complete
    assert snapshot.run_status is RunStatus.RUNNING
    assert [message.seq for message in snapshot.messages] == [1, 2, 3, 4]
    assert max(message.version for message in snapshot.messages) == snapshot.thread.version
    assert [approval.tool_call_id for approval in snapshot.approvals] == ["call_1", "call_2"]
    assert snapshot.approvals[0].input == {"order": 1}
    assert snapshot.approvals == await world.reader.approvals(key=claimed.thread.key)


async def test_a_snapshot_keeps_the_newest_messages(world: StoreWorld) -> None:
    claimed = await world.drive()
    for turn in range(4):
        await world.store.record(claimed.fence, an_answer(claimed.fence, turn))

    newest = await world.reader.snapshot(claimed.thread.key, 2)
    none = await world.reader.snapshot(claimed.thread.key, 0)

    assert newest is not None
    assert none is not None
    assert [message.seq for message in newest.messages] == [4, 5]
    assert list(none.messages) == []


@pytest.mark.req("SUB-03")
async def test_a_delta_is_what_changed_since(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", "call_2")
    before = (await world.thread(claimed.thread.id)).version
    await world.store.record(claimed.fence, a_result(claimed.fence, 0, 0, "call_1"))

    delta = await world.reader.delta(claimed.thread.id, before, 50)
    nothing = await world.reader.delta(claimed.thread.id, before + 1, 50)
    cut = await world.reader.delta(claimed.thread.id, 0, 3)

    assert delta is not None
    assert nothing is not None
    assert cut is not None
    (filled,) = delta.messages
    assert (filled.seq, filled.status) == (3, MessageStatus.COMPLETE)
    assert delta.thread.version == filled.version == before + 1
    assert (list(nothing.messages), nothing.complete) == ([], True)
    assert (len(cut.messages), cut.complete) == (3, False)


@pytest.mark.req("SUB-02")
async def test_a_decided_approval_is_no_longer_pending(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", "call_2", gated=["call_1", "call_2"])

    await decide(world.store, claimed.thread.id, "call_1", Decision.DENIED, Identity("ann"), None)

    pending = await world.reader.approvals(key=claimed.thread.key)
    assert [approval.tool_call_id for approval in pending] == ["call_2"]


async def test_older_pages_are_read_backwards(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.store.record(
        claimed.fence, a_turn(claimed.fence, 0, [f"call_{n}" for n in range(8)])
    )
    page = world.reader.page

    newest = await page(claimed.thread.id, None, 4)
    older = await page(claimed.thread.id, newest[0].seq, 4)
    oldest = await page(claimed.thread.id, older[0].seq, 4)

    assert [[row.seq for row in rows] for rows in (newest, older, oldest)] == [
        [7, 8, 9, 10],
        [3, 4, 5, 6],
        [1, 2],
    ]


async def test_versions_are_read_for_many_threads_at_once(world: StoreWorld) -> None:
    first, second = await world.start(), await world.start()

    versions = await world.reader.versions([first.thread_id, second.thread_id, "nothing"])

    assert versions == {first.thread_id: first.version, second.thread_id: second.version}


async def test_the_newest_run_is_shown_and_tells_how_the_thread_stopped(world: StoreWorld) -> None:
    claimed = await world.drive()
    thread = claimed.thread
    await world.store.finish(claimed.fence, Ending.completed("maxTurns"), None)
    after_the_first = await world.snapshot(thread.id)
    second = await world.start(thread_key=thread.key, agent=claimed.run.agent)
    under_way = await world.snapshot(thread.id)
    await world.store.cancel(thread.id, None)
    after_the_second = await world.snapshot(thread.id)

    seen = (after_the_first, under_way, after_the_second)
    assert [each.stopped for each in seen] == ["maxTurns", None, "cancelled"]
    assert [each.run_status for each in seen] == ["completed", "queued", "cancelled"]
    assert [each.run_id for each in seen] == [claimed.run.id, second.run_id, second.run_id]


@pytest.mark.req("ACC-01")
async def test_sessions_are_listed_to_their_owner_by_newest_activity(world: StoreWorld) -> None:
    mine = [await world.start(agent="a", owner="ann") for _ in range(3)]
    await world.start(agent="a", owner="bob")
    unowned = await world.start(agent="a")
    await world.start(agent="b", owner="ann")
    await world.store.cancel(mine[0].thread_id, None)
    await world.start(agent="a", owner="ann", thread_key=mine[0].thread_key)
    sessions = world.reader.sessions

    newest = await sessions("a", "ann", everybody=False, before=None, limit=2)
    older = await sessions("a", "ann", everybody=False, before=newest[-1].id, limit=2)
    all_of_them = await sessions("a", "ann", everybody=True, before=None, limit=50)

    expected = [mine[0].thread_id, mine[2].thread_id, mine[1].thread_id]
    assert [thread.id for thread in newest + older] == expected
    assert len(all_of_them) == 5
    assert unowned.thread_id in {thread.id for thread in all_of_them}
    assert await sessions("a", None, everybody=False, before=None, limit=50) == []


async def test_the_timeline_stays(world: StoreWorld) -> None:
    first, second = await asyncio.gather(world.reader.timeline(), world.reader.timeline())

    assert first == second
    assert "-" in first
    assert "." not in first


@pytest.mark.req("ACC-01", "ACC-02")
async def test_a_page_that_none_of_its_readers_may_see_holds_nothing(world: StoreWorld) -> None:
    hers = await world.start(owner="ann")
    nobodys = await world.start()
    nobody, ann, ben = Identity(), Identity("ann"), Identity("ben")
    admin = Identity("root", frozenset({"admin"}))

    async def rows(key: str, *readers: Identity) -> int:
        page = await world.reader.snapshot(key, 50, readers)
        assert page is not None
        assert page.thread.key == key
        return len(page.messages) + (page.run_id is not None)

    assert await rows(hers.thread_key, ben, nobody) == await rows(hers.thread_key) == 0
    assert await rows(hers.thread_key, ben, ann) == await rows(hers.thread_key, admin) == 2
    assert await rows(nobodys.thread_key, nobody) == await rows(nobodys.thread_key, ben) == 2
