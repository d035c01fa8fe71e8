"""Who is calling: a verified subject with roles, or nobody."""

from dataclasses import dataclass, field
from datetime import datetime

ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller.

    Attributes:
        user_id: the verified subject, or ``None`` for anonymous.
        roles: ``admin`` is the one that means something here; others are the team's.
        email: as the token says, if it does and does not say that it was never verified.
        scopes: the only functions that this caller may use, as ``module:name`` or
            ``module:*``; ``None``: all that the user may.
        issued_at: since when the token is good, if it says so.  Taking back a user's tokens
            spares those that were issued later.  It is no part of who somebody is.
    """

    user_id: str | None = None
    roles: frozenset[str] = frozenset()
    scopes: frozenset[str] | None = None
    issued_at: datetime | None = field(default=None, compare=False)
    email: str | None = None

    @property
    def is_admin(self) -> bool:
        """Whether this caller may read and decide everything."""
        return ADMIN in self.roles

    def may_read(self, owner: str | None) -> bool:
        """Whether a thread with this owner answers to the caller.

        A thread without an owner answers to whoever knows its key.
        """
        return owner is None or self.is_admin or owner == self.user_id


ANONYMOUS = Identity()
