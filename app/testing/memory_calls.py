"""``CallStore`` in memory."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from app.domain.scheduled import CallTarget, DueCall
from app.testing.memory_database import MemoryCall, MemoryDatabase


class MemoryCallStore:
    """Implements ``app.domain.ports.schedules.CallStore``."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def put(self, call_id: str, target: CallTarget, due_at: datetime) -> None:
        """See ``CallStore.put``."""
        await self._db.turn()
        self._db.calls.setdefault(call_id, MemoryCall(target, due_at))

    async def cancel(self, call_id: str) -> bool:
        """See ``CallStore.cancel``."""
        await self._db.turn()
        call = self._db.calls.get(call_id)
        if call is None or call.attempts or call.made_at is not None:
            return False
        del self._db.calls[call_id]
        return True

    async def claim(
        self, functions: Collection[str], limit: int, lease: timedelta
    ) -> Sequence[DueCall]:
        """See ``CallStore.claim``."""
        await self._db.turn()
        now = self._db.now()
        due = [
            (call_id, call)
            for call_id, call in self._db.calls.items()
            if call.made_at is None
            and call.due_at <= now
            and (call.taken_until is None or call.taken_until < now)
            and call.target.function in functions
            and not self._is_behind_another(call)
        ]
        due.sort(key=lambda each: each[1].due_at)
        for _, call in due[:limit]:
            call.taken_until, call.attempts = now + lease, call.attempts + 1
        return [
            DueCall(call_id, call.target, call.attempts, call.due_at)
            for call_id, call in due[:limit]
        ]

    async def renew(self, call_ids: Collection[str], lease: timedelta) -> None:
        """See ``CallStore.renew``."""
        await self._db.turn()
        for call_id in call_ids:
            self._db.calls[call_id].taken_until = self._db.now() + lease

    async def settle(self, call_id: str, error: str | None) -> None:
        """See ``CallStore.settle``."""
        await self._db.turn()
        call = self._db.calls[call_id]
        if call.made_at is None:
            call.made_at, call.taken_until, call.error = self._db.now(), None, error

    async def put_off(self, call_id: str, wait: timedelta) -> None:
        """See ``CallStore.put_off``."""
        await self._db.turn()
        call = self._db.calls[call_id]
        call.due_at, call.taken_until = self._db.now() + wait, None

    async def fail_unknown(self, functions: Collection[str], after: timedelta) -> int:
        """See ``CallStore.fail_unknown``."""
        await self._db.turn()
        now = self._db.now()
        lost = [
            call
            for call in self._db.calls.values()
            if call.made_at is None
            and (call.taken_until is None or call.taken_until < now)
            and call.due_at < now - after
            and call.target.function not in functions
        ]
        for call in lost:
            call.made_at, call.error = now, f"no worker knows the function {call.target.function}"
        return len(lost)

    def _is_behind_another(self, call: MemoryCall) -> bool:
        """Whether an earlier slot of the same cron has not been called yet."""
        return call.slot is not None and any(
            other.cron == call.cron
            and other.made_at is None
            and other.slot is not None
            and other.slot < call.slot
            for other in self._db.calls.values()
        )
