"""Who is calling: a verified subject with roles, or nobody."""

from dataclasses import dataclass

ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller.  ``user_id`` is the verified subject, or ``None`` for anonymous."""

    user_id: str | None = None
    roles: frozenset[str] = frozenset()

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
