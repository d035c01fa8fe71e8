"""Who may use an agent, decide what it asks, and change either.  Pure.

The lists hold for everybody, admins included: who keeps them can put himself on, and the audit
says so.  They only ever take away: an agent's access and its approvers are asked as well.
"""

from dataclasses import dataclass
from enum import StrEnum

from app.domain.errors import Forbidden, Unauthenticated
from app.domain.identity import Identity
from app.domain.override import Governance
from app.threads.people import is_among


class Permission(StrEnum):
    """What an operator's role may allow."""

    MANAGE = "project:manage"
    """Who uses an agent, who decides, which models may be chosen."""
    DEPLOY = "project:deploy"
    """What counts over an agent's code."""


@dataclass(frozen=True, slots=True)
class Permissions:
    """Which roles allow what; ``admin`` allows everything."""

    manage: frozenset[str] = frozenset()
    deploy: frozenset[str] = frozenset()

    def may(self, caller: Identity, permission: Permission) -> bool:
        """Return whether one of the caller's roles allows it."""
        roles = self.manage if permission is Permission.MANAGE else self.deploy
        return caller.user_id is not None and (caller.is_admin or bool(roles & caller.roles))

    def check(self, caller: Identity, *any_of: Permission) -> None:
        """Let the caller do what one of these permissions is for, or raise.

        Raises:
            Forbidden: none of his roles allows it.
        """
        if not any(self.may(caller, each) for each in any_of):
            raise Forbidden(f"this needs the permission {' or '.join(any_of)}")


ADMINS_ONLY = Permissions()


def check_may_use(slug: str, governance: Governance, caller: Identity) -> None:
    """Let the caller prompt an agent whose access lets him in, or raise.

    Raises:
        Unauthenticated: it has a list, and nobody knows who this is.
        Forbidden: he is not on it.
    """
    if governance.use is None or is_among(governance.use, caller):
        return
    if caller.user_id is None:
        raise Unauthenticated(f"sign in to talk to agent {slug!r}")
    raise Forbidden(f"you are not on the list of who may use agent {slug!r}")


def may_approve(governance: Governance, caller: Identity) -> bool:
    """Return whether the lists leave the caller the right to decide for this agent (APR-20)."""
    listed = governance.use if governance.approve is None else governance.approve
    return listed is None or is_among(listed, caller)
