"""Whatever happens to a thread, in whatever order: Postgres and the dictionaries agree.

Each example is a story of random moves, sensible or not (stale fences, repeated records,
decisions on nothing), told to both stores; after each move both must have answered the same
and show the same thread.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from app.domain.approval import Decision, approval_step
from app.domain.errors import ChatError
from app.domain.facts import NewTimer
from app.domain.identity import Identity
from app.domain.ports import ClaimedRun, JournalFenceLost, OnBusy, Serves, StartRun, Verdict
from app.domain.record import Record
from app.domain.run import Ending, Fence, ParentStep, Waits
from app.domain.signal import SignalMode
from tests.support.deciding import decide
from tests.support.store_world import (
    IDS,
    StoreWorld,
    a_result,
    a_signal,
    a_start,
    a_step,
    a_turn,
    an_answer,
    memory_world,
    postgres_world,
    shown,
)

_HIDDEN = frozenset(
    {"created_at", "updated_at", "requested_at", "decided_at", "queued_at", "finished_at"}
)

Tell = Callable[[StoreWorld], Awaitable[object]]
Move = tuple[str, int]

_MOVES = st.tuples(
    st.sampled_from(
        [
            *("start", "claim", "claim", "step", "turn", "turn", "result", "result", "answer"),
            *("again", "journal", "show", "park", "decide", "decide", "deny", "complete", "fail"),
            *("cancel", "release", "take_over", "stale", "raise", "unknown"),
            *("replace", "queue", "queue", "steer", "inject", "after", "event", "nap", "fire"),
            *("retry", "spawn", "spawn", "child", "child_end", "state", "update", "overdue"),
        ]
    ),
    st.integers(0, 3),
)


@dataclass
class Story:
    """What the teller knows; the same records are told to both stores."""

    agent: str = field(default_factory=lambda: f"agent-{IDS.new()}")
    key: str = field(default_factory=lambda: f"thread-{IDS.new()}")
    fence: Fence = field(default_factory=lambda: Fence("no-thread", "no-run", 0))
    child: Fence = field(default_factory=lambda: Fence("no-thread", "no-run", 0))
    turn: int = -1
    records: list[Record] = field(default_factory=list)

    def tell(self, name: str, number: int) -> Tell:
        """Return a move."""
        match name:
            case "start" | "replace" | "queue" | "steer":
                return self._start(name)
            case "inject" | "after":
                mode = SignalMode.INJECT if name == "inject" else SignalMode.QUEUE
                signal = a_signal(f"id-{self.key}", f"signal {number}", mode=mode)
                return lambda world: world.store.signal(signal)
            case "claim":
                return lambda world: world.store.claim(self.agent, Serves.of(self.agent), 1)
            case "step" | "turn" | "result" | "answer" | "again" | "journal":
                return self._record(name, number)
            case "show":
                text = shown(self.fence, max(self.turn, 0) + number % 2, "It is on", number)
                return lambda world: self._show(world, replace(text))
            case "stale":
                fence = replace(self.fence, epoch=self.fence.epoch - 1)
                record = a_step(fence, f"stale-{number}")
                return lambda world: world.store.record(fence, record)
            case _:
                return self._move(name, number)

    def _start(self, name: str) -> Tell:
        on_busy = OnBusy.REJECT if name == "start" else OnBusy(name)
        start = a_start(
            agent=self.agent,
            thread_key=self.key,
            thread_id=f"id-{self.key}",
            on_busy=on_busy,
            initial_state='{"seed":1}',
        )
        return lambda world: world.store.start(start)

    def _record(self, name: str, number: int) -> Tell:
        fence, calls = self.fence, [f"call_{self.turn}_{n}" for n in range(3)]
        match name:
            case "step":
                record = a_step(fence, f"memory:{number}", number)
            case "turn":
                self.turn += 1
                calls = [f"call_{fence.run_id[:13]}_{self.turn}_{n}" for n in range(3)]
                record = a_turn(fence, self.turn, calls, calls[:number])
            case "answer":
                record = an_answer(fence, self.turn + 1)
            case "again" if self.records:
                record = self.records[-1 - number % len(self.records)]
            case _:
                call = f"call_{fence.run_id[:13]}_{self.turn}_{number % 3}"
                record = a_result(fence, self.turn, number % 3, call)
        self.records.append(record)
        if name == "journal":
            return lambda world: self._journal(world, fence, record)
        return lambda world: world.store.record(fence, record)

    def _move(self, name: str, number: int) -> Tell:
        fence, call = self.fence, f"call_{self.fence.run_id[:13]}_{self.turn}_{number % 3}"
        thread, ann = fence.thread_id, Identity("ann")
        nap, fact = [NewTimer("timer:nap", timedelta(0))], ("event:e#0", "timer:nap", "child:c")
        moves: dict[str, Tell] = {
            "park": lambda w: w.store.park(fence, number % 2, Waits.for_all([approval_step(call)])),
            "decide": lambda w: decide(w.store, thread, call, Decision.APPROVED, ann, None),
            "deny": lambda w: decide(w.store, thread, call, Decision.DENIED, ann, "no"),
            "complete": lambda w: _finish(w, fence, Ending.completed("final"), number),
            "fail": lambda w: _finish(w, fence, Ending.failed("X", "broke"), None),
            "event": lambda w: w.store.send_event(fence.run_id, "e", str(number)),
            "nap": lambda w: w.store.park(fence, number, Waits((fact,)), nap),
            "fire": lambda w: w.store.fire_due(10),
            "retry": lambda w: w.store.retry(thread, None),
            "spawn": lambda w: w.store.spawn(fence, self._child()),
            "child": lambda w: w.store.claim("child", Serves.of(f"child-{self.agent}"), 1),
            "child_end": lambda w: _finish(w, self.child, Ending.completed("final"), None),
            "state": lambda w: w.store.write_state(fence, f"[{number}]"),
            "update": lambda w: w.store.update_state(fence, f"s:{number}", 0, _longer),
            "overdue": lambda w: w.store.fail_overdue(),
            "cancel": lambda w: w.store.cancel(thread, None),
            "release": lambda w: w.store.release(fence),
            "take_over": lambda w: w.store.take_over(self.agent),
            "raise": lambda w: w.store.raise_epoch(fence, number),
            "unknown": lambda w: w.store.open_turn(fence),
        }
        return moves[name]

    def _child(self) -> StartRun:
        run = self.fence.run_id
        return StartRun(
            run_id=f"child-{run}",
            thread_id=f"child-thread-{run}",
            message_id=f"child-message-{run}",
            thread_key=f"child-{run}",
            agent=f"child-{self.agent}",
            parts="[]",
            parent=ParentStep(self.fence.thread_id, run, "child:c"),
        )

    async def _journal(self, world: StoreWorld, fence: Fence, record: Record) -> object:
        await world.around.journal.open(fence)
        try:
            return await world.around.journal.complete(fence, record, [])
        except JournalFenceLost:
            return "fence lost"

    async def _show(self, world: StoreWorld, text: object) -> None:
        world.around.journal.show(self.fence.thread_id, self.fence.epoch, text)  # type: ignore[arg-type]  # a ShownText

    def hear(self, answer: object) -> None:
        """Note what the teller learns from an answer."""
        match answer:
            case [ClaimedRun() as claimed] if claimed.run.parent is not None:
                self.child = claimed.fence
            case [ClaimedRun() as claimed]:
                self.fence, self.turn = claimed.fence, claimed.run.turn - 1
            case Fence():
                self.fence = answer
            case _:
                pass


async def _finish(world: StoreWorld, fence: Fence, ending: Ending, seen: int | None) -> Verdict:
    """End a run as its drive does, which drops the journal."""
    verdict = await world.store.finish(fence, ending, seen)
    if verdict is Verdict.DONE:
        await world.around.journal.drop(fence.thread_id, fence.epoch)
    return verdict


def _longer(state: str | None) -> str:
    return f"[{state}]"


async def _answer(told: Awaitable[object]) -> object:
    try:
        return await told
    except ChatError as error:
        return type(error), error.data if error.code == "CONFLICT" else None


def _plain(value: object, hidden: frozenset[str] = _HIDDEN) -> object:
    """Return what may be compared: without times."""
    if hasattr(type(value), "__dataclass_fields__"):
        return _plain(asdict(value), hidden)  # type: ignore[call-overload]  # a dataclass
    match value:
        case dict():
            return {
                name: _plain(each, hidden) for name, each in value.items() if name not in hidden
            }
        case list() | tuple():
            return [_plain(each, hidden) for each in value]
        case _:
            return value


async def _shown(world: StoreWorld, story: Story) -> object:
    """Return all that anybody can see of the story's thread."""
    return (
        _plain(await world.reader.snapshot(story.key, 100), _HIDDEN | {"model"}),
        _plain(await world.store.history(story.fence.thread_id)),
        _plain(await world.reader.run(story.fence.run_id)),
        _plain(await world.store.open_turn(story.fence)),
        _plain(await world.reader.run(story.child.run_id)),
        await world.reader.state(story.fence.thread_id),
        await world.store.stranded(),
    )


class MadeUp:
    """What a store makes up, it calls the same in both worlds: after the move it was made in."""

    def __init__(self) -> None:
        self.story, self.move = IDS.new(), 0

    def new(self) -> str:
        """See ``Ids.new``."""
        return f"{self.story}-{self.move}"


async def _same_story(url: str, moves: list[Move]) -> None:
    story, ids = Story(), MadeUp()
    async with (
        memory_world(ids) as memory,
        postgres_world(url, size=2, ids=ids) as postgres,
    ):
        while await postgres.store.fire_due(100):  # what an earlier story left
            continue
        postgres.around.forget()
        for ids.move, (name, number) in enumerate(moves):
            told = story.tell(name, number)
            expected, found = await _answer(told(memory)), await _answer(told(postgres))
            assert _plain(found) == _plain(expected), f"{name} answers"
            story.hear(expected)
            shows = [await _shown(each, story) for each in (memory, postgres)]
            assert shows[1] == shows[0], f"{name} leaves"
            assert postgres.around.announced == memory.around.announced
            assert postgres.around.rung == memory.around.rung
            assert postgres.around.aborted == memory.around.aborted


@settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # to shrink a story on a real server takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(moves=st.lists(_MOVES, min_size=4, max_size=24))
@example(moves=[("start", 0), ("claim", 0), ("turn", 2), ("park", 0), ("decide", 0), ("claim", 0)])
@example(moves=[("start", 0), ("claim", 0), ("turn", 3), ("journal", 1), ("show", 1), ("fail", 0)])
@example(moves=[("queue", 0), ("steer", 0), ("after", 0), ("complete", 1), ("fail", 0)])
@example(moves=[("spawn", 0), ("child", 0), ("nap", 0), ("child_end", 0), ("claim", 0)])
@example(moves=[("turn", 2), ("nap", 0), ("fire", 0), ("claim", 0), ("fail", 0), ("retry", 0)])
@example(moves=[("spawn", 0), ("child", 0), ("queue", 0), ("replace", 0), ("cancel", 0)])
def test_a_story_is_the_same_in_both_stores(database_url: str, moves: list[Move]) -> None:
    asyncio.run(_same_story(database_url, [("start", 0), ("claim", 0), *moves]))
