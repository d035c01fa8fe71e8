"""One decision of one person, as tests make it."""

from app.domain.approval import Approval, Decider, Decision, NewDecision
from app.domain.identity import Identity
from app.domain.ports import RunStore


async def decide(  # noqa: PLR0917  # a sentence: who decides what
    store: RunStore,
    thread_id: str,
    call: str,
    decision: Decision,
    by: Identity,
    reason: str | None = None,
) -> Approval:
    """Decide one call, and return the approval."""
    answer = NewDecision(call, decision, reason)
    (approval,) = await store.decide(thread_id, [answer], Decider(by))
    return approval
