"""Who may decide a call that waits, and who is shown it.  Pure; every surface asks here.

The right is looked at when somebody decides: by what was declared when the call was made, unless an
operator picks others, and by the agent's lists as they are now.  A token that stands for nobody
names nobody: it never widens to everybody.
"""

from collections.abc import Iterable
from dataclasses import replace

from app.domain.approval import Approval
from app.domain.errors import Forbidden
from app.domain.identity import Identity
from app.domain.override import UNGOVERNED, Governance
from app.threads.governing import may_approve
from app.threads.people import is_among, is_called

_WORDS = frozenset({"$owner", "$speaker"})
"""Stand for somebody, and are nobody's name."""


def as_governed(approval: Approval, governance: Governance) -> Approval:
    """Return the approval with the approvers that an operator picked, if one did (APR-26)."""
    picked = governance.approvers.get(approval.name)
    if picked is None:
        return approval
    return replace(approval, rules=replace(approval.rules, approvers=picked))


def may_decide(
    approval: Approval,
    caller: Identity,
    *,
    responsible: str | None,
    open_threads: bool,
    governance: Governance = UNGOVERNED,
) -> bool:
    """Return whether the caller may decide.

    Args:
        approval: what waits, as governed.
        caller: who decides.
        responsible: id or e-mail of who is responsible for the agent.
        open_threads: whether whoever knows an ownerless thread's key may decide there.
        governance: of the agent, now.
    """
    if not may_approve(governance, caller):
        return False
    if approval.rules.approvers:
        return any(_is_meant(each, approval, caller) for each in approval.rules.approvers)
    if caller.is_admin or _owns(approval, caller):
        return True
    if responsible is not None and is_called(responsible, caller):
        return True
    return approval.owner is None and open_threads


def check_may_decide(
    approval: Approval | None,
    caller: Identity,
    *,
    responsible: str | None,
    open_threads: bool,
    governance: Governance = UNGOVERNED,
) -> Approval:
    """Return the approval if the caller may decide it.

    One that does not exist is refused like one of somebody else's.

    Raises:
        Forbidden: the caller has no right to, or nobody could say.
    """
    if approval is not None and may_decide(
        approval,
        caller,
        responsible=responsible,
        open_threads=open_threads,
        governance=governance,
    ):
        return approval
    raise Forbidden("you may not decide this")


def is_named(approvers: Iterable[str], caller: Identity) -> bool:
    """Return whether the caller is among those who are named by id or e-mail."""
    return is_among((each for each in approvers if each not in _WORDS), caller)


def _is_meant(approver: str, approval: Approval, caller: Identity) -> bool:
    match approver:
        case "$owner":
            return _owns(approval, caller)
        case "$speaker":  # whose chat message caused the call: no channel has told us
            return False
        case _:
            return is_called(approver, caller)


def _owns(approval: Approval, caller: Identity) -> bool:
    return approval.owner is not None and approval.owner == caller.user_id
