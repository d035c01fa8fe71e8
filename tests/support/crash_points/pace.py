"""Makes death quick to notice in the processes of the harness, and in no others.

The constants keep their order (beat, then lease, then death; see ``app.engine``), only smaller,
so that hundreds of takeovers fit into a minute.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import ModuleType
from typing import Final
from unittest.mock import patch

from app.channels import webhook
from app.domain.retry import RetryPolicy
from app.engine import lease, sweeper
from app.journal import journal
from app.queue import worker as bell
from app.store import beat, database, sessions

BEAT_S: Final = 0.05
LEASE_S: Final = 0.25
DEAD_AFTER_S: Final = 0.35
HELD_AT_MOST_S: Final = 120.0
"""Longer than any play."""
CLOSE_S: Final = 30.0
"""For Redis to say what a dead worker left there, to whoever ends its run: it is there, and on a
busy machine it may take longer than an end waits for one that is not."""


def quicken() -> None:
    """Set the constants of this process, and so of all that it forks.

    Raises:
        AttributeError: a constant has gone elsewhere.
    """
    quicker: dict[ModuleType, dict[str, object]] = {
        beat: {"EVERY_S": BEAT_S},
        lease: {"LIMIT_S": LEASE_S},
        sweeper: {
            "DEAD_AFTER_S": DEAD_AFTER_S,
            "READ_EVERY_S": 0.025,
            "REST_EVERY_S": 0.1,
            "CHECK_EVERY_S": 0.2,
        },
        bell: {"POLL_S": 0.1},
        journal: {"CLOSE_S": CLOSE_S},
        webhook: {
            "LEASE": timedelta(seconds=0.5),
            "BACKOFF": RetryPolicy(base=timedelta(seconds=0.02)),
            "_LOOK_S": 0.05,
        },
    }
    for module, values in quicker.items():
        for name, value in values.items():
            getattr(module, name)
            setattr(module, name, value)
    # Between lease and death, as in production: a frozen process loses its locks first.
    database.SESSION["idle_in_transaction_session_timeout"] = "300ms"
    database.TRANSACTION_LIMIT = "600ms"


@contextmanager
def patient_ends() -> Iterator[None]:
    """Let whoever ends a run in this process wait for Redis, while the block lasts."""
    with patch.object(journal, "CLOSE_S", CLOSE_S):
        yield


def stand_for_long() -> None:
    """Let this process, which is to be held, keep its lease, its life and its locks meanwhile.

    It stands still for as long as it takes others to get to where they are to be: it must do
    afterwards what it would have done at once.  Only its locks end before others give up waiting
    for them: an act that is due besides may want them, and no play goes on before that is done.
    """
    lease.LIMIT_S = HELD_AT_MOST_S
    sweeper.DEAD_AFTER_S = 2 * HELD_AT_MOST_S
    database.SESSION["idle_in_transaction_session_timeout"] = "3s"
    database.TRANSACTION_LIMIT = "4s"


def sign_sessions() -> None:
    """Let this process's sessions carry its number, so that the audit knows who wrote what."""
    for settings in (database.SESSION, sessions.SESSION_OF_FUNCTIONS):
        settings["application_name"] = session_of(os.getpid())


def session_of(pid: int) -> str:
    """Return what the sessions of a process are called."""
    return f"ropewalk {pid}"
