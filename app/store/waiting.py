"""Parking a run, and the decisions and events that wake it.

The thread's ``wakes`` closes the gap between the two: a fact raises it under the lock,
and a drive parks only if it has seen all of them.  So it does not matter whether a fact
comes before, while or after the run parks.
"""

from collections.abc import Sequence

from app.domain import notice
from app.domain.approval import (
    EXPIRY,
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
from app.domain.facts import NewTimer, event_fact
from app.domain.ports import Verdict
from app.domain.run import FINAL, PARKED, Fence, Parked, Run, RunStatus, Waits, advance
from app.domain.storable import encode
from app.domain.thread import shown_status
from app.store.executors import Executor
from app.store.locking import lock_for, lock_thread, read_run
from app.store.owed import Owed
from app.store.rows import APPROVALS, approval_from
from app.store.showing import lock_roots, show_in_root
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
_ASKED = f"{APPROVALS} WHERE a.thread = $1 AND a.run = $2 AND a.status = 'pending'"
_DECIDE = """
WITH s AS (
    INSERT INTO agent_steps (run, name, turn, value, created_at)
    SELECT r.id, $3, r.turn, $4::bytea, clock_timestamp() FROM agent_runs r WHERE r.id = $2
)
UPDATE agent_approvals
   SET status = $5, decided_by = $6, place = $7, reason = $8, edited_input = $9::text::json,
       decided_at = clock_timestamp(), version = $10
 WHERE id = $1
"""
_IS_MET = """
SELECT NOT EXISTS (SELECT FROM jsonb_array_elements($2::text::jsonb) g
                    WHERE NOT EXISTS (SELECT FROM agent_steps s
                                       WHERE s.run = $1
                                         AND s.name IN (SELECT jsonb_array_elements_text(g))))
       AS is_met
"""
_SET_TIMERS = f"""
INSERT INTO agent_timers (id, thread, run, fact, due_at)
SELECT $2 || '/' || n.fact, $1, $2, n.fact, coalesce(a.requested_at, clock_timestamp()) + n.after
  FROM unnest($3::text[], $4::interval[]) AS n (fact, after)
  LEFT JOIN agent_approvals a ON a.thread = $1 AND n.fact = '{EXPIRY}' || a.tool_call_id
 WHERE NOT EXISTS (SELECT FROM agent_steps s WHERE s.run = $2 AND s.name = n.fact)
    ON CONFLICT (id) DO NOTHING
"""
_EVENTS = """
SELECT count(*) AS stored FROM agent_steps
 WHERE run = $1 AND starts_with(name, $2) AND substr(name, length($2) + 1) ~ '^[0-9]+$'
"""


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
    if owed.notices is not None and waits.awaits_input:
        for row in await executor.fetch(_ASKED, thread.id, fence.run_id):
            owed.tell(notice.asked(approval_from(row)))
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
    executor: Executor,
    thread_id: str,
    decisions: Sequence[NewDecision],
    by: Decider,
    owed: Owed,
) -> Sequence[Approval]:
    """Store decisions once, all or none, and queue the run when they were the last awaited.

    Raises:
        NotFound: there is no such approval; ``data`` says of which call.
        Conflict: one was decided or closed before, or its arguments are others than were shown.
    """
    roots = await lock_roots(executor, thread_id, [each.tool_call_id for each in decisions])
    thread = await lock_thread(executor, thread_id)
    asked: list[tuple[Approval, NewDecision]] = []
    for each in decisions:
        approval = await _approval(executor, thread_id, each.tool_call_id)
        if thread is None or approval is None:
            raise no_approval(each.tool_call_id)
        if approval.status is ApprovalStatus.PENDING:
            check_shown(approval, each)
            asked.append((approval, each))
        elif not each.repeats(approval, by):
            raise decided_before(approval)
    for approval, each in asked:
        edited = each.edited_input
        await executor.fetch(
            _DECIDE,
            approval.id,
            approval.run_id,
            approval_step(each.tool_call_id),
            encode(each.to_json(by, approval)).encode(),
            each.decision.value,
            by.identity.user_id,
            by.place.value,
            each.reason,
            None if edited is None else encode(edited),
            (thread.version if thread else 0) + 1,
        )
    if asked:
        await wake(executor, await read_run(executor, asked[0][0].run_id), owed)
        for root in roots or ():
            await show_in_root(root, executor, owed)
    found = [await _approval(executor, thread_id, each.tool_call_id) for each in decisions]
    decided = [approval for approval in found if approval is not None]
    new = {approval.id for approval, _ in asked}
    for approval in decided:
        if approval.id in new:  # what was told of the first time may be forgotten by now
            owed.tell(notice.decided(approval))
    return decided


async def expire(executor: Executor, run: Run, tool_call_id: str, owed: Owed) -> None:
    """Decide what nobody has decided in time, as was declared.

    The run's thread is locked, and before it that at the top.
    """
    approval = await _approval(executor, run.thread_id, tool_call_id)
    if approval is None or approval.status is not ApprovalStatus.PENDING:
        return
    after = approval.rules.expires_after
    decision = NewDecision(tool_call_id, approval.rules.on_expiry, f"nobody decided within {after}")
    await decide(executor, run.thread_id, [decision], NOBODY, owed)


async def _approval(executor: Executor, thread_id: str, tool_call_id: str) -> Approval | None:
    rows = await executor.fetch(_FIND, thread_id, tool_call_id)
    return approval_from(rows[0]) if rows else None


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
