"""``Journal`` and ``TokenSink`` in dictionaries."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from app.domain.errors import JournalUnavailable
from app.domain.ports import (
    JournalFenceLost,
    OpenedJournal,
    Salvage,
    ShownText,
    TokenStream,
)
from app.domain.record import Record
from app.domain.run import Fence, Usage
from app.domain.utf16 import units_of


@dataclass(slots=True)
class _Log:
    epoch: int | None = None
    is_closed: bool = False
    entries: dict[str, str] = field(default_factory=dict)
    shown: dict[int, ShownText] = field(default_factory=dict)


class MemoryJournal:
    """Implements ``app.domain.ports.Journal``.

    ``is_away`` makes every call fail as if Redis did not answer; ``flush`` forgets all.
    """

    def __init__(self) -> None:
        self.is_away = False
        self._logs: dict[str, _Log] = {}

    def flush(self) -> None:
        """Lose everything, as ``FLUSHALL`` does."""
        self._logs.clear()

    def held(self, thread_id: str) -> list[str]:
        """Return the steps that have an entry now."""
        log = self._logs.get(thread_id)
        return list(log.entries) if log else []

    def knows(self, thread_id: str) -> bool:
        """Return whether there is anything of a thread's."""
        return thread_id in self._logs

    async def open(self, fence: Fence) -> OpenedJournal:
        """See ``Journal.open``."""
        log = await self._log(fence.thread_id)
        if log.epoch is not None and log.epoch >= fence.epoch:
            return OpenedJournal(fence_above=log.epoch)
        if log.is_closed:
            log.shown.clear()
        log.epoch, log.is_closed = fence.epoch, False
        entries = {name: Record.from_json(text) for name, text in log.entries.items()}
        mine = [record for record in entries.values() if record.run_id == fence.run_id]
        log.entries = {record.step: log.entries[record.step] for record in mine}
        return OpenedJournal(entries=mine)

    async def complete(
        self, fence: Fence, record: Record, confirmed: Sequence[str]
    ) -> Record | None:
        """See ``Journal.complete``."""
        log = await self._log(fence.thread_id)
        if log.epoch != fence.epoch or log.is_closed:
            raise JournalFenceLost
        for name in confirmed:
            log.entries.pop(name, None)
        there = log.entries.setdefault(record.step, record.to_json())
        adopted = Record.from_json(there)
        return None if adopted == record else adopted

    async def close(self, thread_id: str, epoch: int) -> Salvage:
        """See ``Journal.close``."""
        log = await self._log(thread_id)
        if log.epoch is not None and log.epoch > epoch:
            return Salvage()
        log.epoch, log.is_closed = epoch, True
        entries = tuple(Record.from_json(text) for text in log.entries.values())
        return Salvage(entries, tuple(log.shown.values()))

    async def drop(self, thread_id: str, epoch: int) -> None:
        """See ``Journal.drop``."""
        log = await self._log(thread_id)
        if log.epoch is None or log.epoch <= epoch:
            del self._logs[thread_id]

    def show(self, thread_id: str, epoch: int, text: ShownText) -> None:
        """Keep a part's text so far, if the fence lets it through."""
        log = self._logs.get(thread_id)
        if log is None or log.epoch != epoch or log.is_closed:
            return
        if any((old.run_id, old.turn) != (text.run_id, text.turn) for old in log.shown.values()):
            log.shown.clear()
        log.shown[text.part] = text

    async def _log(self, thread_id: str) -> _Log:
        await asyncio.sleep(0)
        if self.is_away:
            raise JournalUnavailable("the journal is away")
        return self._logs.setdefault(thread_id, _Log())


class _MemoryStream:
    """One model request's live text, shown at once."""

    def __init__(self, journal: MemoryJournal, fence: Fence, turn: int, attempt: int) -> None:
        self._journal, self._fence, self._turn, self._attempt = journal, fence, turn, attempt
        self._texts: dict[int, str] = {}
        self._so_far: Callable[[], Usage] | None = None

    def add(self, part: int, kind: str, text: str) -> None:
        """See ``TokenStream.add``."""
        whole = self._texts[part] = self._texts.get(part, "") + text
        units = units_of(whole)
        shown = ShownText(
            *(self._fence.run_id, self._turn, part, kind, whole, self._attempt, units),
            cost=self._so_far() if self._so_far else None,
        )
        self._journal.show(self._fence.thread_id, self._fence.epoch, shown)

    def costs(self, so_far: Callable[[], Usage]) -> None:
        """See ``TokenStream.costs``."""
        self._so_far = so_far

    async def close(self) -> None:
        """See ``TokenStream.close``."""
        await asyncio.sleep(0)


class MemoryTokenSink:
    """Implements ``app.domain.ports.TokenSink``."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal

    def open(self, fence: Fence, turn: int, attempt: int, version: int) -> TokenStream:
        """See ``TokenSink.open``."""
        del version
        return _MemoryStream(self._journal, fence, turn, attempt)
