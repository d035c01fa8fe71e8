"""A test waits for a slow machine where production goes on without an answer.

Who asks Redis for something gives up after a moment and does without it: right for people who
wait, but on a machine that stood still for that long a test would see what is not its subject.
"""

from types import ModuleType
from typing import Final

import pytest

from app.engine import durable_run
from app.fanout import aborts, announcer, tokens
from app.journal import journal
from app.keyspace import calls_bucket, connection
from app.loop import unstable
from app.queue import doorbell

PATIENCE_S: Final = 30.0

LIMITS: Final[tuple[tuple[ModuleType, str], ...]] = (
    (aborts, "SEND_S"),
    (announcer, "LAST_WORDS_S"),
    (calls_bucket, "_PATIENCE_S"),
    (connection, "ANSWER_S"),
    (connection, "CONNECT_S"),
    (doorbell, "RING_S"),
    (durable_run, "TIDY_S"),
    (journal, "CLOSE_S"),
    (tokens, "FLUSH_S"),
    (unstable, "PATIENCE_S"),
)
"""Where it is said for how long something is waited for."""


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process wait.

    Raises:
        AttributeError: a limit has gone elsewhere.
    """
    for module, limit in LIMITS:
        monkeypatch.setattr(module, limit, PATIENCE_S)
