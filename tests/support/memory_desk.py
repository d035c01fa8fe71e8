"""Functions, HTTP and workers over stores in memory, at which schedules of decisions are played."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from app.domain.approval import Approval, ApprovalStatus
from app.domain.errors import ChatError
from app.domain.identity import Identity
from app.domain.message import text_part
from app.domain.ports import StartRun
from app.domain.run import FINAL, RunStatus
from app.domain.storable import encode
from app.testing import memory_deciding
from app.testing.memory_calls import MemoryCallStore
from app.testing.memory_transactions import MemoryTransactions
from app.testing.memory_writer import MemoryThreadWriter
from tests.support.agent_world import AgentWorld
from tests.support.backend import Backend
from tests.support.deciding_agent import RAN, deciding_agent
from tests.support.decision_schedules import OWNER, PEOPLE, Attempt, Reply, Schedule
from tests.support.surfaces import Outcome, Surfaces


class MemoryDesk:
    """Implements ``tests.support.decision_schedules.Desk``."""

    def __init__(self, world: AgentWorld, backend: Backend, surfaces: Surfaces) -> None:
        self.world = world
        self.backend = backend
        self.surfaces = surfaces
        self.written: Counter[tuple[str, str]] = Counter()
        """How often a decision was written, by thread and call."""
        self._ids: dict[str, dict[str, str]] = {}

    async def begin(self, key: str, schedule: Schedule) -> str:
        """See ``Desk.begin``."""
        RAN.pop(key, None)
        run_id = await self._say(key, json.dumps(schedule.calls))
        while len(await self.stored(key)) < len(schedule.gated):
            await self.world.database.turn()
        self._ids[key] = {each.tool_call_id: each.id for each in await self.stored(key)}
        return run_id

    async def send(self, key: str, attempt: Attempt) -> Reply:
        """See ``Desk.send``."""
        return await self.surfaces.send(key, self._ids[key], attempt)

    async def interrupt(self, key: str, run_id: str, kind: str) -> None:
        """See ``Desk.interrupt``."""
        match kind:
            case "cancel":
                await self.world.store.cancel(self.world.thread(key).id, run_id)
            case "restart":
                worker = self.world.workers[-1]
                await worker.kill()
                await self.world.take_over(worker)
                self.world.worker()
            case _:
                await self.world.signal("yes, go ahead", key=key)

    async def ended(self, run_id: str) -> None:
        """See ``Desk.ended``."""
        await self.world.until(run_id, *FINAL)
        assert self.world.database.runs[run_id].status is not RunStatus.FAILED

    async def stored(self, key: str) -> Sequence[Approval]:
        """See ``Desk.stored``."""
        return await self.world.reader.approvals(key=key, everything=True)

    def ran(self, key: str) -> Sequence[tuple[str, int]]:
        """See ``Desk.ran``."""
        return RAN[key]

    async def noted(self, key: str) -> Counter[str]:
        """See ``Desk.noted``."""
        thread_id = self.world.thread(key).id
        return Counter(
            {call: n for (thread, call), n in self.written.items() if thread == thread_id}
        )

    async def _say(self, key: str, text: str) -> str:
        ids = self.world.ids
        start = StartRun(
            run_id=ids.new(),
            thread_id=ids.new(),
            message_id=ids.new(),
            thread_key=key,
            agent="a",
            parts=encode([text_part(text)]),
            owner=OWNER,
        )
        return (await self.world.store.start(start)).run_id


@asynccontextmanager
async def memory_desk(
    patch: pytest.MonkeyPatch, people: Mapping[str, tuple[str, ...]] = PEOPLE
) -> AsyncIterator[MemoryDesk]:
    """Yield a desk with a worker, for these people with their roles."""
    async with AsyncExitStack() as stack:
        world = await stack.enter_async_context(AgentWorld(deciding_agent()))
        backend = _backend(world)
        clients = {
            person: await stack.enter_async_context(backend.client(person, *roles))
            for person, roles in people.items()
        }
        desk = MemoryDesk(world, backend, Surfaces(_calling(backend, people), clients))
        store = memory_deciding._store

        def noted(db: Any, approval: Approval, *rest: Any) -> None:  # noqa: ANN401  # as it is
            assert approval.status is ApprovalStatus.PENDING
            desk.written[approval.thread_id, approval.tool_call_id] += 1
            store(db, approval, *rest)

        with patch.context() as patched:
            patched.setattr(memory_deciding, "_store", noted)
            world.worker()
            yield desk


def _calling(backend: Backend, people: Mapping[str, tuple[str, ...]]) -> Any:  # noqa: ANN401  # see ``Surfaces.call``
    async def call(person: str, ref: str, args: Mapping[str, Any]) -> Outcome:
        caller = Identity(person, frozenset(people[person]))
        try:
            await backend.functions.call(ref, args, caller=caller)
        except ChatError as error:
            return error.code, error.data or {}
        return "OK", {}

    return call


def _backend(world: AgentWorld) -> Backend:
    database = world.database
    return Backend(
        world.store,
        world.reader,
        MemoryTransactions(database, world.store),
        MemoryThreadWriter(database, lambda *_: None),
        MemoryCallStore(database),
        agents={"a": world.agent},
    )
