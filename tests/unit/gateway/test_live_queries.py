"""A watched query is asked once for all who watch it, and again when what it read was written."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from typing import Any

import pytest

from app.domain.errors import Forbidden, RateLimited, TransientFault
from app.domain.identity import ANONYMOUS, Identity
from app.domain.storable import Json
from app.domain.tables import Keys, TableWrite, row_key
from app.gateway.live_queries import LiveQueries
from app.gateway.live_query import RETRY_S
from app.gateway.metrics import GatewayMetrics
from app.gateway.outbox import Outbox
from app.gateway.queries import FunctionQuery
from app.gateway.session_state import Limits
from app.gateway.subscription import AnySubscription, QuerySubscription, Subscription
from app.gateway.tasks import Tasks
from app.telemetry.metrics import Metrics
from app.testing.world import HandClock
from tests.support.fake_wire import FakeViewer
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("IMP-02", "SUB-05")

ANN, BOB = Identity("ann"), Identity("bob")
ORDERS = FunctionQuery("orders:list", "{}")


def one_row(number: int) -> FunctionQuery:
    return FunctionQuery("orders:one", f'{{"id": {number}}}')


ONE = one_row(1)


class World:
    """Queries over a value that a test writes by hand (``Functions``, ``Stragglers``)."""

    def __init__(self) -> None:
        self.rows: dict[int, str] = {1: "new"}
        self.fault: Exception | None = None
        self.counters: dict[str, int] = {}
        self.refuses = False
        self.follows: tuple[int, ...] = ()
        """Further rows that a query of one row reads from now on."""
        self.admitted: list[tuple[Identity, str]] = []
        self.asked: list[tuple[str, Identity]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.during: Callable[[], None] = lambda: None
        self.tasks = Tasks()
        self.metrics = GatewayMetrics(Metrics())
        self.clock = HandClock()
        self.queries = LiveQueries(
            functions=self,
            admit=self.admit,
            count_writes=self.count,
            tasks=self.tasks,
            clock=self.clock,
            metrics=self.metrics,
        )
        self.queries.on_timeline("memory-1")

    async def call(self, ref: str, args: Any, *, caller: Identity, dedupe: str | None) -> Json:  # noqa: ANN401
        raise NotImplementedError

    def may_write(self, ref: str) -> bool:
        raise NotImplementedError

    async def read(
        self, ref: str, args: Mapping[str, Json], *, caller: Identity, reads: dict[str, Keys]
    ) -> Json:
        """Answer: ``orders:list`` reads all rows, ``orders:one`` one."""
        self.asked.append((ref, caller))
        rows = dict(self.rows)
        await self.gate.wait()
        number = args.get("id")
        keys = {row_key("id", each) for each in (int(str(number or 0)), *self.follows)}
        reads["orders"] = None if number is None else frozenset(keys)
        self.during()
        if self.fault is not None:
            raise self.fault
        mine: dict[str, Json] = {"who": caller.user_id}
        return mine | {str(key): row for key, row in rows.items() if number in {None, key}}

    async def admit(self, caller: Identity, address: str) -> None:
        self.admitted.append((caller, address))
        if self.refuses:
            raise RateLimited("too many calls", {"retryAfter": 1})

    async def count(self, tables: Collection[str]) -> Mapping[str, int]:
        return {table: self.counters.get(table, 0) for table in tables}

    def fell_behind(self, outbox: Outbox) -> None:
        """See ``Stragglers.fell_behind``."""

    def caught_up(self, outbox: Outbox) -> None:
        """See ``Stragglers.caught_up``."""

    def join_again(self, subscription: AnySubscription) -> None:
        assert isinstance(subscription, QuerySubscription)
        self.queries.join_again(subscription)

    def send_text(self, subscription: Subscription) -> None:
        raise NotImplementedError

    def watch(
        self,
        query: FunctionQuery = ORDERS,
        identity: Identity = ANONYMOUS,
        id_: str = "s",
        viewer: FakeViewer | None = None,
    ) -> QuerySubscription:
        """Subscribe, and return the subscription."""
        subscription = QuerySubscription(id_, query, viewer or FakeViewer(self, identity))
        self.queries.join(subscription)
        return subscription

    def write(self, number: int, text: str, *, named: bool = True) -> None:
        """Change a row and say so; ``named``: which row, else that any may be another."""
        self.rows[number] = text
        keys = frozenset({row_key("id", number)}) if named else None
        self.queries.hear({"orders": TableWrite(1, keys)})

    async def settle(self) -> None:
        await self.tasks.ended(within_s=5)
        assert len(self.tasks) == 0, "queries do not come to rest"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    yield made
    await made.tasks.close()


def sent(subscription: QuerySubscription) -> list[dict[str, Any]]:
    wire = subscription.viewer.wire
    frames: list[dict[str, Any]] = wire.sent  # type: ignore[attr-defined]  # a FakeWire
    return frames


def values(subscription: QuerySubscription) -> list[Any]:
    return [frame["value"] for frame in sent(subscription) if frame["type"] == "snapshot"]


async def test_a_query_is_asked_once_for_all_who_watch_it(world: World) -> None:
    watching = [world.watch(id_=f"s{n % 2}") for n in range(20)]
    await world.settle()

    assert len(world.asked) == 1
    assert {frame["id"] for each in watching for frame in sent(each)} == {"s0", "s1"}
    assert all(values(each) == [{"who": None, "1": "new"}] for each in watching)


async def test_each_person_gets_an_answer_of_his_own(world: World) -> None:
    ann, bob = world.watch(identity=ANN), world.watch(identity=BOB)
    await world.settle()

    assert world.asked == [("orders:list", ANN), ("orders:list", BOB)]
    assert [values(ann)[0]["who"], values(bob)[0]["who"]] == ["ann", "bob"]


async def test_who_comes_later_is_answered_from_what_is_known(world: World) -> None:
    first = world.watch()
    await world.settle()
    later = world.watch()

    assert values(later) == values(first)
    assert len(world.asked) == 1


async def test_a_write_reaches_whoever_read_it_and_nobody_else(world: World) -> None:
    everything, one = world.watch(), world.watch(ONE)
    await world.settle()
    world.asked.clear()

    world.write(2, "other")
    await world.settle()
    assert world.asked == [("orders:list", ANONYMOUS)]

    world.write(1, "paid")
    await world.settle()
    assert values(everything)[-1] == {"who": None, "1": "paid", "2": "other"}
    assert values(one)[-1] == {"who": None, "1": "paid"}

    world.write(1, "sent", named=False)
    await world.settle()
    assert values(one)[-1] == {"who": None, "1": "sent"}


async def test_a_table_that_nobody_read_touches_nobody(world: World) -> None:
    world.watch()
    await world.settle()
    world.queries.hear({"users": TableWrite(1, None)})
    await world.settle()

    assert len(world.asked) == 1


async def test_the_same_answer_is_not_pushed_again(world: World) -> None:
    watching = world.watch()
    await world.settle()
    world.write(1, "new")
    await world.settle()

    assert len(world.asked) == 2
    assert len(values(watching)) == 1


async def test_a_burst_costs_two_askings(world: World) -> None:
    watching = world.watch()
    await world.settle()
    for n in range(50):
        world.write(1, f"state {n}")
    await world.settle()

    assert len(world.asked) == 2
    assert values(watching)[-1]["1"] == "state 49"


async def test_what_is_written_while_the_first_answer_is_read_is_not_missed(world: World) -> None:
    world.gate.clear()
    watching = world.watch(ONE)
    await wait_until(lambda: bool(world.asked), description="it is asked")
    world.write(1, "meanwhile")
    world.write(2, "of no interest")
    world.gate.set()
    await world.settle()

    assert [value["1"] for value in values(watching)] == ["new", "meanwhile"]
    assert len(world.asked) == 2


async def test_a_query_that_nobody_watches_any_more_is_forgotten(world: World) -> None:
    watching = world.watch()
    await world.settle()
    world.queries.leave(watching)
    world.write(1, "unseen")
    await world.settle()

    assert len(world.asked) == 1
    assert len(world.queries) == 0


async def test_who_leaves_before_the_answer_gets_none(world: World) -> None:
    world.gate.clear()
    watching = world.watch()
    await wait_until(lambda: bool(world.asked), description="it is asked")
    world.queries.leave(watching)
    world.gate.set()
    await world.settle()

    assert sent(watching) == []
    assert len(world.queries) == 0


async def test_a_socket_that_speaks_for_another_person_gets_his_answer(world: World) -> None:
    viewer = FakeViewer(world, ANN)
    watching = world.watch(identity=ANN, viewer=viewer)
    await world.settle()
    viewer.identity = BOB
    world.queries.judge_again(watching)
    await world.settle()

    assert [value["who"] for value in values(watching)] == ["ann", "bob"]
    assert len(world.queries) == 1


async def test_a_failing_query_says_so_once_and_recovers_when_it_is_touched(world: World) -> None:
    watching = world.watch()
    await world.settle()
    world.fault = Forbidden("not now", {"why": "closed"})
    for text in ("a", "b"):
        world.write(1, text)
        await world.settle()
    later = world.watch()
    world.fault = None
    world.write(1, "c")
    await world.settle()

    error = {
        "type": "error",
        "id": "s",
        "code": "FORBIDDEN",
        "message": "not now",
        "data": {"why": "closed"},
        "live": True,
    }
    assert sent(watching)[1:-1] == [error]
    assert sent(later)[0] == error
    assert values(watching)[-1] == values(later)[-1] == {"who": None, "1": "c"}


@pytest.mark.parametrize("fault", [TransientFault("busy"), ZeroDivisionError()], ids=str)
async def test_a_query_that_failed_for_a_moment_is_asked_again_by_itself(
    world: World, fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.gateway.live_query.RETRY_S", RETRY_S / 100)
    world.fault = fault
    watching = world.watch()
    await wait_until(lambda: len(world.asked) > 2, description="it is asked again")
    world.fault = None
    await world.settle()

    assert [frame["type"] for frame in sent(watching)] == ["error", "snapshot"]
    assert "division" not in str(sent(watching))


async def test_an_answer_to_a_call_waits_for_what_the_caller_watches(world: World) -> None:
    watching = world.watch()
    await world.settle()
    world.gate.clear()
    world.write(1, "paid")
    settled = asyncio.create_task(world.queries.settled([watching]))
    await wait_until(lambda: len(world.asked) == 2, description="it is asked")
    assert not settled.done()

    world.write(1, "paid, and more")
    world.gate.set()
    await settled

    assert values(watching)[-1]["1"] in {"paid", "paid, and more"}
    assert len(values(watching)) >= 2


async def test_an_answer_to_a_call_waits_for_nobody_who_is_level(world: World) -> None:
    watching = world.watch()
    await world.settle()
    async with asyncio.timeout(5):
        await world.queries.settled([watching])


async def test_a_slow_reader_gets_one_snapshot_when_it_has_caught_up(world: World) -> None:
    viewer = FakeViewer(world)
    slow, quick = world.watch(viewer=viewer), world.watch()
    await world.settle()
    viewer.wire.is_stuck, viewer.wire.room = True, 0
    for n in range(5):
        world.write(1, str(n))
        await world.settle()
    viewer.wire.is_stuck, viewer.wire.room = False, None
    viewer.outbox.drained()
    await world.settle()

    assert [value["1"] for value in values(slow)] == ["new", "4"]
    assert [value["1"] for value in values(quick)] == ["new", "0", "1", "2", "3", "4"]


async def test_a_reader_who_sticks_again_while_queries_catch_up_keeps_nobody_busy(
    world: World,
) -> None:
    viewer = FakeViewer(world)
    watching = [world.watch(one_row(n), id_=f"s{n}", viewer=viewer) for n in range(20)]
    viewer.wire.is_stuck, viewer.wire.room = True, 0
    await world.settle()
    assert viewer.wire.sent == []

    for taken in range(1, 21):
        viewer.wire.room = 1  # one frame, and stuck again
        viewer.outbox.drained()
        assert len(viewer.wire.sent) == taken

    assert sorted(frame["id"] for frame in viewer.wire.sent) == sorted(each.id for each in watching)


async def test_all_that_one_socket_may_watch_catches_up_at_once(world: World) -> None:
    viewer, many = FakeViewer(world), Limits().subscriptions
    for number in range(many):
        world.watch(one_row(number), id_=f"s{number}", viewer=viewer)
    viewer.wire.is_stuck, viewer.wire.room = True, 0
    await world.settle()

    viewer.wire.is_stuck = False
    viewer.outbox.drained()

    assert len({frame["id"] for frame in viewer.wire.sent}) == many


async def test_a_write_without_a_word_is_found_by_the_counters(world: World) -> None:
    watching = world.watch()
    await world.settle()
    await world.queries.reconcile()
    await world.settle()
    world.rows[1] = "by another program"
    world.counters["orders"] = 1
    await world.queries.reconcile()
    await world.settle()

    assert values(watching)[-1]["1"] == "by another program"


async def test_when_hints_may_have_been_missed_everything_is_asked_again(world: World) -> None:
    watching = world.watch()
    await world.settle()
    world.rows[1] = "missed"
    world.queries.touch_all()
    await world.settle()
    assert values(watching)[-1]["1"] == "missed"

    world.rows[1] = "lost commits"
    world.queries.on_timeline("memory-2")
    await world.settle()
    assert values(watching)[-1]["1"] == "lost commits"


async def test_the_first_asking_of_each_query_counts_as_a_call(world: World) -> None:
    world.watch(identity=ANN)
    world.watch(identity=ANN, id_="t")
    world.watch(ONE, identity=ANN)
    await world.settle()
    world.write(1, "paid")
    await world.settle()

    assert world.admitted == [(ANN, ""), (ANN, "")]


async def test_a_query_beyond_the_limit_says_so_and_comes_by_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.gateway.live_query.RETRY_S", RETRY_S / 100)
    world.refuses = True
    watching = world.watch()
    await wait_until(lambda: bool(sent(watching)), description="it is refused")
    assert world.asked == []
    world.refuses = False
    await world.settle()

    first, last = sent(watching)
    assert (first["code"], first["data"], first["live"]) == (
        "RATE_LIMITED",
        {"retryAfter": 1},
        True,
    )
    assert last["type"] == "snapshot"


async def test_a_query_depends_on_what_it_read_last(world: World) -> None:
    world.watch(ONE)
    await world.settle()
    world.follows = (2,)
    world.write(1, "points at two")
    await world.settle()
    assert len(world.asked) == 2

    world.write(2, "is read now")
    await world.settle()
    assert len(world.asked) == 3

    world.follows = ()
    world.write(1, "points nowhere")
    await world.settle()
    world.write(2, "is read no more")
    await world.settle()
    assert len(world.asked) == 4
