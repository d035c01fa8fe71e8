"""A test waits for a slow machine where production goes on without an answer.

Who asks Redis or Postgres for a favour gives up after a fraction of a second and does without it:
right for people who wait, but on a machine that stood still for that long a test would see
something that is not its subject.  What is given up for good is not given up here.
"""

from types import ModuleType
from typing import Final

import pytest

from app.engine import durable_run
from app.fanout import aborts, announcer, tokens
from app.journal import journal
from app.keyspace import calls_bucket
from app.loop import unstable
from app.queue import doorbell

PATIENCE_S: Final = 30.0

FAVOURS: Final[dict[ModuleType, str]] = {
    aborts: "SEND_S",
    announcer: "LAST_WORDS_S",
    calls_bucket: "_PATIENCE_S",
    doorbell: "RING_S",
    durable_run: "TIDY_S",
    journal: "CLOSE_S",
    tokens: "FLUSH_S",
    unstable: "PATIENCE_S",
}
"""Per module, the limit to what it waits for."""


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process wait for each favour.

    Raises:
        AttributeError: a limit has gone elsewhere.
    """
    for module, limit in FAVOURS.items():
        monkeypatch.setattr(module, limit, PATIENCE_S)
