"""What the middle rings need from the world, as protocols.

Redis and Postgres implement them in ``app.journal``, ``app.store``,
``app.fanout`` and ``app.queue``; plain dictionaries do in ``app.testing``.  Both
pass one contract suite (``tests/contract``), so a fake cannot drift.
"""

from app.domain.ports.journal import Journal, JournalFenceLost, OpenedJournal, Salvage
from app.domain.ports.nudges import Aborts, Announce, AnnounceWrites, Clock, Doorbell, Ids
from app.domain.ports.overrides import GovernanceReader, OverrideReader, OverrideStore
from app.domain.ports.runs import (
    ClaimedRun,
    OnBusy,
    OpenTurn,
    Recorded,
    RunStore,
    Serves,
    StartedRun,
    StartRun,
    Verdict,
)
from app.domain.ports.threads import ThreadReader, ThreadSnapshot, WaitingSend
from app.domain.ports.tokens import ShownText, TokenSink, TokenSource, TokenStream

__all__ = [
    "Aborts",
    "Announce",
    "AnnounceWrites",
    "ClaimedRun",
    "Clock",
    "Doorbell",
    "GovernanceReader",
    "Ids",
    "Journal",
    "JournalFenceLost",
    "OnBusy",
    "OpenTurn",
    "OpenedJournal",
    "OverrideReader",
    "OverrideStore",
    "Recorded",
    "RunStore",
    "Salvage",
    "Serves",
    "ShownText",
    "StartRun",
    "StartedRun",
    "ThreadReader",
    "ThreadSnapshot",
    "TokenSink",
    "TokenSource",
    "TokenStream",
    "Verdict",
    "WaitingSend",
]
