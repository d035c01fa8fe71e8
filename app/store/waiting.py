"""Parking a run, and the decisions and events that wake it.

The thread's ``wakes`` closes the gap between the two: a fact raises it under the lock,
and a drive parks only if it has seen all of them.  So it does not matter whether a fact
comes before, while or after the run parks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.approval import Approval, ApprovalStatus, Decision, approval_step
from app.domain.errors import Conflict
from app.domain.facts import NewTimer, event_fact
from app.domain.identity import Identity
from app.domain.ports import Verdict
from app.domain.run import FINAL, PARKED, Fence, Parked, RunStatus, Waits, advance
from app.domain.storable import encode
from app.domain.thread import shown_status
from app.store.executors import Executor
from app.store.locking import lock_for, lock_thread, read_run
from app.store.owed import Owed
from app.store.rows import APPROVAL, APPROVALS, approval_from, columns
from app.store.waking import store_fact, wake

_THREAD_OF = "SELECT thread FROM agent_runs WHERE id = $1"
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
_IS_MET = """
SELECT NOT EXISTS (SELECT FROM jsonb_array_elements($2::text::jsonb) g
                    WHERE NOT EXISTS (SELECT FROM agent_steps s
                                       WHERE s.run = $1
                                         AND s.name IN (SELECT jsonb_array_elements_text(g))))
       AS is_met
"""
_SET_TIMERS = """
INSERT INTO agent_timers (id, thread, run, fact, due_at)
SELECT $2 || '/' || n.fact, $1, $2, n.fact, clock_timestamp() + n.after
  FROM unnest($3::text[], $4::interval[]) AS n (fact, after)
 WHERE NOT EXISTS (SELECT FROM agent_steps s WHERE s.run = $2 AND s.name = n.fact)
    ON CONFLICT (id) DO NOTHING
"""
_EVENTS = """
SELECT count(*) AS stored FROM agent_steps
 WHERE run = $1 AND starts_with(name, $2) AND substr(name, length($2) + 1) ~ '^[0-9]+$'
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


async def park(
    executor: Executor,
    fence: Fence,
    seen: int,
    waits: Waits,
    *,
    timers: Sequence[NewTimer],
    owed: Owed,
) -> Verdict:
    """Park the run if nothing was stored for the thread since ``seen``, and set its timers."""
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
    condition = encode(waits.to_json())
    if (await executor.fetch(_IS_MET, fence.run_id, condition))[0]["is_met"]:
        return Verdict.MOVED
    if timers:
        facts, after = [timer.fact for timer in timers], [timer.after for timer in timers]
        await executor.fetch(_SET_TIMERS, thread.id, fence.run_id, facts, after)
    change = advance(status, Parked(waits.awaits_input))
    rows = await executor.fetch(
        _PARK,
        thread.id,
        fence.run_id,
        change.status.value,
        condition,
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
    await wake(executor, await read_run(executor, approval.run_id), owed)
    return approval_from(rows[0])


def _decided_before(approval: Approval, decision: Decision) -> Approval:
    if approval.status.value == decision.value:
        return approval
    raise Conflict(
        f"the call was already {approval.status.value}",
        {"status": approval.status.value, "decidedBy": approval.decided_by},
    )


async def send_event(executor: Executor, run_id: str, name: str, payload: str, owed: Owed) -> bool:
    """Store an event for an unfinished run; it may wait for it now or in any later turn."""
    thread_of = await executor.fetch(_THREAD_OF, run_id)
    if not thread_of or await lock_thread(executor, thread_of[0]["thread"]) is None:
        return False
    run = await read_run(executor, run_id)
    if run.status in FINAL:
        return False
    (found,) = await executor.fetch(_EVENTS, run_id, event_fact(name, 0)[:-1])
    fact = event_fact(name, found["stored"])
    await store_fact(executor, run, fact, payload, owed, of_turn=False)
    return True
