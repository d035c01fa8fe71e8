"""What a NOTIFY says: which threads have which version now.  Ids and numbers, never bodies.

``{"t": {THREAD: VERSION, ...}}``; another topic is another letter, and who does not know it skips
it.  Postgres refuses a payload of 8,000 bytes (field case B58), so a batch is split below that.
"""

import json
from collections.abc import Iterator, Mapping

CHANNEL = "ropewalk"
THREADS = "t"
PROBE = "p"
MAX_BYTES = 7_999


def payloads(topic: str, versions: Mapping[str, int]) -> list[str]:
    """Return as few payloads as carry all of it, none above ``MAX_BYTES``.

    A key that fits into none is left out: a hint may be lost, a writer may not be hurt.
    """
    frame = len(_payload(topic, []))
    found: list[str] = []
    batch: list[str] = []
    size = frame
    for key, version in versions.items():
        entry = f"{json.dumps(key)}:{version}"  # ASCII: characters are bytes
        if frame + len(entry) > MAX_BYTES:
            continue
        if batch and size + 1 + len(entry) > MAX_BYTES:
            found.append(_payload(topic, batch))
            batch, size = [], frame
        size += len(entry) + bool(batch)
        batch.append(entry)
    return [*found, _payload(topic, batch)] if batch else found


def parse(payload: str) -> Iterator[tuple[str, str, int]]:
    """Yield topic, key and version of everything that a payload says."""
    for topic, versions in json.loads(payload).items():
        for key, version in versions.items():
            yield topic, key, version


def _payload(topic: str, entries: list[str]) -> str:
    return f'{{"{topic}":{{{",".join(entries)}}}}}'
