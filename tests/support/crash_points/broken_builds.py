"""Deliberately broken builds, one process at a time: the harness has to catch each of them.

A build replaces words of the product's source, which must be there exactly once: a build whose
words are gone fails loudly, and wants new ones.  The function's code is exchanged in the process
that is to be broken, so that one process with everything imported serves them all.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import CodeType
from typing import Final

from tests.support.crash_points.rewriting import rewritten

Words = tuple[tuple[str, str], ...]
"""What is there, and what is there instead."""


@dataclass(frozen=True, slots=True)
class Code:
    """A function with other words in it."""

    module: str
    function: str
    words: Words

    def apply(self) -> None:
        """Exchange the function's code."""
        module = importlib.import_module(self.module)
        path = str(module.__file__)
        source = _replaced(Path(path).read_text(encoding="utf-8"), self.words)
        compiled = compile(rewritten(source, self.module, path), path, "exec")
        code = next(each for each in _inside(compiled) if each.co_qualname == self.function)
        attrgetter(self.function)(module).__code__ = code


@dataclass(frozen=True, slots=True)
class Text:
    """A statement with other words in it."""

    module: str
    name: str
    words: Words

    def apply(self) -> None:
        """Exchange the module's constant."""
        module = importlib.import_module(self.module)
        setattr(module, self.name, _replaced(getattr(module, self.name), self.words))


def _record(old: str, new: str) -> Text:
    return Text("app.store.recording", "RECORD", ((old, new),))


BUILDS: Final[dict[str, Code | Text]] = {
    # The second of the two would do: a condition that is met is looked at under the lock too.
    "park-without-comparing-what-was-stored": Code(
        "app.store.waiting",
        "park",
        (
            ("if thread.wakes != seen:", "if False:"),
            ('[0]["is_met"]:', '[0]["is_met"] and False:'),
        ),
    ),
    "no-lease-check-before-a-body": Code(
        "app.engine.bodies", "Bodies._may_start", (("await self._lease.hold()", "pass"),)
    ),
    "record-not-idempotent": _record("ON CONFLICT (run, name) DO NOTHING", ""),
    "settle-without-closing-the-journal": Code(
        "app.store.settling",
        "Settler.settle",
        (("salvage = await self._close(fence, owed)", "salvage = Salvage()"),),
    ),
    "token-attempt-counted-per-drive": Code(
        "app.loop.turn",
        "Turns._requested",
        (("attempt = step.fence.epoch * _TRIES_PER_EPOCH +", "attempt = _TRIES_PER_EPOCH +"),),
    ),
    "fence-checked-without-the-lock": _record("FOR NO KEY UPDATE", ""),
    "start-without-the-lock": Text("app.store.starting", "_LOCK", ((" FOR NO KEY UPDATE", ""),)),
    "record-under-an-older-epoch": _record("AND epoch = $3", "AND epoch >= $3"),
    "what-a-dead-worker-left-in-the-journal-is-forgotten": Code(
        "app.engine.recorder",
        "Recorder._open_once",
        (("for entry in opened.entries:", "for entry in ():"),),
    ),
    "journal-never-dropped": Code(
        "app.engine.recorder", "Recorder.drop", (("await self._journal.drop(", "_ = ("),)
    ),
    "parallel-calls-start-when-a-run-was-taken": Code(
        "app.engine.pool", "_cut_off", (("held.run.bodies.drain()\n    held.task", "held.task"),)
    ),
}


def apply(name: str) -> None:
    """Become the build of this name."""
    BUILDS[name].apply()


def _replaced(text: str, words: Words) -> str:
    for old, new in words:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} is there {text.count(old)} times: say what to break now")
        text = text.replace(old, new)
    return text


def _inside(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _inside(each)
