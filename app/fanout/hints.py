"""What a NOTIFY says: which threads have which version, what was written of the team's tables.

Ids, numbers and hashes, never bodies; another topic is another letter, and who does not know it
skips it.  Postgres refuses a payload of 8,000 bytes (field case B58), so a batch is split below.

    {"t": {THREAD: VERSION, ...}}
    {"w": {ORIGIN: {TABLE: [ROWS, [KEY, ...] | null], ...}}}    ORIGIN: who announces it
    {"p": {LISTENER: 0}}                                        a listener's probe of itself
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from app.domain.tables import TableWrites, writes_from_json, writes_to_json

CHANNEL = "ropewalk"
MAX_BYTES = 7_999
_THREADS, _WRITES, _PROBE = "t", "w", "p"


@dataclass(frozen=True, slots=True)
class Hints:
    """What one payload says.  ``writes`` are by their origin."""

    threads: Mapping[str, int] = field(default_factory=dict)
    writes: Mapping[str, TableWrites] = field(default_factory=dict)
    probes: frozenset[str] = frozenset()


def thread_payloads(versions: Mapping[str, int]) -> list[str]:
    """Return as few payloads as carry all of it, none above ``MAX_BYTES``."""
    entries = (f"{json.dumps(key)}:{version}" for key, version in versions.items())
    return list(_payloads(f'{{"{_THREADS}":{{', entries, "}}"))


def write_payloads(origin: str, writes: TableWrites) -> list[str]:
    """Return as few payloads as carry all of it, none above ``MAX_BYTES``."""
    entries = (
        f"{json.dumps(table)}:{json.dumps(entry, separators=(',', ':'))}"
        for table, entry in writes_to_json(writes).items()
    )
    return list(_payloads(f'{{"{_WRITES}":{{{json.dumps(origin)}:{{', entries, "}}}"))


def probe_payload(listener: str) -> str:
    """Return what a listener says to hear itself."""
    return json.dumps({_PROBE: {listener: 0}})


def parse(payload: str) -> Hints:
    """Return what a payload says.

    Raises:
        ValueError: it is none of ours.
    """
    match json.loads(payload):
        case dict(said):
            return Hints(
                _mapping(said.get(_THREADS)),
                {
                    origin: writes_from_json(_mapping(writes))
                    for origin, writes in _mapping(said.get(_WRITES)).items()
                },
                frozenset(_mapping(said.get(_PROBE))),
            )
        case _:
            raise ValueError("an object was expected")


def _mapping(value: object) -> Mapping[str, int]:
    match value:
        case None:
            return {}
        case dict():
            return value
        case _:
            raise ValueError("an object was expected")


def _payloads(head: str, entries: Iterable[str], tail: str) -> Iterator[str]:
    """Yield payloads; an entry that fits into none is left out.

    A hint may be lost, a writer may not be hurt.  JSON is ASCII here: characters are bytes.
    """
    frame = len(head) + len(tail)
    batch: list[str] = []
    size = frame
    for entry in entries:
        if frame + len(entry) > MAX_BYTES:
            continue
        if batch and size + 1 + len(entry) > MAX_BYTES:
            yield head + ",".join(batch) + tail
            batch, size = [], frame
        size += len(entry) + bool(batch)
        batch.append(entry)
    if batch:
        yield head + ",".join(batch) + tail
