"""What other systems are told: that a person is asked, that he decided, that a run has ended.

A notice is written in the transaction that made it true, and sent afterwards, at least once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.domain.approval import Approval, input_hash
from app.domain.run import Ending, Run, RunStatus
from app.domain.storable import Json
from app.domain.thread import Thread

REQUESTED = "approval.requested"
DECIDED = "approval.decided"
COMPLETED = "run.completed"
FAILED = "run.failed"


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that happened.  ``id`` is the same however often it is written or sent."""

    id: str
    kind: str
    data: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class OwedNotice:
    """A stored notice on its way; ``attempts`` counts this one."""

    notice: Notice
    created_at: datetime
    attempts: int


def asked(approval: Approval) -> Notice:
    """Return the notice that a call waits for a person."""
    # When a failed run is retried, its calls are asked anew: each asking is one of its own.
    asked_ms = int(approval.requested_at.timestamp() * 1000)
    return Notice(f"{REQUESTED}:{approval.id}:{asked_ms}", REQUESTED, _approval(approval))


def decided(approval: Approval) -> Notice:
    """Return the notice that somebody, or nobody in time, has decided."""
    data: dict[str, Json] = {
        **_approval(approval),
        "decision": approval.status.value,
        "decidedBy": approval.decided_by,
        "place": None if approval.place is None else approval.place.value,
        "reason": approval.reason,
        "editedInput": approval.edited_input,
    }
    return Notice(f"{DECIDED}:{approval.id}", DECIDED, data)


def ended(thread: Thread, run: Run, ending: Ending) -> Notice | None:
    """Return the notice that a run has ended by itself; one that was cancelled is none."""
    if ending.status is RunStatus.CANCELLED:
        return None
    kind = COMPLETED if ending.status is RunStatus.COMPLETED else FAILED
    data: dict[str, Json] = {
        "runId": run.id,
        "key": thread.key,
        "agent": run.agent,
        "owner": thread.owner,
        "stopped": ending.stopped,
        "error": None if ending.error is None else ending.error.to_json(),
    }
    # A failed run may be retried, and fail again: each end is one of its own.
    return Notice(f"{kind}:{run.id}:{thread.epoch}", kind, data)


def _approval(approval: Approval) -> dict[str, Json]:
    return {
        "approvalId": approval.id,
        "key": approval.thread_key,
        "agent": approval.agent,
        "owner": approval.owner,
        "runId": approval.run_id,
        "toolCallId": approval.tool_call_id,
        "name": approval.name,
        "input": approval.input,
        "inputHash": input_hash(approval.input),
        "editable": approval.rules.editable,
        "approvers": list(approval.rules.approvers),
        "requestedAt": approval.requested_at.isoformat(timespec="milliseconds"),
        "expiresAt": None
        if approval.expires_at is None
        else approval.expires_at.isoformat(timespec="milliseconds"),
    }
