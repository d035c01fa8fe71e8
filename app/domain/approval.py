"""A person's decision that a tool call waits for: what is asked, and what was answered."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from app.domain.errors import Conflict, NotFound
from app.domain.identity import Identity
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


class Place(StrEnum):
    """Where a decision was made.  ``system``: nobody made it in time."""

    API = "api"
    CLI = "cli"
    DASHBOARD = "dashboard"
    SLACK = "slack"
    TEAMS = "teams"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """What was declared of the decision, as of the moment at which it was asked for.

    Attributes:
        approvers: who may decide: ids, e-mails, ``$owner``, ``$speaker``; empty: the thread's
            owner, whoever is responsible for the agent, and admins.
        editable: whether the decider may change the arguments.
        expires_after: for how long it waits; ``None``: for ever.
        on_expiry: what then counts as decided.
    """

    approvers: tuple[str, ...] = ()
    editable: bool = False
    expires_after: timedelta | None = None
    on_expiry: Decision = Decision.DENIED

    def to_json(self) -> dict[str, Json]:
        """Return the form that is stored; what was not said is left out."""
        stored: dict[str, Json] = {}
        if self.approvers:
            stored["approvers"] = list(self.approvers)
        if self.editable:
            stored["editable"] = True
        if self.expires_after is not None:
            stored["expiresAfter"] = self.expires_after.total_seconds()
            stored["onExpiry"] = self.on_expiry.value
        return stored

    @classmethod
    def from_json(cls, stored: Json) -> "ApprovalRules":
        """Return what ``to_json`` wrote; ``None``: nothing was said."""
        said = stored if isinstance(stored, dict) else {}
        approvers, seconds = said.get("approvers"), said.get("expiresAfter")
        return cls(
            tuple(map(str, approvers)) if isinstance(approvers, list) else (),
            said.get("editable") is True,
            timedelta(seconds=seconds) if isinstance(seconds, int | float) else None,
            Decision(str(said.get("onExpiry", Decision.DENIED.value))),
        )


NO_RULES = ApprovalRules()


@dataclass(frozen=True, slots=True)
class Approval:
    """A stored approval, as a reader sees it.

    Attributes:
        thread_key: of the conversation that asks, which may be that of a child run.
        agent: whose call it is.
        owner: the thread's.
        thread_title: the conversation's, as it is now.
        conversation_key: of the conversation's root, if the thread is a branch of one.
        root: id of the thread at the top of the runs that asked for this one, if it is another.
        decided_by: the decider's user id, ``None`` for one who has none.
    """

    id: str
    thread_id: str
    run_id: str
    tool_call_id: str
    name: str
    input: Json
    status: ApprovalStatus
    version: int
    requested_at: datetime
    thread_key: str
    agent: str
    owner: str | None = None
    rules: ApprovalRules = NO_RULES
    decided_by: str | None = None
    place: Place | None = None
    reason: str | None = None
    edited_input: Json = None
    decided_at: datetime | None = None
    root: str | None = None
    thread_title: str | None = None
    conversation_key: str | None = None

    @property
    def expires_at(self) -> datetime | None:
        """When it will be decided without anybody."""
        after = self.rules.expires_after
        return None if after is None else self.requested_at + after


@dataclass(frozen=True, slots=True)
class Decider:
    """Who decides, and where."""

    identity: Identity
    place: Place = Place.API


NOBODY = Decider(Identity(), Place.SYSTEM)
"""Decides what has expired."""


@dataclass(frozen=True, slots=True)
class NewDecision:
    """An answer to one approval.

    Attributes:
        tool_call_id: the call that is meant.
        decision: the answer.
        reason: what the model is told.
        edited_input: the arguments with which the call is to be made instead; ``None``: as asked.
        shown: the hash of the arguments that the decider saw; ``None``: he does not say.
    """

    tool_call_id: str
    decision: Decision
    reason: str | None = None
    edited_input: dict[str, Json] | None = None
    shown: str | None = None

    def to_json(self, by: Decider, approval: Approval) -> dict[str, Json]:
        """Return the value of the step that records the decision.

        ``shown`` names the arguments that were approved: the call is made with these, or not.
        """
        value: dict[str, Json] = {
            "decision": self.decision.value,
            "by": by.identity.user_id,
            "reason": self.reason,
        }
        if self.edited_input is not None:
            value["input"] = self.edited_input
        elif self.decision is Decision.APPROVED:
            value["shown"] = input_hash(approval.input)
        return value

    def repeats(self, approval: Approval, by: Decider) -> bool:
        """Return whether the approval was decided just so, by the same person."""
        return (
            approval.status.value == self.decision.value
            and approval.decided_by == by.identity.user_id
            and approval.edited_input == self.edited_input
        )


def input_hash(arguments: Json) -> str:
    """Return what names the arguments that a person was shown: SHA-256 in hexadecimal."""
    canonical = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()


def approval_step(tool_call_id: str) -> str:
    """Return the name of the step that records the decision on a call."""
    return f"approval:{tool_call_id}"


EXPIRY = "expire:"
"""What the timer of a decision is called, before the call's id."""


def expiry_fact(tool_call_id: str) -> str:
    """Return the name of the timer that decides when nobody has."""
    return f"{EXPIRY}{tool_call_id}"


def no_approval(tool_call_id: str) -> NotFound:
    """Return the error for a call that waits for nobody."""
    return NotFound(f"no approval for tool call {tool_call_id!r}", {"toolCallId": tool_call_id})


def decided_before(approval: Approval) -> Conflict:
    """Return the error for a second decision; it says who made the first."""
    by = "" if approval.decided_by is None else f" by {approval.decided_by}"
    return Conflict(
        f"the call was already {approval.status.value}{by}",
        {
            "toolCallId": approval.tool_call_id,
            "status": approval.status.value,
            "decidedBy": approval.decided_by,
        },
    )


def check_shown(approval: Approval, decision: NewDecision) -> None:
    """Refuse a decision on other arguments than those that wait.

    Raises:
        Conflict: ``data`` has the arguments as they are.
    """
    if decision.shown is not None and decision.shown != input_hash(approval.input):
        raise Conflict(
            "the arguments of the call are others than were shown",
            {"toolCallId": approval.tool_call_id, "input": approval.input},
        )
