"""What a server function is handed, by its kind.

A query reads: it has a database session and no way to start anything.  A mutation
is one transaction: what it writes and the runs that it starts exist exactly if it
commits.  An action may talk to the world, so it has no transaction and no
session; it reaches the database through other functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from app.authoring.producer import Producers
from app.authoring.scheduler import Scheduler
from app.domain.identity import Identity
from app.domain.ports.branches import BranchMaker
from app.domain.storable import Json
from app.tracking import Session


class RunFunction(Protocol):
    """Calls another server function by reference."""

    async def __call__(self, ref: str, args: Mapping[str, object] | None = None) -> Json:
        """Return what the function at ``module:name`` answers; internal ones included.

        It is called as the same caller and keeps its own rules.
        """
        ...


@dataclass(frozen=True, slots=True)
class QueryContext:
    """What a ``@query`` gets.

    Attributes:
        auth: who is calling; ``auth.user_id`` is ``None`` for an anonymous caller.
        db: a session in a read-only transaction on the team's own tables.  Whoever watches the
            query hears when rows that it read have changed.
    """

    auth: Identity
    db: Session


@dataclass(frozen=True, slots=True)
class MutationContext:
    """What a ``@mutation`` gets.

    The body may run more than once, when its transaction ran into another one:
    whatever cannot be rolled back belongs in an action or a tool.

    Attributes:
        auth: who is calling; ``auth.user_id`` is ``None`` for an anonymous caller.
        db: a session in the mutation's transaction.  It commits when the body returns.
        agents: ``agents.SLUG.run(...)`` starts a run in the same transaction.
        scheduler: ``scheduler.run_after(...)`` starts one later, if the transaction commits.
        branches: makes forks and branches in the same transaction, for the built-in functions.
        dedupe: the caller's key for this call; messages that it leads to carry it.
    """

    auth: Identity
    db: Session
    agents: Producers
    scheduler: Scheduler
    branches: BranchMaker
    dedupe: str | None = None


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What an ``@action`` gets.

    Attributes:
        auth: who is calling; ``auth.user_id`` is ``None`` for an anonymous caller.
        agents: ``agents.SLUG.run(...)`` starts a run at once.
        run: ``await ctx.run("billing:charge", {...})`` calls a query, mutation or action.
        scheduler: ``scheduler.run_after(...)`` starts a run later.
    """

    auth: Identity
    agents: Producers
    run: RunFunction
    scheduler: Scheduler
