"""A finished step as the arguments of the one statement that stores it."""

from app.domain.errors import ChatError, RecordRefused
from app.domain.ports import Recorded
from app.domain.record import Record, Writes
from app.domain.run import Fence, Usage
from app.domain.storable import encode
from app.store.executors import Executor, Row
from app.store.statements import RECORD


async def record_step(executor: Executor, fence: Fence, record: Record) -> Recorded | None:
    """Store a step under a fence; ``None`` when the fence is lost.  One statement."""
    rows = await executor.fetch(RECORD, *record_arguments(fence, record))
    return recorded_from(rows[0]) if rows else None


def recorded_from(row: Row) -> Recorded:
    """Return what the statement answers."""
    return Recorded(version=row["version"], wakes=row["wakes"], was_new=row["was_new"])


def refusal(record: Record, error: ChatError) -> RecordRefused:
    """Return ``error`` with the step's name, and with a cause where the driver has none."""
    state = error.data.get("sqlstate") if error.data else None
    # The statement divides by zero when what it is about is gone: see sql/record.sql.
    gone = "its result row is not open" if record.writes.filled else "a signal was read already"
    why = gone if state == "22012" else error.message
    return RecordRefused(f"the record of step {record.step!r} is refused: {why}", error.data)


def record_arguments(fence: Fence, record: Record) -> tuple[object, ...]:
    """Return the arguments of ``sql/record.sql``, in its order."""
    writes = record.writes
    return (
        fence.thread_id,
        fence.run_id,
        fence.epoch,
        record.step,
        record.turn,
        record.value.encode(),
        *_messages(writes),
        *_filled(writes),
        *_approvals(writes),
        writes.turn,
        _usage(writes.run_usage),
        _usage(writes.thread_usage),
        list(writes.consumed),
        [row.rules for row in writes.approvals],
        record.trace,
    )


def _messages(writes: Writes) -> tuple[list[object], ...]:
    rows = writes.messages
    return (
        [row.id for row in rows],
        [row.key for row in rows],
        [row.role.value for row in rows],
        [row.status.value for row in rows],
        [row.turn for row in rows],
        [row.parts for row in rows],
        [row.model for row in rows],
        [row.model_name for row in rows],
        [row.usage for row in rows],
        [row.author for row in rows],
        [row.dedupe for row in rows],
    )


def _filled(writes: Writes) -> tuple[str | None, ...]:
    filled = writes.filled
    if filled is None:
        return (None, None, None, None)
    return (filled.key, filled.status.value, filled.parts, filled.model)


def _approvals(writes: Writes) -> tuple[list[object], ...]:
    rows = writes.approvals
    return (
        [row.id for row in rows],
        [row.tool_call_id for row in rows],
        [row.name for row in rows],
        [row.input for row in rows],
    )


def _usage(usage: Usage | None) -> str | None:
    return None if usage is None else encode(usage.to_json())
