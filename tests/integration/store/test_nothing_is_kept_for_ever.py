"""What nobody can ask for any more is deleted after a day, and nothing else."""

from datetime import UTC, datetime

from app.domain.run import Ending
from app.store.database import Database
from app.store.retention import forget_what_is_over
from tests.support.store_world import StoreWorld, a_signal, a_start

PAST = datetime(2020, 1, 1, tzinfo=UTC)


async def test_fired_timers_and_read_signals_are_forgotten_after_a_day(
    world: StoreWorld, database_url: str
) -> None:
    claimed = await world.drive()
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    read = [a_signal(claimed.thread.id, "old"), a_signal(claimed.thread.id, "new")]
    for signal in read:
        await world.store.signal(signal)
        again = await world.claim(claimed.run.agent)
        await world.store.finish(again.fence, Ending.completed("final"), None)
    for name in ("old", "new"):
        await world.store.schedule(name, a_start(), PAST)
        await world.store.fire_due(1)
    await world.store.schedule("due", a_start(), PAST)
    busy = await world.drive()
    unread = a_signal(busy.thread.id, "unread")
    await world.store.signal(unread)

    async with Database(database_url, size=1) as database:
        for statement in (
            "UPDATE agent_timers SET fired_at = fired_at - interval '25 hours' WHERE id = 'old'",
            "UPDATE agent_signals SET read_at = read_at - interval '25 hours' WHERE text = 'old'",
            "UPDATE agent_signals SET created_at = created_at - interval '25 hours'",
        ):
            await database.fetch(statement)
        forgotten = [await forget_what_is_over(database) for _ in range(2)]
        timers = await database.fetch("SELECT id FROM agent_timers ORDER BY id")
        signals = await database.fetch("SELECT text FROM agent_signals ORDER BY text")

    assert forgotten == [2, 0]
    assert [row["id"] for row in timers] == ["due", "new"]
    assert [row["text"] for row in signals] == ["new", "unread"]
