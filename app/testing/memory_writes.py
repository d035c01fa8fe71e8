"""What the one statement of ``record`` does, and how rows are appended."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from app.domain.approval import Approval, ApprovalRules, ApprovalStatus
from app.domain.errors import RecordRefused
from app.domain.message import (
    Message,
    MessageStatus,
    Part,
)
from app.domain.ports import Recorded
from app.domain.record import FilledMessage, NewApproval, NewMessage, Record
from app.domain.run import Fence
from app.domain.storable import Json, decode
from app.domain.thread import Thread
from app.testing.memory_database import MemoryDatabase, Transaction


def record_step(
    db: MemoryDatabase, fence: Fence, record: Record, tx: Transaction
) -> Recorded | None:
    """Do what the one statement of ``record`` does."""
    thread = db.holder(fence)
    if thread is None:
        return None
    steps = db.steps[fence.run_id]
    if record.step in steps:
        return Recorded(thread.version, thread.wakes, was_new=False)
    writes = record.writes
    _check(db, writes.messages, writes.filled)
    _consume(db, fence.run_id, writes.consumed)
    thread = replace(thread, version=thread.version + 1, usage=writes.thread_usage or thread.usage)
    if writes.filled is not None:
        _fill(db, thread, writes.filled)
    thread = append(db, thread, fence.run_id, writes.messages)
    for asked in writes.approvals:
        db.approvals[(thread.id, asked.tool_call_id)] = _approval(db, fence, thread, asked)
    run = db.runs[fence.run_id]
    db.runs[fence.run_id] = replace(
        run,
        turn=run.turn if writes.turn is None else writes.turn,
        usage=writes.run_usage or run.usage,
        crashes=0,
    )
    steps[record.step] = (record.turn, record.value)
    db.put(thread, tx)
    return Recorded(thread.version, thread.wakes, was_new=True)


def append(db: MemoryDatabase, thread: Thread, run_id: str, rows: Sequence[NewMessage]) -> Thread:
    """Append rows under the thread's version and return the thread with its new ``seq``."""
    stored = db.messages[thread.id]
    for place, row in enumerate(rows, start=thread.seq + 1):
        db.keys[row.key] = len(stored)
        stored.append(
            Message(
                id=row.id,
                thread_id=thread.id,
                seq=place,
                version=thread.version,
                run_id=run_id,
                role=row.role,
                status=row.status,
                parts=_parts(row.parts),
                created_at=db.now(),
                turn=row.turn,
                model=row.model,
                model_name=row.model_name,
                usage=cast("dict[str, Json]", decode(row.usage)) if row.usage else None,
                author=row.author,
                dedupe=row.dedupe,
            )
        )
    return replace(thread, seq=thread.seq + len(rows))


def _check(db: MemoryDatabase, rows: Sequence[NewMessage], filled: FilledMessage | None) -> None:
    """Refuse what the constraints would refuse, before anything changes."""
    if any(row.key in db.keys for row in rows):
        raise RecordRefused("a message with this key is there already")
    if filled is not None and filled.key not in db.keys:
        raise RecordRefused(f"{filled.key} has no open row")


def _consume(db: MemoryDatabase, run_id: str, signals: Sequence[str]) -> None:
    if any(each not in db.signals for each in signals):
        raise RecordRefused("a signal was read already")
    for each in signals:
        del db.signals[each]
        db.read_signals[each] = run_id


def _fill(db: MemoryDatabase, thread: Thread, filled: FilledMessage) -> None:
    rows, place = db.messages[thread.id], db.keys[filled.key]
    if rows[place].status is not MessageStatus.OPEN:
        raise RecordRefused(f"{filled.key} is not open")
    rows[place] = replace(
        rows[place],
        status=filled.status,
        parts=_parts(filled.parts),
        model=filled.model,
        version=thread.version,
    )


def _approval(db: MemoryDatabase, fence: Fence, thread: Thread, asked: NewApproval) -> Approval:
    root = db.root_thread(thread)
    return Approval(
        id=asked.id,
        thread_id=thread.id,
        run_id=fence.run_id,
        tool_call_id=asked.tool_call_id,
        name=asked.name,
        input=decode(asked.input),
        status=ApprovalStatus.PENDING,
        version=thread.version,
        requested_at=db.now(),
        thread_key=thread.key,
        agent=thread.agent,
        owner=thread.owner,
        thread_title=thread.title,
        conversation_key=None if root.id == thread.id else root.key,
        rules=ApprovalRules.from_json(decode(asked.rules)),
        root=db.root_of(db.runs[fence.run_id]),
    )


def _parts(text: str) -> list[Part]:
    return cast("list[Part]", decode(text))
