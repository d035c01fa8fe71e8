"""Names of the steps that somebody else stores for a run: what it can wait for."""

from dataclasses import dataclass
from datetime import timedelta


def child_fact(tool_call_id: str) -> str:
    """Return the name of the fact that a call's child run has ended.

    Its value: ``{"runId", "status", "answer", "error"}``; ``answer`` is the child's last text.
    """
    return f"child:{tool_call_id}"


def timer_fact(name: str) -> str:
    """Return the name of the fact that a timer has fired.  Its value is null."""
    return f"timer:{name}"


def event_fact(name: str, occurrence: int) -> str:
    """Return the name of the fact that an event came; ``occurrence`` counts from 0.

    Its value is the event's payload.
    """
    return f"event:{name}#{occurrence}"


@dataclass(frozen=True, slots=True)
class NewTimer:
    """A timer that a park sets, if the run has none of this fact yet; the store's clock counts."""

    fact: str
    after: timedelta
