"""Makes death quick to notice in the processes of the harness, and in no others.

The constants keep their order (beat, then lease, then death; see ``app.engine``), only smaller,
so that hundreds of takeovers fit into a minute.
"""

import os
from datetime import timedelta
from types import ModuleType
from typing import Final

from app.channels import webhook
from app.domain.retry import RetryPolicy
from app.engine import lease, sweeper
from app.queue import worker as bell
from app.store import beat, database, sessions

BEAT_S: Final = 0.05
LEASE_S: Final = 0.25
DEAD_AFTER_S: Final = 0.35


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


def sign_sessions() -> None:
    """Let this process's sessions carry its number, so that the audit knows who wrote what."""
    for settings in (database.SESSION, sessions.SESSION_OF_FUNCTIONS):
        settings["application_name"] = session_of(os.getpid())


def session_of(pid: int) -> str:
    """Return what the sessions of a process are called."""
    return f"ropewalk {pid}"
