"""What people decide, in the in-memory store; ``app.store.waiting`` does the same in Postgres."""

from collections.abc import Sequence
from dataclasses import replace

from app.domain.approval import (
    NOBODY,
    Approval,
    ApprovalStatus,
    Decider,
    NewDecision,
    approval_step,
    check_shown,
    decided_before,
    no_approval,
)
from app.domain.run import LIVE, PARKED, FactStored, Run
from app.domain.storable import encode
from app.testing.memory_database import MemoryDatabase, Transaction


def decide(
    db: MemoryDatabase,
    thread_id: str,
    decisions: Sequence[NewDecision],
    by: Decider,
    tx: Transaction,
) -> Sequence[Approval]:
    """See ``RunStore.decide``."""
    asked: list[tuple[Approval, NewDecision]] = []
    for each in decisions:
        approval = db.approvals.get((thread_id, each.tool_call_id))
        if approval is None:
            raise no_approval(each.tool_call_id)
        if approval.status is ApprovalStatus.PENDING:
            check_shown(approval, each)
            asked.append((approval, each))
        elif not each.repeats(approval, by):
            raise decided_before(approval)
    for approval, each in asked:
        _store(db, approval, each, by)
    if asked:
        run = db.runs[asked[0][0].run_id]
        if run.status in LIVE:
            is_met = run.status in PARKED and db.waits[run.id].is_met(db.steps[run.id])
            db.move(run, FactStored(is_met), tx)
    return [db.approvals[thread_id, each.tool_call_id] for each in decisions]


def expire(db: MemoryDatabase, run: Run, tool_call_id: str, tx: Transaction) -> None:
    """Decide what nobody has decided in time."""
    approval = db.approvals.get((run.thread_id, tool_call_id))
    if approval is None or approval.status is not ApprovalStatus.PENDING:
        return
    reason = f"nobody decided within {approval.rules.expires_after}"
    decision = NewDecision(tool_call_id, approval.rules.on_expiry, reason)
    decide(db, run.thread_id, [decision], NOBODY, tx)
    show_in_roots(db, [approval], tx)


def show_in_roots(db: MemoryDatabase, approvals: Sequence[Approval], tx: Transaction) -> None:
    """Let the watchers above see what changed below."""
    for root in sorted({each.root for each in approvals if each.root is not None}):
        thread = db.threads[root]
        db.put(replace(thread, version=thread.version + 1), tx)


def _store(db: MemoryDatabase, approval: Approval, decision: NewDecision, by: Decider) -> None:
    thread, run = db.threads[approval.thread_id], db.runs[approval.run_id]
    db.approvals[thread.id, approval.tool_call_id] = replace(
        approval,
        status=ApprovalStatus(decision.decision.value),
        decided_by=by.identity.user_id,
        place=by.place,
        reason=decision.reason,
        edited_input=decision.edited_input,
        decided_at=db.now(),
        version=thread.version + 1,
    )
    step = approval_step(approval.tool_call_id)
    db.steps[run.id].setdefault(step, (run.turn, encode(decision.to_json(by, approval))))
