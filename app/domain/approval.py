"""A person's decision that a tool call waits for."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.domain.storable import Json


class ApprovalStatus(StrEnum):
    """``cancelled``: the run ended before anybody decided."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    CANCELLED = "cancelled"


class Decision(StrEnum):
    """What a person may answer."""

    APPROVED = "approved"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class Approval:
    """A stored approval, as a reader sees it."""

    id: str
    thread_id: str
    run_id: str
    tool_call_id: str
    name: str
    input: Json
    status: ApprovalStatus
    version: int
    requested_at: datetime
    decided_by: str | None = None
    reason: str | None = None
    decided_at: datetime | None = None


def approval_step(tool_call_id: str) -> str:
    """Return the name of the step that records the decision on a call."""
    return f"approval:{tool_call_id}"
