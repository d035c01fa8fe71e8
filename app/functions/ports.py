"""What functions need of the store: transactions, the memory of calls, a few writes.

Implemented by ``app.store``.  Laws that it keeps:

* a unit of work is one READ COMMITTED transaction, committed when its block ends
  and rolled back when the block raises;
* what is started in it is announced, and the doorbell rung, after the commit;
* a transaction that the database broke off because it ran into another one
  (SQLSTATE 40001, 40P01) raises ``Contended``: nothing of it is there.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol

from app.domain.approval import Approval
from app.domain.calls import CallKey, RememberedCall
from app.domain.message import Message
from app.domain.ports import StartedRun, StartRun
from app.domain.ports.branches import BranchMaker
from app.domain.record import NewMessage
from app.domain.run_filter import RunFilter
from app.domain.scheduled import CallTarget
from app.domain.signal import NewSignal, Signalled
from app.domain.tables import Keys
from app.tracking import Session


class UnitOfWork(BranchMaker, Protocol):
    """One open transaction."""

    @property
    def session(self) -> Session:
        """The session of this transaction."""
        ...

    async def start(self, start: StartRun) -> StartedRun:
        """Write a run in this transaction; see ``RunStore.start``."""
        ...

    async def schedule(self, timer_id: str, start: StartRun, due_at: datetime) -> None:
        """Write a start that is due later in this transaction; see ``RunStore.schedule``."""
        ...

    async def schedule_call(self, call_id: str, target: CallTarget, due_at: datetime) -> None:
        """Write a call that is due later in this transaction; see ``CallStore.put``."""
        ...

    async def cancel_schedule(self, schedule_id: str) -> bool:
        """Take a start or a call back in this transaction; ``False``: none was waiting."""
        ...

    async def signal(self, signal: NewSignal) -> Signalled | None:
        """Store a signal in this transaction; see ``RunStore.signal``."""
        ...

    async def send_event(self, run_id: str, name: str, payload: str) -> bool:
        """Store an event in this transaction; see ``RunStore.send_event``."""
        ...

    async def remember(self, call: CallKey, arguments: str) -> RememberedCall | None:
        """Note that this call is being made; return the earlier one if there was one.

        Waits for a transaction that is just making the same call.
        """
        ...

    async def answer(self, call: CallKey, result: str) -> None:
        """Store the result of a remembered call."""
        ...


class Transactions(Protocol):
    """Opens transactions."""

    def begin(self) -> AbstractAsyncContextManager[UnitOfWork]:
        """Open a unit of work."""
        ...

    def read_only(self, reads: dict[str, Keys]) -> AbstractAsyncContextManager[Session]:
        """Open a session whose transaction cannot write.  Costs nothing until it is used.

        What it reads of the team's tables is noted in ``reads``.
        """
        ...


class ThreadWriter(Protocol):
    """Writes to a thread that no run makes.  Each call is a transaction of its own."""

    async def ensure(
        self, thread_id: str, key: str, agent: str, owner: str | None, title: str | None
    ) -> bool:
        """Make a thread unless one has this key; return whether it was made."""
        ...

    async def append(self, key: str, message: NewMessage) -> int | None:
        """Append a message and return its ``seq``; ``None``: no such thread.

        A root's key means the branch that is shown.

        Raises:
            Conflict: the thread has an unfinished run.
        """
        ...

    async def rename(self, key: str, title: str) -> bool:
        """Give a thread a title; ``False``: no such thread."""
        ...


class AdminReader(Protocol):
    """Reads whatever an operator looks at, as rows by column.  Times are datetimes, JSON parsed."""

    async def runs(
        self, which: RunFilter, *, status: str | None, before: str | None, limit: int
    ) -> Sequence[Mapping[str, Any]]:
        """Return runs, newest first; ``before`` is the id of the last one of the page before."""
        ...

    async def counts(self, which: RunFilter) -> Mapping[str, int]:
        """Return how many runs there are by status."""
        ...

    async def run(self, run_id: str) -> Mapping[str, Any] | None:
        """Return one run, as in ``runs``."""
        ...

    async def more_of(self, run_id: str) -> Mapping[str, Any]:
        """Return ``policy``, ``waits``, ``deadline_at`` and ``thread`` (its id) of a run."""
        ...

    async def messages(self, thread_id: str, run_id: str, limit: int) -> Sequence[Message]:
        """Return the newest messages that a run wrote in its own thread, in their order."""
        ...

    async def approvals(self, thread_id: str, run_id: str, limit: int) -> Sequence[Approval]:
        """Return the newest that a run asked people for, in that order; what waits comes last."""
        ...

    async def children(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        """Return the runs that a run has asked."""
        ...

    async def steps(self, run_id: str, largest: int) -> Sequence[Mapping[str, Any]]:
        """Return a run's steps in the order in which they finished.

        ``value`` is ``None`` for one of more than ``largest`` bytes; ``size`` says how many.
        """
        ...

    async def threads(
        self,
        *,
        agent: str | None,
        owner: str | None,
        status: str | None,
        search: str | None,
        before: str | None,
        limit: int,
    ) -> Sequence[Mapping[str, Any]]:
        """Return threads, newest activity first; ``search`` looks into key, title and owner."""
        ...

    async def unfinished(self) -> Mapping[str, Mapping[str, int]]:
        """Return how many unfinished runs there are, by agent and status."""
        ...

    async def system(self) -> Mapping[str, Any]:
        """Return workers, the last hour by minute, and what waits."""
        ...

    async def spent(self, days: int) -> Sequence[Mapping[str, Any]]:
        """Return runs and their tokens by ``agent`` and ``day`` (UTC), for days up to today.

        A row has ``runs``, ``completed`` and the sums of ``Usage`` by column.
        """
        ...

    async def spent_on_models(self, days: int) -> Sequence[Mapping[str, Any]]:
        """Return the tokens of answers by ``agent``, ``day`` and ``model``, as it named itself."""
        ...
