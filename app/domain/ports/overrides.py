"""What operators say over the code, and who may do what: stored, versioned, audited.

Laws that every ``OverrideStore`` keeps:

* changes happen one after another: what a change was decided on is what it is made on;
* a published version is never changed, and its number, counted from 1 for each agent, is never
  given twice;
* a change that needs an audit entry is committed with it, or not at all;
* what was changed is announced after the commit, by table.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeAlias

from app.domain.override import (
    AuditEntry,
    Changed,
    Governed,
    Override,
    OverrideVersion,
    Standing,
)

Decide: TypeAlias = Callable[[Standing], Changed]
"""What to change, as things stand; pure, may be asked again, and raises to refuse."""


class OverrideReader(Protocol):
    """What a run and a start need."""

    async def override(self, agent: str, version: int) -> Override | None:
        """Return what a published version says; it says the same for ever."""
        ...


class GovernanceReader(Protocol):
    """What a decision and a start need."""

    async def governed(self, agents: Collection[str] | None = None) -> Governed:
        """Return what is said now of these agents, or of all, and of the deployment."""
        ...


class OverrideStore(OverrideReader, GovernanceReader, Protocol):
    """All of it."""

    async def draft(self, agent: str) -> OverrideVersion | None:
        """Return the draft, if there is one."""
        ...

    async def versions(self, agent: str, limit: int) -> Sequence[OverrideVersion]:
        """Return what was published, the newest first."""
        ...

    async def audit(self, agent: str | None, limit: int) -> Sequence[AuditEntry]:
        """Return who did what, the newest first; ``None``: to any agent, and the deployment."""
        ...

    async def change(
        self, agent: str, by: str | None, decide: Decide, *, restores: int | None = None
    ) -> int | None:
        """Make one change and return the number of the version that it published, if it did.

        Args:
            agent: whose; empty for the deployment.
            by: the user id of who does it.
            decide: see ``Decide``; what it raises goes on, and nothing is changed.
            restores: an older version to be found in ``Standing.restorable``.
        """
        ...
