"""Parking a run, and the decisions that wake it.

The thread's ``wakes`` closes the gap between the two: a decision raises it under the lock,
and a drive parks only if it has seen all of them.  So it does not matter whether a decision
comes before, while or after the run parks.
"""

from dataclasses import dataclass

from app.domain.approval import Approval, ApprovalStatus, Decision, approval_step
from app.domain.errors import Conflict
from app.domain.identity import Identity
from app.domain.ports import Verdict
from app.domain.run import PARKED, FactStored, Fence, Parked, RunStatus, Waits, advance
from app.domain.storable import encode
from app.domain.thread import shown_status
from app.store.executors import Executor
from app.store.locking import lock_for, lock_thread
from app.store.owed import Owed
from app.store.rows import APPROVAL, APPROVALS, approval_from, columns

_STATUS = "SELECT status FROM agent_runs WHERE id = $1"
_PARK = """
WITH r AS (
    UPDATE agent_runs SET status = $3, waits = $4::text::jsonb, worker = NULL WHERE id = $2
)
UPDATE agent_threads
   SET status = $5, version = version + 1, updated_at = clock_timestamp()
 WHERE id = $1
RETURNING version
"""
_FIND = f"{APPROVALS} WHERE a.thread = $1 AND a.tool_call_id = $2"
_DECIDE = f"""
WITH s AS (
    INSERT INTO agent_steps (run, name, turn, value, created_at)
    SELECT r.id, $3, r.turn, $4::bytea, clock_timestamp() FROM agent_runs r WHERE r.id = $2
)
UPDATE agent_approvals a
   SET status = $5, decided_by = $6, reason = $7, decided_at = clock_timestamp(), version = $8
 WHERE a.id = $1
RETURNING {columns(APPROVAL, "a")}
"""
_STILL_WAITS = """
SELECT r.status,
       EXISTS (SELECT FROM jsonb_array_elements(r.waits) g
                WHERE NOT EXISTS (SELECT FROM agent_steps s
                                   WHERE s.run = r.id AND g ? s.name)) AS still_waits
  FROM agent_runs r
 WHERE r.id = $1
"""
_WAKE = """
WITH r AS (
    UPDATE agent_runs
       SET status = $3, queued_at = CASE WHEN $4 THEN clock_timestamp() ELSE queued_at END
     WHERE id = $2
)
UPDATE agent_threads
   SET status = $5, wakes = wakes + $6, version = version + 1, updated_at = clock_timestamp()
 WHERE id = $1
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person answers."""

    decision: Decision
    by: Identity
    reason: str | None

    def to_json(self) -> str:
        """Return the value of the step that records the decision."""
        value = {"decision": self.decision.value, "by": self.by.user_id, "reason": self.reason}
        return encode(value)


async def park(executor: Executor, fence: Fence, seen: int, waits: Waits, owed: Owed) -> Verdict:
    """Park the run if nothing was stored for the thread since ``seen``."""
    thread = await lock_for(executor, fence)
    if thread is None:
        return Verdict.LOST
    status = RunStatus((await executor.fetch(_STATUS, fence.run_id))[0]["status"])
    if status in PARKED:  # the answer to the first try was lost
        return Verdict.DONE
    if status is not RunStatus.RUNNING:
        return Verdict.LOST
    if thread.wakes != seen:
        return Verdict.MOVED
    change = advance(status, Parked(waits.awaits_input))
    rows = await executor.fetch(
        _PARK,
        thread.id,
        fence.run_id,
        change.status.value,
        encode(waits.to_json()),
        shown_status(change.status).value,
    )
    owed.announce(thread.id, rows[0]["version"])
    return Verdict.DONE


async def decide(
    executor: Executor, thread_id: str, tool_call_id: str, answer: Answer, owed: Owed
) -> Approval | None:
    """Store a decision once, and queue the run when it was the last one awaited."""
    thread = await lock_thread(executor, thread_id)
    rows = await executor.fetch(_FIND, thread_id, tool_call_id)
    if thread is None or not rows:
        return None
    approval = approval_from(rows[0])
    if approval.status is not ApprovalStatus.PENDING:
        return _decided_before(approval, answer.decision)
    version = thread.version + 1
    rows = await executor.fetch(
        _DECIDE,
        approval.id,
        approval.run_id,
        approval_step(tool_call_id),
        answer.to_json().encode(),
        answer.decision.value,
        answer.by.user_id,
        answer.reason,
        version,
    )
    await _wake(executor, thread_id, approval.run_id, owed)
    owed.announce(thread_id, version)
    return approval_from(rows[0])


def _decided_before(approval: Approval, decision: Decision) -> Approval:
    if approval.status.value == decision.value:
        return approval
    raise Conflict(
        f"the call was already {approval.status.value}",
        {"status": approval.status.value, "decidedBy": approval.decided_by},
    )


async def _wake(executor: Executor, thread_id: str, run_id: str, owed: Owed) -> None:
    """Note a stored fact: ``wakes`` grows, and a run that waits for nothing more is queued."""
    row = (await executor.fetch(_STILL_WAITS, run_id))[0]
    status = RunStatus(row["status"])
    change = advance(status, FactStored(status in PARKED and not row["still_waits"]))
    is_queued = status in PARKED and change.status is RunStatus.QUEUED
    await executor.fetch(
        _WAKE,
        thread_id,
        run_id,
        change.status.value,
        is_queued,
        shown_status(change.status).value,
        change.wakes,
    )
    if is_queued:
        owed.queued.append(run_id)
