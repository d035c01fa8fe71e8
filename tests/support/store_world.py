"""A run store with everything around it visible, whatever the store is made of."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from app.authoring.slots import next_slot
from app.domain.approval import NO_RULES, ApprovalRules, approval_step
from app.domain.facts import child_fact
from app.domain.ids import child_id
from app.domain.message import (
    MessageStatus,
    Role,
    assistant_key,
    open_result_part,
    result_key,
    text_part,
    tool_call_part,
    tool_result_part,
)
from app.domain.ports import (
    ClaimedRun,
    Ids,
    RunStore,
    Serves,
    ShownText,
    StartedRun,
    StartRun,
    ThreadReader,
    ThreadSnapshot,
    Verdict,
)
from app.domain.ports.schedules import CallStore, CronStore
from app.domain.record import FilledMessage, NewApproval, NewMessage, Record, Writes
from app.domain.run import Fence, ParentStep, Run, Terms, Usage, Waits
from app.domain.signal import NewSignal, SignalMode
from app.domain.storable import Json, decode, encode
from app.domain.tables import TableWrites
from app.domain.thread import Thread
from app.store.crons import PostgresCrons
from app.store.database import Database
from app.store.runs import PostgresRunStore
from app.store.scheduled_calls import PostgresCallStore
from app.store.threads import PostgresThreadReader
from app.testing.memory_calls import MemoryCallStore
from app.testing.memory_crons import MemoryCrons
from app.testing.memory_database import MemoryDatabase
from app.testing.memory_journal import MemoryJournal
from app.testing.memory_reader import MemoryThreadReader
from app.testing.memory_store import MemoryRunStore
from app.testing.world import CountedIds

AGENT = "support"
WORKER = "worker-1"


IDS = CountedIds()


@dataclass(slots=True)
class Surroundings:
    """Whom a store tells; each call is kept."""

    journal: MemoryJournal = field(default_factory=MemoryJournal)
    announced: list[tuple[str, int]] = field(default_factory=list)
    written: list[TableWrites] = field(default_factory=list)
    rung: list[str] = field(default_factory=list)
    aborted: list[tuple[str, Fence]] = field(default_factory=list)

    def forget(self) -> None:
        """Forget whom was told what."""
        self.announced.clear()
        self.written.clear()
        self.rung.clear()
        self.aborted.clear()

    def announce(self, thread_id: str, version: int) -> None:
        """See ``Announce``."""
        self.announced.append((thread_id, version))

    def announce_writes(self, writes: TableWrites) -> None:
        """See ``AnnounceWrites``."""
        self.written.append(writes)

    async def ring(self, run_id: str) -> None:
        """See ``Doorbell.ring``."""
        self.rung.append(run_id)

    async def abort(self, worker: str, fence: Fence) -> None:
        """See ``Aborts.abort``."""
        self.aborted.append((worker, fence))


@dataclass(frozen=True, slots=True)
class StoreWorld:
    """A store, its reader, and whom they tell."""

    store: RunStore
    reader: ThreadReader
    around: Surroundings
    register: Callable[[str, Sequence[str]], Awaitable[None]]
    """Makes a worker known, as its first beat does."""
    calls: CallStore
    crons: CronStore

    async def start(self, **changes: object) -> StartedRun:
        """Start a run on a new thread."""
        return await self.store.start(a_start(**changes))

    async def claim(self, agent: str = AGENT, worker: str = WORKER) -> ClaimedRun:
        """Claim the oldest queued run."""
        (claimed,) = await self.store.claim(worker, Serves.of(agent), 1)
        return claimed

    async def drive(self, **changes: object) -> ClaimedRun:
        """Start a run and claim it; ``agent`` is one that no other test thread has."""
        agent = f"agent-{IDS.new()}"
        await self.start(agent=agent, **changes)
        return await self.claim(agent)

    async def thread(self, thread_id: str) -> Thread:
        """Return a thread as it is now."""
        return (await self.snapshot(thread_id)).thread

    async def run(self, run_id: str) -> Run:
        """Return a run as it is now."""
        run = await self.reader.run(run_id)
        assert run is not None
        return run

    async def snapshot(self, thread_id: str) -> ThreadSnapshot:
        """Return everything of a thread as it is now."""
        snapshot = await self.reader.delta(thread_id, 0, 1000)
        assert snapshot is not None
        return snapshot

    async def ask(
        self,
        claimed: ClaimedRun,
        *calls: str,
        gated: Sequence[str] = (),
        rules: ApprovalRules = NO_RULES,
    ) -> None:
        """Record a first turn that calls these tools, some of which need an approval."""
        record = a_turn(claimed.fence, 0, calls, gated, rules)
        assert await self.store.record(claimed.fence, record)

    async def park(self, claimed: ClaimedRun, *gated: str) -> None:
        """Park a run that waits for these approvals."""
        wakes = (await self.thread(claimed.thread.id)).wakes
        await self.store.park(claimed.fence, wakes, Waits.for_all(map(approval_step, gated)))

    async def wait(self, claimed: ClaimedRun, *facts: str) -> None:
        """Park a run that waits for all of these facts."""
        wakes = (await self.thread(claimed.thread.id)).wakes
        verdict = await self.store.park(claimed.fence, wakes, Waits.for_all(facts))
        assert verdict is Verdict.DONE

    async def facts(self, claimed: ClaimedRun) -> dict[str, Json]:
        """Return the steps that the drive would resume with."""
        open_turn = await self.store.open_turn(claimed.fence)
        assert open_turn is not None
        return {name: decode(value) for name, value in open_turn.steps.items()}

    async def spawn(self, claimed: ClaimedRun, call: str = "call_1") -> ClaimedRun:
        """Start a child run and claim it."""
        child = a_child(claimed, call)
        assert await self.store.spawn(claimed.fence, child)
        return await self.claim(child.agent)


@asynccontextmanager
async def memory_world(ids: Ids = IDS) -> AsyncIterator[StoreWorld]:
    """Yield a world in dictionaries."""
    around, database = Surroundings(), MemoryDatabase()

    async def register(worker: str, agents: Sequence[str]) -> None:
        database.workers[worker] = (1, frozenset(agents))

    store = MemoryRunStore(
        database,
        journal=around.journal,
        announce=around.announce,
        doorbell=around,
        aborts=around,
        ids=ids,
    )
    yield StoreWorld(
        store,
        MemoryThreadReader(database),
        around,
        register,
        MemoryCallStore(database),
        MemoryCrons(database, next_slot, ids),
    )


@asynccontextmanager
async def postgres_world(
    url: str, size: int = 10, ids: Ids = IDS, *, notices: bool = False
) -> AsyncIterator[StoreWorld]:
    """Yield a world on a migrated database."""
    around = Surroundings()
    async with Database(url, size=size) as database:

        async def register(worker: str, agents: Sequence[str]) -> None:
            statement = "INSERT INTO agent_workers (id, beat, agents) VALUES ($1, 1, $2)"
            await database.fetch(statement, worker, list(agents))

        store = PostgresRunStore(
            database,
            journal=around.journal,
            announce=around.announce,
            doorbell=around,
            aborts=around,
            ids=ids,
            notices=notices,
        )
        yield StoreWorld(
            store,
            PostgresThreadReader(database),
            around,
            register,
            PostgresCallStore(database),
            PostgresCrons(database, next_slot, ids),
        )


_TERMS = ("policy", "agent_version", "timeout")


def a_start(**changes: object) -> StartRun:
    """Return the start of a run on a thread of its own; its terms are told like the rest."""
    fields: dict[str, object] = {
        "run_id": IDS.new(),
        "thread_id": IDS.new(),
        "message_id": IDS.new(),
        "thread_key": f"thread-{IDS.new()}",
        "agent": AGENT,
        "parts": encode([text_part("Where is my order?")]),
        "terms": _told_terms(changes),
    }
    return StartRun(**(fields | changes))  # type: ignore[arg-type]  # field names


def a_signal(thread_id: str, text: str, **changes: object) -> NewSignal:
    """Return a signal that is read before the next model request."""
    fields: dict[str, object] = {
        "id": IDS.new(),
        "thread_id": thread_id,
        "mode": SignalMode.INJECT,
        "text": text,
        "sender": "user:bob",
        "run_id": IDS.new(),
        "message_id": IDS.new(),
        "terms": _told_terms(changes),
    }
    return NewSignal(**(fields | changes))  # type: ignore[arg-type]  # field names


def _told_terms(changes: dict[str, object]) -> Terms:
    """Take what says how a run is to go out of ``changes``."""
    told = {name: changes.pop(name) for name in _TERMS if name in changes}
    return Terms(**told)  # type: ignore[arg-type]  # field names


def a_child(claimed: ClaimedRun, call: str = "call_1", **changes: object) -> StartRun:
    """Return the start of a child run that a call of this run waits for."""
    run_id = claimed.run.id
    fields: dict[str, object] = {
        "run_id": child_id(run_id, call, "run"),
        "thread_id": child_id(run_id, call, "thread"),
        "message_id": child_id(run_id, call, "message"),
        "thread_key": f"child-{run_id}-{call}",
        "agent": f"child-of-{claimed.run.agent}",
        "parent": ParentStep(claimed.thread.id, run_id, child_fact(call)),
    }
    return a_start(**(fields | changes))


def a_step(fence: Fence, name: str, value: Json = "done", turn: int | None = None) -> Record:
    """Return the record of a step that changes nothing beside its own value."""
    return Record(fence.run_id, fence.thread_id, name, turn, encode(value))


def an_answer(fence: Fence, turn: int, text: str = "It is on its way.") -> Record:
    """Return the record of a turn that answers."""
    message = NewMessage(
        id=IDS.new(),
        key=assistant_key(fence.run_id, turn),
        role=Role.ASSISTANT,
        status=MessageStatus.COMPLETE,
        parts=encode([text_part(text)]),
        turn=turn,
        model=encode({"kind": "response", "text": text}),
        model_name="demo:",
        usage=encode(Usage(1, 10, 5).to_json()),
    )
    writes = Writes(messages=(message,), turn=turn, run_usage=Usage(turn + 1, 10, 5))
    return Record(fence.run_id, fence.thread_id, f"llm:turn:{turn}", turn, encode(text), writes)


def a_turn(
    fence: Fence,
    turn: int,
    calls: Sequence[str],
    gated: Sequence[str] = (),
    rules: ApprovalRules = NO_RULES,
) -> Record:
    """Return the record of a turn that calls tools: an answer and one open result for each."""
    answer = NewMessage(
        id=IDS.new(),
        key=assistant_key(fence.run_id, turn),
        role=Role.ASSISTANT,
        status=MessageStatus.COMPLETE,
        parts=encode([tool_call_part(call, "look_up", {}) for call in calls]),
        turn=turn,
    )
    results = [
        NewMessage(
            id=IDS.new(),
            key=result_key(fence.run_id, turn, index),
            role=Role.TOOL,
            status=MessageStatus.OPEN,
            parts=encode([open_result_part(call, "look_up")]),
            turn=turn,
        )
        for index, call in enumerate(calls)
    ]
    asked = encode(rules.to_json())
    approvals = [NewApproval(IDS.new(), call, "look_up", '{"order":1}', asked) for call in gated]
    writes = Writes(messages=(answer, *results), approvals=tuple(approvals), turn=turn)
    return Record(fence.run_id, fence.thread_id, f"llm:turn:{turn}", turn, "{}", writes)


def a_result(fence: Fence, turn: int, index: int, call: str, output: Json = "found") -> Record:
    """Return the record of a tool that has finished."""
    filled = FilledMessage(
        key=result_key(fence.run_id, turn, index),
        status=MessageStatus.COMPLETE,
        parts=encode([tool_result_part(call, "look_up", output, is_error=False)]),
        model=encode({"kind": "return", "call": call}),
    )
    step = f"tool:look_up:{call}"
    return Record(fence.run_id, fence.thread_id, step, turn, encode(output), Writes(filled=filled))


def shown(
    fence: Fence, turn: int, text: str, part: int = 0, *, cost: Usage | None = None
) -> ShownText:
    """Return text that was streamed to people."""
    return ShownText(fence.run_id, turn, part, "text", text, fence.epoch * 100, len(text), cost)
