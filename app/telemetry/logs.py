"""Structured logs: each line says which run, step and thread it belongs to.

The names live in context variables, so whoever logs inside a step, a user's tool
included, gets them without being handed anything.  ``text`` is for people at a
terminal, ``json`` for collectors: one object a line.  No message content is
logged by us at all, and never a token or a key.
"""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO

_EMPTY: Mapping[str, object] = {}
_context: ContextVar[Mapping[str, object]] = ContextVar("log_context", default=_EMPTY)

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {
    *("message", "asctime", "taskName", "context"),
    "color_message",  # uvicorn's copy of the message for terminals
}
"""What every record has; the rest came by ``extra``."""

_CHATTY = ("uvicorn.error", "alembic", "asyncio", "httpx2", "httpcore2")
"""Loggers that tell of every start, statement and request what we say in our own words.

Those of the client tell of addresses, too, and an address may hold a secret: that of a webhook.
"""

_ALSO_OURS = ("uvicorn", "uvicorn.error", "uvicorn.access", "arq.worker")
"""Loggers whose libraries bring handlers of their own: theirs go, ours stays."""


@contextmanager
def log_context(**names: object) -> Iterator[None]:
    """Add names (``run``, ``step``, ``thread``, ``epoch``, ...) to every line logged within.

    Tasks that are started within inherit them.
    """
    token = _context.set({**_context.get(), **names})
    try:
        yield
    finally:
        _context.reset(token)


def current_context() -> Mapping[str, object]:
    """Return the names that hold here."""
    return _context.get()


def set_up_logs(form: str, level: str, *, stream: TextIO | None = None) -> None:
    """Send every log line of this process to ``stream``, in one form.

    Args:
        form: ``text`` or ``json``.
        level: the least level that is logged, by name.
        stream: standard error when left out.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.addFilter(_add_context)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("arq.worker").setLevel("WARNING")  # two lines for each ring otherwise
    for name in _ALSO_OURS:
        other = logging.getLogger(name)
        other.handlers.clear()
        other.propagate = True
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(root.level, logging.WARNING))


def _add_context(record: logging.LogRecord) -> bool:
    record.context = _context.get()
    return True


def _names(record: logging.LogRecord) -> dict[str, object]:
    extra = {name: value for name, value in vars(record).items() if name not in _OWN}
    context: Mapping[str, object] = getattr(record, "context", _EMPTY)
    return {**context, **extra}


class JsonLines(logging.Formatter):
    """One JSON object a line; an exception is one string in it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_names(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class TextLines(logging.Formatter):
    """Time, level, logger, message, then the names as ``key=value``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with the traceback below it if there is one."""
        at = datetime.fromtimestamp(record.created).astimezone()
        names = "".join(f" {name}={value}" for name, value in _names(record).items())
        line = (
            f"{at:%H:%M:%S}.{at.microsecond // 1000:03d} {record.levelname.lower():<7} "
            f"{record.name}: {record.getMessage()}{names}"
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line
