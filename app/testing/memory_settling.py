"""Ending a run, and the facts that wake others: one transaction, whoever ends it."""

from contextlib import suppress
from dataclasses import replace

from app.domain.approval import ApprovalStatus, approval_step
from app.domain.errors import RecordRefused
from app.domain.message import (
    MessageStatus,
    Role,
    assistant_key,
    interrupted_part,
    open_result_part,
    plain_text,
)
from app.domain.output_policy import schema_of
from app.domain.ports import Salvage
from app.domain.run import LIVE, PARKED, Ended, Ending, FactStored, Fence, Run, RunStatus
from app.domain.settling import cost_of, interrupted_message
from app.domain.storable import Json, decode, encode
from app.domain.thread import Thread
from app.testing.memory_database import MemoryDatabase, Transaction
from app.testing.memory_writes import append, record_step


def settle(
    db: MemoryDatabase,
    run: Run,
    ending: Ending,
    tx: Transaction,
) -> Thread:
    """End a live run and what hangs on it; the thread is free, nobody follows yet."""
    thread = db.threads[run.thread_id]
    fence = Fence(thread.id, run.id, thread.epoch)
    salvage = tx.salvages.get(run.id, Salvage())
    for entry in salvage.entries:
        with suppress(RecordRefused):  # one that is refused does not hold up the end
            record_step(db, fence, entry, tx)
    unrecorded = [
        piece for piece in salvage.shown if assistant_key(piece.run_id, piece.turn) not in db.keys
    ]
    cut_off = interrupted_message(tx.ids.new(), run.id, thread.epoch, unrecorded)
    cost = cost_of(run.id, unrecorded)
    if run.worker is not None and ending.status is not RunStatus.COMPLETED:
        tx.driven.append((run.worker, fence))
    tx.ended.append(fence)
    thread = db.move(
        db.runs[run.id],
        Ended(ending.status),
        tx,
        stopped=ending.stopped,
        error=ending.error,
        output=None if ending.output is None else decode(ending.output),
        worker=None,
        finished_at=db.now(),
    )
    if cut_off is not None:
        thread = append(db, thread, run.id, (cut_off,))
    if cost is not None:
        db.runs[run.id] = replace(db.runs[run.id], usage=run.usage + cost)
        thread = db.put(replace(thread, usage=thread.usage + cost), tx)
    _interrupt(db, thread, run.id, tx)
    thread = db.put(replace(thread, error=ending.error), tx)
    _close_what_hangs_on(db, run, tx)
    _tell_parent(db, db.runs[run.id], ending, tx)
    return thread


def end_pending(db: MemoryDatabase, run: Run, ending: Ending, tx: Transaction) -> None:
    """End a run that was held back: its thread belongs to another."""
    db.held.pop(run.id)
    db.withdrawn.add(run.id)
    db.runs[run.id] = replace(
        run,
        status=ending.status,
        stopped=ending.stopped,
        error=ending.error,
        finished_at=db.now(),
    )
    thread = db.threads[run.thread_id]
    db.put(replace(thread, version=thread.version + 1), tx)
    _tell_parent(db, db.runs[run.id], ending, tx)


def store_fact(
    db: MemoryDatabase,
    run: Run,
    fact: str,
    value: Json,
    tx: Transaction,
    *,
    turn: int | None = None,
) -> bool:
    """Store a fact of a run, once, and queue the run if it waited for nothing else.

    A run that is held back, or has ended and may be retried, finds it when it goes on.
    """
    if fact in db.steps[run.id]:
        return False
    db.steps[run.id][fact] = (turn, encode(value))
    if run.status not in LIVE:
        return True
    met = run.status in PARKED and db.waits[run.id].is_met(db.steps[run.id])
    db.move(run, FactStored(met), tx)
    return True


def _close_what_hangs_on(db: MemoryDatabase, run: Run, tx: Transaction) -> None:
    for timer in [key for key, timer in db.timers.items() if timer.run_id == run.id]:
        del db.timers[timer]
    for child in db.children(run.id):
        if child.status is RunStatus.PENDING:
            end_pending(db, child, Ending.cancelled(), tx)
        else:
            settle(db, child, Ending.cancelled(), tx)


def _tell_parent(db: MemoryDatabase, run: Run, ending: Ending, tx: Transaction) -> None:
    if run.parent is None:
        return
    value: dict[str, Json] = {
        "runId": run.id,
        "status": run.status.value,
        "error": run.error.to_json() if run.error else None,
    }
    if ending.output is not None:
        value["answer"] = decode(ending.output)
    elif schema_of(run.policy) is None:
        value["answer"] = _last_said(db, run)
    parent = db.runs[run.parent.run_id]
    store_fact(db, parent, run.parent.fact, value, tx, turn=parent.turn)


def _last_said(db: MemoryDatabase, run: Run) -> str:
    said = [
        row
        for row in db.messages[run.thread_id]
        if row.run_id == run.id and row.role is Role.ASSISTANT
    ]
    return plain_text(said[-1].parts) if said else ""


def _interrupt(db: MemoryDatabase, thread: Thread, run_id: str, tx: Transaction) -> None:
    rows = db.messages[thread.id]
    for place, row in enumerate(rows):
        if row.run_id == run_id and row.status is MessageStatus.OPEN:
            parts = [interrupted_part(part) for part in row.parts]
            rows[place] = replace(
                row, parts=parts, status=MessageStatus.INTERRUPTED, version=thread.version
            )
    for approval in db.pending(thread.id):
        if approval.run_id == run_id:
            db.approvals[(thread.id, approval.tool_call_id)] = replace(
                approval, status=ApprovalStatus.CANCELLED, version=thread.version
            )
            if approval.root is not None:
                tx.shown.add(approval.root)


def reopen(db: MemoryDatabase, run: Run, version: int) -> None:
    """Let what a failure cut off be open again, in the turn that the run resumes at."""
    rows = db.messages[run.thread_id]
    for place, row in enumerate(rows):
        is_cut = row.status is MessageStatus.INTERRUPTED and row.role is Role.TOOL
        if is_cut and row.run_id == run.id and row.turn == run.turn:
            parts = [
                open_result_part(str(part["toolCallId"]), str(part["name"])) for part in row.parts
            ]
            rows[place] = replace(row, parts=parts, status=MessageStatus.OPEN, version=version)
    for key, approval in list(db.approvals.items()):
        is_cut = approval.status is ApprovalStatus.CANCELLED and approval.run_id == run.id
        if is_cut and approval_step(approval.tool_call_id) not in db.steps[run.id]:
            db.approvals[key] = replace(
                approval, status=ApprovalStatus.PENDING, requested_at=db.now(), version=version
            )
