"""Units of work over the in-memory run store: undone when their block raises.

One at a time, which is stricter than the real thing; what several transactions do to one
another is tested on Postgres (``tests/integration/functions``).
"""

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields
from datetime import datetime
from typing import cast

from app.domain.calls import CallKey, RememberedCall
from app.domain.ports import Announce, RunStore, StartedRun, StartRun
from app.domain.ports.branches import NewBranch, NewFork
from app.domain.scheduled import CallTarget
from app.domain.signal import NewSignal, Signalled
from app.domain.tables import Keys
from app.testing.memory_branches import MemoryBranches
from app.testing.memory_calls import MemoryCallStore
from app.testing.memory_database import MemoryDatabase
from app.tracking import Session


def _tell_nobody(thread_id: str, version: int) -> None:
    del thread_id, version


class MemoryTransactions:
    """Implements ``app.functions.ports.Transactions``."""

    def __init__(
        self, database: MemoryDatabase, store: RunStore, announce: Announce = _tell_nobody
    ) -> None:
        self._db = database
        self._lock = asyncio.Lock()
        self.store = store
        self.branching = MemoryBranches(database, store, announce)
        self.scheduled = MemoryCallStore(database)
        self.calls: dict[CallKey, RememberedCall] = {}

    @asynccontextmanager
    async def begin(self) -> AsyncIterator["MemoryUnit"]:
        """See ``Transactions.begin``."""
        async with self._lock:
            rows = {each.name: getattr(self._db, each.name) for each in fields(self._db)}
            saved = {name: copy.deepcopy(value) for name, value in rows.items() if name != "now"}
            calls = dict(self.calls)
            try:
                yield MemoryUnit(self)
            except BaseException:
                self.calls = calls
                for name, value in saved.items():
                    setattr(self._db, name, value)
                raise

    @asynccontextmanager
    async def read_only(self, reads: dict[str, Keys]) -> AsyncIterator[Session]:
        """See ``Transactions.read_only``; there is no session in memory."""
        del reads
        yield cast(Session, None)


class MemoryUnit:
    """Implements ``app.functions.ports.UnitOfWork``."""

    def __init__(self, transactions: MemoryTransactions) -> None:
        self._transactions = transactions
        self.session = cast(Session, None)

    async def start(self, start: StartRun) -> StartedRun:
        """See ``UnitOfWork.start``."""
        return await self._transactions.store.start(start)

    async def branch(self, new: NewBranch) -> StartedRun:
        """See ``UnitOfWork.branch``."""
        return await self._transactions.branching.branch(new)

    async def fork(self, new: NewFork) -> None:
        """See ``UnitOfWork.fork``."""
        await self._transactions.branching.fork(new)

    async def schedule(self, timer_id: str, start: StartRun, due_at: datetime) -> None:
        """See ``UnitOfWork.schedule``."""
        await self._transactions.store.schedule(timer_id, start, due_at)

    async def schedule_call(self, call_id: str, target: CallTarget, due_at: datetime) -> None:
        """See ``UnitOfWork.schedule_call``."""
        await self._transactions.scheduled.put(call_id, target, due_at)

    async def cancel_schedule(self, schedule_id: str) -> bool:
        """See ``UnitOfWork.cancel_schedule``."""
        return await self._transactions.store.unschedule(
            schedule_id
        ) or await self._transactions.scheduled.cancel(schedule_id)

    async def signal(self, signal: NewSignal) -> Signalled | None:
        """See ``UnitOfWork.signal``."""
        return await self._transactions.store.signal(signal)

    async def send_event(self, run_id: str, name: str, payload: str) -> bool:
        """See ``UnitOfWork.send_event``."""
        return await self._transactions.store.send_event(run_id, name, payload)

    async def remember(self, call: CallKey, arguments: str) -> RememberedCall | None:
        """See ``UnitOfWork.remember``."""
        earlier = self._transactions.calls.get(call)
        if earlier is None:
            self._transactions.calls[call] = RememberedCall(arguments, None)
        return earlier

    async def answer(self, call: CallKey, result: str) -> None:
        """See ``UnitOfWork.answer``."""
        remembered = self._transactions.calls[call]
        self._transactions.calls[call] = RememberedCall(remembered.arguments, result)
