"""The tables, all prefixed ``agent_`` so that a team's own tables cannot clash with them.

They live in ``SQLModel.metadata`` beside the team's, and change only by migrations
(``tests/migrations`` compares both).  Three choices deserve their reason:

* No foreign keys: the thread's lock already serialises every writer, and a key check
  per row would be paid by the hottest statement of the system.
* JSON that is only ever copied is ``json``: Postgres keeps the bytes as they were encoded.
  What a statement looks into (``waits``) is ``jsonb``.
* No column that ``record`` changes is indexed, and the rows have room: its updates of the
  thread and the run are HOT, whatever the length of a conversation.
"""

from app.store.tables.conversations import (
    ApprovalRow,
    MessageRow,
    RunRow,
    SignalRow,
    StepRow,
    ThreadRow,
)
from app.store.tables.people import ApiKeyRow, AuditRow, GovernanceRow, OverrideRow, RevocationRow
from app.store.tables.schedules import CronDeckRow, CronRow, ScheduledCallRow, TimerRow
from app.store.tables.service import CallRow, NoticeRow, WorkerRow

__all__ = [
    "ApiKeyRow",
    "ApprovalRow",
    "AuditRow",
    "CallRow",
    "CronDeckRow",
    "CronRow",
    "GovernanceRow",
    "MessageRow",
    "NoticeRow",
    "OverrideRow",
    "RevocationRow",
    "RunRow",
    "ScheduledCallRow",
    "SignalRow",
    "StepRow",
    "ThreadRow",
    "TimerRow",
    "WorkerRow",
]
