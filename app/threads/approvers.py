"""Who may decide a call that waits, and who is shown it.  Pure; every surface asks here.

The right is looked at when somebody decides, by what was declared when the call was made.  A token
that stands for nobody names nobody: it never widens to everybody.
"""

from app.domain.approval import Approval
from app.domain.errors import Forbidden
from app.domain.identity import Identity


def may_decide(
    approval: Approval, caller: Identity, *, responsible: str | None, open_threads: bool
) -> bool:
    """Return whether the caller may decide.

    Args:
        approval: what waits.
        caller: who decides.
        responsible: id or e-mail of who is responsible for the agent.
        open_threads: whether whoever knows an ownerless thread's key may decide there.
    """
    if approval.rules.approvers:
        return any(_is_meant(each, approval, caller) for each in approval.rules.approvers)
    if caller.is_admin or _owns(approval, caller):
        return True
    if responsible is not None and _is_called(responsible, caller):
        return True
    return approval.owner is None and open_threads


def check_may_decide(
    approval: Approval | None,
    caller: Identity,
    *,
    responsible: str | None,
    open_threads: bool,
) -> Approval:
    """Return the approval if the caller may decide it.

    One that does not exist is refused like one of somebody else's.

    Raises:
        Forbidden: the caller has no right to, or nobody could say.
    """
    if approval is not None and may_decide(
        approval, caller, responsible=responsible, open_threads=open_threads
    ):
        return approval
    raise Forbidden("you may not decide this")


def _is_meant(approver: str, approval: Approval, caller: Identity) -> bool:
    match approver:
        case "$owner":
            return _owns(approval, caller)
        case "$speaker":  # whose chat message caused the call: no channel has told us
            return False
        case _:
            return _is_called(approver, caller)


def _owns(approval: Approval, caller: Identity) -> bool:
    return approval.owner is not None and approval.owner == caller.user_id


def _is_called(name: str, caller: Identity) -> bool:
    """Return whether an id or an e-mail is the caller's."""
    if caller.user_id is not None and name == caller.user_id:
        return True
    return caller.email is not None and name.casefold() == caller.email.casefold()
